// The bandwidth of a link, in bits per second as network people count: 1 mbit is 1 000 000 bits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace sluice::lab {

// "200mbit", "1.5gbit", "500kbit", "64000": from 1 kbit to 100 gbit.
Result<std::uint64_t> parse_bit_rate(std::string_view text);
std::string print_bit_rate(std::uint64_t bits_per_second);

// How a token bucket keeps to the rate.
struct RateShape {
  std::uint64_t burst;  // bytes that may go out at once
  std::uint64_t queue;  // bytes that may wait, the burst included; what comes beyond is dropped
};
RateShape shape_of(std::uint64_t bits_per_second, Duration rtt);

}  // namespace sluice::lab
