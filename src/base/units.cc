#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"

namespace sluice {
namespace {

// ISO C++ has no name for it.
__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using)

struct Unit {
  std::string_view name;
  std::uint64_t scale;
};

constexpr std::uint64_t kilo = 1024;
constexpr std::array size_units = {Unit{"T", kilo* kilo* kilo* kilo}, Unit{"G", kilo* kilo* kilo},
                                   Unit{"M", kilo* kilo}, Unit{"K", kilo}, Unit{"B", 1}};

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t hour = 3600 * second;
constexpr std::array duration_units = {Unit{"y", 365 * (24 * hour)},
                                       Unit{"d", 24 * hour},
                                       Unit{"h", hour},
                                       Unit{"m", 60 * second},
                                       Unit{"s", second},
                                       Unit{"ms", 1'000'000},
                                       Unit{"us", 1000},
                                       Unit{"ns", 1}};

struct Quantity {
  std::string_view whole;     // digits before the point
  std::string_view fraction;  // digits after it, without trailing zeros
  std::string unit;           // lower case
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<Quantity> split_quantity(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) {
    ++end;
  }
  Quantity out{.whole = text.substr(0, end), .fraction = {}, .unit = {}};
  if (out.whole.empty()) {
    return std::nullopt;
  }
  if (end < text.size() && text[end] == '.') {
    const std::size_t start = ++end;
    while (end < text.size() && is_digit(text[end])) {
      ++end;
    }
    if (end == start) {
      return std::nullopt;
    }
    out.fraction = text.substr(start, end - start);
    while (out.fraction.ends_with('0')) {
      out.fraction.remove_suffix(1);
    }
  }
  out.unit = lower(text.substr(end));
  return out;
}

enum class Fault { none, overflow, inexact };

// whole.fraction * scale as an exact integer not above limit.
Fault scale_exactly(const Quantity& quantity, std::uint64_t scale, Wide limit, Wide& out) {
  Wide value = 0;
  for (const char c : quantity.whole) {
    value = value * 10 + static_cast<Wide>(c - '0');
    if (value > limit) {
      return Fault::overflow;
    }
  }
  value *= scale;
  // A fraction of more than 19 digits cannot be exact in units whose scale is below 2^64.
  if (quantity.fraction.size() > 19) {
    return Fault::inexact;
  }
  Wide numerator = 0;
  Wide denominator = 1;
  for (const char c : quantity.fraction) {
    numerator = numerator * 10 + static_cast<Wide>(c - '0');
    denominator *= 10;
  }
  numerator *= scale;
  if (numerator % denominator != 0) {
    return Fault::inexact;
  }
  out = value + numerator / denominator;
  return out > limit ? Fault::overflow : Fault::none;
}

// "1.50" and a unit such that 1 <= value < step, rounded to three digits.
std::string three_digits(double value) {
  if (value >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

Duration Duration::from_seconds(double seconds) {
  if (!(seconds > 0)) {
    return {};
  }
  if (seconds >= 1.8e19) {
    return {std::numeric_limits<std::uint64_t>::max(), 0};
  }
  const double whole = std::floor(seconds);
  const auto nanoseconds = static_cast<std::uint32_t>(std::lround((seconds - whole) * 1e9));
  const auto count = static_cast<std::uint64_t>(whole);
  return nanoseconds >= second ? Duration(count + 1, 0) : Duration(count, nanoseconds);
}

int Duration::in_milliseconds() const {
  if (seconds_ >= INT_MAX / 1000) {
    return INT_MAX;
  }
  return static_cast<int>(seconds_ * 1000 + nanoseconds_ / 1'000'000);
}

Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view advice = "write a size as 512, 4K, 16MB, 1.5GiB (powers of 1024)";
  const auto quantity = split_quantity(text);
  if (!quantity) {
    return bad_input(fmt::format("{} is not a size", quote(text)), std::string(advice));
  }
  std::string unit = quantity->unit;
  if (unit.size() == 3 && unit.ends_with("ib")) {
    unit.resize(1);
  } else if (unit.size() == 2 && unit.ends_with('b') && unit != "bb") {
    unit.resize(1);
  }
  for (const Unit& known : size_units) {
    if (unit != lower(known.name) && !(unit.empty() && known.scale == 1)) {
      continue;
    }
    if (known.scale == 1 && quantity->unit.size() > 1) {
      break;  // "BiB" and "BB" are nobody's unit
    }
    Wide bytes = 0;
    switch (scale_exactly(*quantity, known.scale, std::numeric_limits<std::int64_t>::max(), bytes)) {
      case Fault::none:
        return static_cast<std::uint64_t>(bytes);
      case Fault::overflow:
        return bad_input(fmt::format("size {} is too large", quote(text)), "the largest is 2^63-1 bytes");
      case Fault::inexact:
        return bad_input(fmt::format("size {} is not a whole number of bytes", quote(text)),
                         "use a smaller unit");
    }
  }
  return bad_input(fmt::format("{} is not a size", quote(text)), std::string(advice));
}

Result<Duration> parse_duration(std::string_view text) {
  constexpr std::string_view advice = "write a duration as 250ms, 90s, 2h, 1d, 20y";
  const auto quantity = split_quantity(text);
  if (!quantity) {
    return bad_input(fmt::format("{} is not a duration", quote(text)), std::string(advice));
  }
  for (const Unit& known : duration_units) {
    if (quantity->unit != known.name) {
      continue;
    }
    Wide nanoseconds = 0;
    const Wide limit = Wide{std::numeric_limits<std::int64_t>::max()} * second;
    switch (scale_exactly(*quantity, known.scale, limit, nanoseconds)) {
      case Fault::none:
        return Duration(static_cast<std::uint64_t>(nanoseconds / second),
                        static_cast<std::uint32_t>(nanoseconds % second));
      case Fault::overflow:
        return bad_input(fmt::format("duration {} is too large", quote(text)),
                         "the largest is 2^63-1 seconds");
      case Fault::inexact:
        return bad_input(fmt::format("duration {} is finer than a nanosecond", quote(text)));
    }
  }
  return bad_input(fmt::format("{} is not a duration", quote(text)),
                   quantity->unit.empty() ? "it needs a unit: ns us ms s m h d y" : std::string(advice));
}

Result<double> parse_rate(std::string_view text) {
  const bool suffix = text.ends_with("/s");
  SLUICE_TRY(const std::uint64_t bytes, parse_size(trim(suffix ? text.substr(0, text.size() - 2) : text)));
  return static_cast<double>(bytes);
}

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return bad_input(fmt::format("{} is not a number", quote(text)), "write it as 0.01 or 1e-6");
  }
  return value;
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc::result_out_of_range || value > std::numeric_limits<std::int64_t>::max()) {
    return bad_input(fmt::format("{} is too large", quote(text)));
  }
  if (fault != std::errc{} || end != text.data() + text.size()) {
    return bad_input(fmt::format("{} is not a whole number", quote(text)));
  }
  return value;
}

