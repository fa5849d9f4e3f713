// How likely data is lost: IOSIG's Eq. 1 (uncorrectable bit errors) and Eq. 2 (mean time to data loss). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "places/place.h"

namespace sluice {

// Eq. 1: uncorrectable bit errors per bit read, for sectors of `sector_bits` of which `ecc_bits` can be
// corrected, at a raw error rate `ber`. Exact for tiny rates: no overflow, no cancellation.
double uber(double ber, std::uint64_t sector_bits, std::uint64_t ecc_bits);

// Of one disk, in seconds.
struct DiskModel {
  double mttf = 0;
  double mttr = 0;
  double uber = 0;
};

// Eq. 2 in seconds for `bytes` of data; without redundancy MTTF divided by the number of disks. Members that
// are layouts themselves count as disks whose MTTF is their own MTTDL.
double mttdl(const Layout& layout, const DiskModel& disk, std::uint64_t bytes);

// 1 - exp(-lifetime / mttdl)
double loss_probability(double mttdl_seconds, double lifetime_seconds);

struct Reliability {
  std::optional<double> mttdl;  // seconds; nothing = not reliable, or not known
  std::string why;              // the arithmetic, or what is missing
};
// For `bytes` of data on a place. A default MTTF counts only where the layout is redundant; a single disk is
// "not reliable" until somebody states its MTTF.
Reliability reliability_of(const Place& place, std::optional<std::uint64_t> bytes);

}  // namespace sluice
