// A line of strace's output, taken apart: strace -f, with -t, -tt, -ttt or -r, -T, -y, -yy, -Y.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct StraceLine {
  enum class Kind {
    call,        // read(3, "", 10) = 0
    unfinished,  // read(3,  <unfinished ...>
    resumed,     // <... read resumed>"", 10) = 0
    ended,       // +++ exited with 0 +++
    other        // --- SIGCHLD {...} ---
  };
  Kind kind = Kind::other;
  std::uint32_t task = 0;  // 0 = not said
  std::int64_t time = 0;   // nanoseconds
  enum class Clock { none, day, epoch, relative } clock = Clock::none;
  std::string_view name;
  std::string_view rest;  // behind the parenthesis, or behind "resumed>"
};

// Nothing where it is no such line.
std::optional<StraceLine> parse_strace_line(std::string_view text);

// A number with what -y says of it: 3</etc/passwd>.
struct StraceFd {
  int number = -1;
  std::string_view path;  // as it stands there, escaped; "" = it does not
  bool is_other = false;  // a device, pipe or socket
};
std::optional<StraceFd> parse_strace_fd(std::string_view text);

struct StraceCall {
  std::vector<std::string_view> arguments;
  std::int64_t result = 0;               // or the negative errno
  bool has_result = false;               // false: "?"
  std::string_view annotation;           // of the result: 3</etc/passwd>
  std::optional<std::int64_t> duration;  // nanoseconds
};
// From behind the parenthesis. Nothing where it cannot be understood.
std::optional<StraceCall> parse_strace_call(std::string_view text);

// "\"a\\nb\"" -> "a\nb"; nothing where it is no string, or one that was cut.
std::optional<std::string> parse_strace_string(std::string_view text);
// 4096, 0644, 0x10, -1; nothing where it is none.
std::optional<std::int64_t> parse_strace_number(std::string_view text);

}  // namespace sluice
