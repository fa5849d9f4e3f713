// The C interface: translate, call, give the error back. Nothing may leave this file by exception.
#include "sluice/sluice.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "base/files.h"
#include "base/options.h"
#include "intent/parse.h"
#include "plan/json.h"
#include "plan/plan.h"
#include "plan/storage.h"

namespace {

// Cuts between characters of UTF-8.
void copy_text(char* out, std::size_t size, std::string_view text) {
  if (size == 0) {
    return;
  }
  std::size_t length = std::min(size - 1, text.size());
  while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    --length;
  }
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

// An older caller's structure may end before a field that this version knows.
void tell(sluice_failure* why, int number, std::size_t column, std::string_view message) {
  if (why == nullptr || why->size < offsetof(sluice_failure, message) + 1) {
    return;
  }
  why->number = number;
  why->column = static_cast<unsigned>(std::min<std::size_t>(column, UINT_MAX));
  copy_text(why->message, std::min(why->size - offsetof(sluice_failure, message), sizeof why->message),
            message);
}

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

sluice::Parsed<sluice::Intent> parse(const char* words) {
  return sluice::parse_intent(words != nullptr ? words : "");
}

// The storage by configuration and environment, as the program sees it.
sluice::Result<sluice::Storage> look() {
  SLUICE_TRY(const sluice::Config config, sluice::Config::load(sluice::environment("SLUICE_CONFIG")));
  static constexpr std::array rows = {&sluice::option_timeout, &sluice::option_catalog};
  SLUICE_TRY(const sluice::Options options, sluice::Options::parse(rows, {}, config));
  return sluice::survey(config,
                        {.discover = {.system = {}, .timeout = options.duration("timeout"), .progress = {}},
                         .catalog = options.text("catalog"),
                         .remember = false,
                         .profiles = true});
}

}  // namespace

const char* sluice_version() {
  return SLUICE_VERSION;
}

int sluice_intent_normalize(const char* words, char* out, size_t out_size, struct sluice_failure* why) {
  return guarded(why, -1, [&] {
    const auto intent = parse(words);
    if (!intent) {
      tell(why, EINVAL, intent.error().column, intent.error().error().text());
      return -1;
    }
    const std::string text = sluice::print(*intent);
    if (out != nullptr) {
      copy_text(out, out_size, text);
    }
    return static_cast<int>(text.size());
  });
}

char* sluice_advise(const char* words, struct sluice_failure* why) {
  return guarded(why, static_cast<char*>(nullptr), [&]() -> char* {
    const auto intent = parse(words);
    if (!intent) {
      tell(why, EINVAL, intent.error().column, intent.error().error().text());
      return nullptr;
    }
    const auto storage = look();
    if (!storage) {
      tell(why, storage.error().number, 0, storage.error().text());
      return nullptr;
    }
    const sluice::Plan plan = sluice::make_plan(*intent, storage->found.places, storage->profiles);
    const std::string text = sluice::write_json(sluice::to_json(plan, storage->warnings), 2);
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) {
      tell(why, ENOMEM, 0, "out of memory");
      return nullptr;
    }
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
  });
}

void sluice_free(void* memory) {
  std::free(memory);
}
