// Sizes and durations: parsed and printed without loss.
//
// A size is a count of bytes. Letters B K M G T (any case), each with an optional B or iB, are powers of
// 1024; a bare number is bytes; a fraction is fine when it comes out as whole bytes (1.5K, not 1.5B).
// A duration is seconds and nanoseconds; units ns us ms s m h d y, a year being 365 days.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

class Duration {
 public:
  constexpr Duration() = default;
  // REQUIRES: nanoseconds < 1'000'000'000
  constexpr Duration(std::uint64_t seconds, std::uint32_t nanoseconds)
      : seconds_(seconds), nanoseconds_(nanoseconds) {}
  // Nearest representable duration; negative and NaN give zero, too large gives the largest.
  static Duration from_seconds(double seconds);

  [[nodiscard]] constexpr std::uint64_t whole_seconds() const { return seconds_; }
  [[nodiscard]] constexpr std::uint32_t nanoseconds() const { return nanoseconds_; }
  [[nodiscard]] constexpr double in_seconds() const {
    return static_cast<double>(seconds_) + static_cast<double>(nanoseconds_) * 1e-9;
  }
  // Rounded down; the largest int when it does not fit.
  [[nodiscard]] int in_milliseconds() const;
  constexpr auto operator<=>(const Duration&) const = default;

 private:
  std::uint64_t seconds_ = 0;
  std::uint32_t nanoseconds_ = 0;
};

Result<std::uint64_t> parse_size(std::string_view text);
Result<Duration> parse_duration(std::string_view text);
// Bytes per second: a size with an optional "/s".
Result<double> parse_rate(std::string_view text);
// A decimal number without unit, nothing before or after it.
Result<double> parse_number(std::string_view text);
Result<std::uint64_t> parse_count(std::string_view text);

// The shortest text that parses back to the same value: 6G, 1536B, 90m.
std::string print(Duration value);
std::string print_size(std::uint64_t bytes);
// The shortest decimal that reads back as the same double.
std::string print_number(double value);

// Rounded to three digits, for tables: "1.50 GiB", "2.4 y", "103 MiB/s".
std::string human_size(std::uint64_t bytes);
std::string human_rate(double bytes_per_second);
std::string human_duration(double seconds);

}  // namespace sluice