std::string print(Duration value) {
  if (value == Duration{}) {
    return "0s";
  }
  const Wide nanoseconds = Wide{value.whole_seconds()} * second + value.nanoseconds();
  for (const Unit& unit : duration_units) {
    if (nanoseconds % unit.scale == 0) {
      // Counts of nanoseconds below one second fit 64 bits, and so do counts of seconds.
      const Wide count = nanoseconds / unit.scale;
      if (count <= std::numeric_limits<std::uint64_t>::max()) {
        return fmt::format("{}{}", static_cast<std::uint64_t>(count), unit.name);
      }
    }
  }
  return fmt::format("{}.{:09}s", value.whole_seconds(), value.nanoseconds());
}

std::string print_size(std::uint64_t bytes) {
  if (bytes == 0) {
    return "0B";
  }
  for (const Unit& unit : size_units) {
    if (bytes % unit.scale == 0) {
      return fmt::format("{}{}", bytes / unit.scale, unit.name);
    }
  }
  return fmt::format("{}B", bytes);
}

std::string print_number(double value) {
  return fmt::format("{}", value);
}

std::string human_size(std::uint64_t bytes) {
  constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t step = 0;
  while (value >= 999.5 && step + 1 < names.size()) {
    value /= 1024;
    ++step;
  }
  return step == 0 ? fmt::format("{} B", bytes) : three_digits(value) + " " + names[step];
}

std::string human_rate(double bytes_per_second) {
  const double rate = std::clamp(bytes_per_second, 0.0, 1e18);
  return human_size(static_cast<std::uint64_t>(rate)) + "/s";
}

std::string human_duration(double seconds) {
  struct Step {
    double scale;
    const char* name;
  };
  constexpr std::array steps = {Step{365.0 * 86400, "y"}, Step{86400, "d"}, Step{3600, "h"},
                                Step{60, "min"},          Step{1, "s"},     Step{1e-3, "ms"},
                                Step{1e-6, "us"}};
  if (!std::isfinite(seconds)) {
    return "never";
  }
  for (const Step& step : steps) {
    if (seconds >= step.scale) {
      const double value = seconds / step.scale;
      return (value >= 1e5 ? fmt::format("{:.2g}", value) : three_digits(value)) + " " + step.name;
    }
  }
  return three_digits(std::max(seconds, 0.0) * 1e9) + " ns";
}

}  // namespace sluice
