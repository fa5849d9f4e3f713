// Messages for people on standard error, and a log for developers. Safe from any thread.
//
// error() and warn() reach standard error as "sluice: ..." unless the level (option log-level) is lower;
// info() and debug() only when it asks for them. Nothing is written to standard output, ever.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace sluice::log {

enum class Level { error, warn, info, debug };

void set_level(Level level);
bool enabled(Level level);
void write(Level level, std::string_view message);

template <class... T>
void error(fmt::format_string<T...> text, T&&... values) {
  write(Level::error, fmt::format(text, std::forward<T>(values)...));
}
template <class... T>
void warn(fmt::format_string<T...> text, T&&... values) {
  write(Level::warn, fmt::format(text, std::forward<T>(values)...));
}
template <class... T>
void info(fmt::format_string<T...> text, T&&... values) {
  if (enabled(Level::info)) {
    write(Level::info, fmt::format(text, std::forward<T>(values)...));
  }
}
template <class... T>
void debug(fmt::format_string<T...> text, T&&... values) {
  if (enabled(Level::debug)) {
    write(Level::debug, fmt::format(text, std::forward<T>(values)...));
  }
}

}  // namespace sluice::log
