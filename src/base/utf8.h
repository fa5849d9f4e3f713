// UTF-8, a character at a time. Needs libc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

inline constexpr std::uint32_t not_utf8 = 0xFFFFFFFF;

// Decodes the character at the front and sets its length; a byte that starts none gives not_utf8, length 1.
// REQUIRES: there is one.
inline std::uint32_t decode(std::string_view text, std::size_t& length) {
  length = 1;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    return first;
  }
  const std::size_t size = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first >= 0xF5 || text.size() < size) {
    return not_utf8;
  }
  std::uint32_t value = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return not_utf8;
    }
    value = (value << 6) | (byte(i) & 0x3F);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (overlong || surrogate || value > 0x10FFFF) {
    return not_utf8;
  }
  length = size;
  return value;
}

// Invisible characters that make one name look like another: zero-width ones and changes of direction.
constexpr bool is_deceptive(std::uint32_t character) {
  return (character >= 0x200B && character <= 0x200F) || (character >= 0x2028 && character <= 0x202E) ||
         (character >= 0x2060 && character <= 0x2069) || character == 0xFEFF;
}

}  // namespace sluice
