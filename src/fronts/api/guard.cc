#include "fronts/api/guard.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "intent/parse.h"

namespace sluice::api {

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

void tell(sluice_failure* why, int number, std::size_t column, std::string_view message) {
  if (why == nullptr || why->size < offsetof(sluice_failure, message) + 1) {
    return;
  }
  why->number = number;
  why->column = static_cast<unsigned>(std::min<std::size_t>(column, UINT_MAX));
  copy_text(why->message, std::min(why->size - offsetof(sluice_failure, message), sizeof why->message),
            message);
}

std::optional<Intent> intent_of(const char* words, sluice_failure* why) {
  auto intent = parse_intent(words != nullptr ? words : "");
  if (!intent) {
    tell(why, EINVAL, intent.error().column, intent.error().error().text());
    return std::nullopt;
  }
  return *std::move(intent);
}

char* for_caller(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace sluice::api
