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

// Whether every single disk may fail, which is also when errors of single reads are corrected: raid1:2 and
// raid0(raid1:2,raid1:2), not raid0(raid1:2,single).
bool survives_one(const Layout& layout);
// raid10 as what it is, raid0 of mirrored pairs; any other layout unchanged.
Layout in_pairs(Layout layout);

// Eq. 2 in seconds for `bytes` of data; without redundancy MTTF divided by the number of disks. Members that
// are layouts themselves count as disks whose MTTF is their own MTTDL. As in the paper, each member of a
// redundant layout holds `bytes`; those of raid0 share them.
double mttdl(const Layout& layout, const DiskModel& disk, std::uint64_t bytes);

// (d-1)h, the largest of all redundant groups: about how many read errors one rebuild meets. Eq. 2 holds
// while it is well under 1.
double rebuild_errors(const Layout& layout, const DiskModel& disk, std::uint64_t bytes);
// Uncorrectable bit errors that are expected when `bytes` are read once.
double read_errors(const DiskModel& disk, std::uint64_t bytes);

// 1 - exp(-lifetime / mttdl)
double loss_probability(double mttdl_seconds, double lifetime_seconds);

// Why no data is safe on a place whatever its disks: it is volatile, or degraded. "" = nothing is known
// against it.
std::string unsafe_because(const Place& place);

struct Reliability {
  std::optional<double> mttdl;  // seconds; nothing = not reliable, or not known
  std::string why;              // the arithmetic, or what is missing
};
// For `bytes` of data on a place. A default MTTF counts only where the layout is redundant; a single disk is
// "not reliable" until somebody states its MTTF.
Reliability reliability_of(const Place& place, std::optional<std::uint64_t> bytes);

}  // namespace sluice
