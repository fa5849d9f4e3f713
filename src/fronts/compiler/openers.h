// The calls that open a file by name, and which of their arguments are what. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// What sluice_path() is told of how a file is opened: the numbers of its argument `how`.
enum class How { unknown = 0, flags = 1, mode = 2, openmode = 3 };

inline constexpr unsigned no_argument = ~0U;

// Arguments count from 0.
struct Opener {
  std::string name;  // of a function; "a::b" for one in a namespace or class, "b" for one anywhere
  unsigned path = 0;
  How how = How::unknown;
  unsigned detail = no_argument;  // the argument that says how
  unsigned folder = no_argument;  // a folder's descriptor that the path may be relative to
  bool creates = false;           // creat(): no argument says how, and all is known
  bool own = false;               // the user's
};

// Those of libc; names as in the headers, whatever the symbols behind them.
std::span<const Opener> known_openers();

// "name:argument" as a user gives it, the argument counting from 1.
Result<Opener> parse_opener(std::string_view text);

// A constructor or open() of a file stream, by its mangled name.
struct FileStream {
  unsigned always = 0;         // bits of the openmode that it adds itself
  std::string with_char_path;  // the mangled name of its like that takes a const char*
};
std::optional<FileStream> find_stream(std::string_view mangled);

// Whether one of the words of a text might be an opener; for code that was never compiled.
bool names_opener(std::span<const std::string> words, std::span<const Opener> own);

}  // namespace sluice
