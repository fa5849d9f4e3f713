// Small text functions. All of them work on bytes unless they say characters; a path may hold any byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

std::string lower(std::string_view text);  // ASCII letters only
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty fields
std::vector<std::string_view> split_blanks(std::string_view text);           // no empty fields
std::string join(std::span<const std::string> parts, std::string_view separator);

bool is_utf8(std::string_view text);
// How many terminal columns the text takes.
std::size_t width(std::string_view text);
// How many characters (code points; a stray byte counts as one).
std::size_t characters(std::string_view text);

// Unambiguous on a terminal: control characters, bytes that are not UTF-8 and the backslash itself become
// \n, \t, \xHH, \\. Text without them comes back unchanged.
std::string escape(std::string_view text);
// The escaped text for XML and HTML, inside of an element or of an attribute.
std::string escape_xml(std::string_view text);
// The escaped text between single quotes, for messages.
std::string quote(std::string_view text);
// "1 file", "3 files", "2 processes".
std::string plural(std::uint64_t count, std::string_view what);
// A string of TOML that means the text. REQUIRES: UTF-8.
std::string toml_text(std::string_view text);

// The candidate that a mistyped word most likely meant, or "" when none is close. Case is ignored.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
// "did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace sluice
