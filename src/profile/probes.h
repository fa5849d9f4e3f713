// What is measured of a place beside its curves, a function and a file each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "profile/stream.h"

namespace sluice {

// What all of them work with.
struct Bench {
  const WorkFolder& folder;
  WorkFile& file;           // as large as it will be
  std::uint64_t spare = 0;  // bytes that further files may take together
  std::uint64_t seed = 1;
  Counted& counted;
};

// The smallest request of interest: a page, or what direct requests must be multiples of.
std::uint64_t small_request(const WorkFile& file);

// depth.cc: random requests, ever more at once, by io_uring, until more at once are not faster.
Result<std::vector<Depth>> sweep_depths(const Bench& bench, double seconds);

// streams.cc: threads with a stream each, against the curves of one.
Result<std::vector<Streams>> compare_streams(const Bench& bench, std::span<const Curve> curves,
                                             double seconds);

// strides.cc: requests with gaps between them, against those without and random ones.
Result<std::vector<Stride>> compare_strides(const Bench& bench, double seconds);

// teeth.cc: flushed writes of many sizes, one after another. The grain is what sizes and offsets are
// multiples of.
inline constexpr std::uint64_t tooth_grain = 1024;
inline constexpr std::uint64_t largest_tooth = 256 * tooth_grain;
Result<std::vector<Tooth>> write_teeth(const Bench& bench, double seconds);

// metadata.cc: files are created, opened, flushed, renamed and unlinked in a folder of their own.
Result<std::vector<Wait>> time_metadata(const Bench& bench, double bound, double seconds);
// Removes such folders, and files without O_TMPFILE, that a killed process of this user left; those in use
// stay.
void remove_leftovers(const std::string& folder);

}  // namespace sluice
