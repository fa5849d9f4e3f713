#include "lab/net_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace sluice::lab {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bits;
};
constexpr std::array units = {Unit{"gbit", 1'000'000'000}, Unit{"mbit", 1'000'000}, Unit{"kbit", 1000},
                              Unit{"bit", 1}};
constexpr std::uint64_t slowest = 1000;
constexpr std::uint64_t fastest = 100'000'000'000;

}  // namespace

Result<std::uint64_t> parse_bit_rate(std::string_view text) {
  const std::string small = lower(trim(text));
  std::string_view number = small;
  std::uint64_t factor = 1;
  for (const Unit& unit : units) {
    if (number.ends_with(unit.name)) {
      number.remove_suffix(unit.name.size());
      factor = unit.bits;
      break;
    }
  }
  const auto value = parse_number(number);
  if (!value) {
    return bad_input(fmt::format("{} is no rate", quote(text)),
                     "bits per second with bit, kbit, mbit or gbit: 200mbit, 1gbit, 500kbit");
  }
  const double bits = std::round(*value * static_cast<double>(factor));
  if (!(bits >= static_cast<double>(slowest) && bits <= static_cast<double>(fastest))) {
    return bad_input(fmt::format("a rate of {} is out of range", quote(text)),
                     "from 1kbit to 100gbit; without a rate the link is as fast as the machine");
  }
  return static_cast<std::uint64_t>(bits);
}

std::string print_bit_rate(std::uint64_t bits_per_second) {
  for (const Unit& unit : units) {
    if (bits_per_second % unit.bits == 0) {
      return fmt::format("{}{}", bits_per_second / unit.bits, unit.name);
    }
  }
  return {};
}

RateShape shape_of(std::uint64_t bits_per_second, Duration rtt) {
  constexpr std::uint64_t frame = 1600;
  constexpr double burst_seconds = 0.002;  // the timer's lateness must not cost bandwidth
  constexpr double queue_seconds = 0.05;
  const double bytes = static_cast<double>(bits_per_second) / 8;
  const auto burst = std::max(2 * frame, static_cast<std::uint64_t>(bytes * burst_seconds));
  // One connection fills a long link only when a round trip's worth of data may wait.
  const auto queue = static_cast<std::uint64_t>(bytes * std::max(queue_seconds, rtt.in_seconds()));
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  return {.burst = burst, .queue = burst + std::clamp(queue, 20 * frame, most)};
}

}  // namespace sluice::lab
