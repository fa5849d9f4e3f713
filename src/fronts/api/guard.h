// What all functions of the C interface share: errors as the caller's structure has them, no exception, and
// memory that the caller frees.
#pragma once

#include <cerrno>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "intent/intent.h"
#include "sluice/sluice.h"

namespace sluice::api {

// Cuts between characters of UTF-8.
void copy_text(char* out, std::size_t size, std::string_view text);

// An older caller's structure may end before a field that this version knows.
void tell(sluice_failure* why, int number, std::size_t column, std::string_view message);

// The words, or nothing, and why they are none.
std::optional<Intent> intent_of(const char* words, sluice_failure* why);

char* for_caller(const std::string& text);

// Runs a body that may run out of memory; the failure value is what the caller sees then.
template <class T, class Body>
T guarded(sluice_failure* why, T failed, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc& error) {
    tell(why, ENOMEM, 0, error.what());
  } catch (const std::exception& error) {
    tell(why, EIO, 0, error.what());
  }
  return failed;
}

}  // namespace sluice::api
