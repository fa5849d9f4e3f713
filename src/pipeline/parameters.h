// "name=value,name=value", as a stage gets it. Header only, without allocation.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "pipeline/stack.h"

namespace sluice {

// A number with K, M, G (of 1024), or ns, us, ms, s (then it is nanoseconds).
inline std::optional<std::int64_t> parse_parameter(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (problem != std::errc{} || value < 0) {
    return {};
  }
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> units = {{{"", 1},
                                                                               {"K", 1 << 10},
                                                                               {"M", 1 << 20},
                                                                               {"G", 1 << 30},
                                                                               {"ns", 1},
                                                                               {"us", 1000},
                                                                               {"ms", 1000000},
                                                                               {"s", 1000000000}}};
  for (const auto& [name, factor] : units) {
    if (unit == name && value <= INT64_MAX / factor) {
      return value * factor;
    }
  }
  return {};
}

// SLUICE_BIT of each of "read+write"; nothing where one is unknown.
inline std::optional<std::uint32_t> parse_operations(std::string_view text) {
  std::uint32_t out = 0;
  while (!text.empty()) {
    const std::size_t plus = text.find('+');
    const std::string_view one = text.substr(0, plus);
    text = plus == std::string_view::npos ? std::string_view() : text.substr(plus + 1);
    std::uint32_t bit = 0;
    for (unsigned i = 0; i < SLUICE_OPERATIONS; ++i) {
      bit |= print(static_cast<sluice_operation>(i)) == one ? SLUICE_BIT(i) : 0;
    }
    if (bit == 0) {
      return {};
    }
    out |= bit;
  }
  return out;
}

// Takes them one by one; whatever is left over is wrong, and so is one that comes twice or has no value.
class Parameters {
 public:
  // `repeatable` may come several times.
  Parameters(const char* text, char* error, std::size_t error_size, std::string_view repeatable = {})
      : text_(text), rest_(text), repeatable_(repeatable), error_(error), error_size_(error_size) {}

  // The next one; false at the end, and where it cannot be.
  bool next() {
    if (rest_.empty() || !good_) {
      return false;
    }
    const std::string_view before = text_.substr(0, text_.size() - rest_.size());
    take(rest_);
    if (value.empty()) {
      refuse("it has no value; write NAME=VALUE");
      good_ = false;
    } else if (name != repeatable_ && has(before, name)) {
      refuse("it is given twice; leave one of them out");
      good_ = false;
    }
    return good_;
  }
  // Asked when next() has come to an end; false is an error, which is told already.
  [[nodiscard]] bool good() const { return good_; }
  // The name is known: takes its number. The return value of start() where that is none.
  bool number(std::int64_t& out) const {
    const auto parsed = parse_parameter(value);
    out = parsed.value_or(out);
    return parsed.has_value();
  }
  // What start() returns where the name or its value is wrong.
  int refuse(const char* what) const {
    std::snprintf(error_, error_size_, "%.*s%s%.*s: %s", static_cast<int>(name.size()), name.data(),
                  value.empty() ? "" : "=", static_cast<int>(value.size()), value.data(), what);
    return -1;
  }

  // Never null: both are printed.
  std::string_view name = "";   // NOLINT(readability-redundant-string-init)
  std::string_view value = "";  // NOLINT(readability-redundant-string-init)

 private:
  // One off the front of the text, to name and value.
  void take(std::string_view& from) {
    const std::size_t comma = from.find(',');
    const std::string_view one = from.substr(0, comma);
    from = comma == std::string_view::npos ? std::string_view() : from.substr(comma + 1);
    const std::size_t equals = one.find('=');
    name = one.substr(0, equals);
    value = equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
  }
  static bool has(std::string_view text, std::string_view wanted) {
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      if (text.substr(0, std::min(comma, text.find('='))) == wanted) {
        return true;
      }
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return false;
  }

  std::string_view text_;
  std::string_view rest_;
  std::string_view repeatable_;
  char* error_;
  std::size_t error_size_;
  bool good_ = true;
};

}  // namespace sluice
