// What was measured of a place: its curves, what follows from them, how it was measured and under which
// conditions. Plain values; measuring is in take.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "places/place.h"
#include "profile/access.h"
#include "profile/curve.h"
#include "profile/grid.h"
#include "profile/sawtooth.h"

namespace sluice {

// Whether the page cache of this kernel was out of the way, judged by what its devices counted.
struct CacheCheck {
  std::string state = "unknown";  // bypassed, not bypassed, unknown
  std::string why;
  std::uint64_t asked = 0;    // bytes
  std::uint64_t reached = 0;  // bytes that the devices counted
};

// What a profile holds for; another kernel, file system, mount, scheduler or device makes it stale.
struct Conditions {
  std::string kernel;
  std::string filesystem;
  std::string options;
  std::string device;
  std::string scheduler;

  bool operator==(const Conditions&) const = default;
};
Conditions conditions_of(const Place& place);
// "kernel 6.1 is now 6.2", ...; empty when they are the same.
std::string differences(const Conditions& then, const Conditions& now);

// Something that programs wait for: create, open, rename, unlink, fsync.
struct Wait {
  std::string name;
  Measured one;  // size is 0
};

// Requests a second of the smallest block, so many at once.
struct Depth {
  bool write = false;
  unsigned depth = 1;
  double iops = 0;
};

// Several streams together: seconds from one request's end to the next one's.
struct Streams {
  Access access;
  std::uint64_t size = 0;  // of a request
  unsigned streams = 1;
  double seconds = 0;
};

// Requests that leave a gap: how much of the way from the sequential to the random time they cost.
struct Stride {
  bool write = false;
  std::uint64_t gap = 0;
  double share = 0;
};

// Curves past the page cache, with a file of another size.
struct FileCurves {
  std::uint64_t file = 0;
  std::array<Curve, past_cache_count> curves;
};

struct Profile {
  std::string place;
  std::string path;
  std::string id;  // of the place
  Conditions conditions;
  std::uint64_t taken = 0;  // seconds since 1970
  std::vector<Interval> grid;
  CacheCheck cache;

  std::array<Curve, access_count> curves;  // by index_of()
  std::vector<FileCurves> files;           // smaller files, where several sizes were asked for
  std::vector<Wait> waits;
  std::vector<Depth> depths;
  std::vector<Streams> streams;
  std::vector<Stride> strides;
  std::optional<Sawtooth> sawtooth;
  std::uint64_t block = 0;  // of the sawtooth, else of the file system

  std::uint64_t file = 0;          // size of the file
  std::uint64_t largest = 0;       // the largest request that was measured
  std::size_t requests = 0;        // how many, in all
  double seconds = 0;              // what it took
  double bound = 0.1;              // what was asked for
  bool sure = false;               // nine of ten points within the bound, and their lines too
  unsigned rounds = 1;             // how often it was refined, and one
  std::vector<std::string> notes;  // what could not be measured, and why

  // Of the curves: the sequential and the random request at size zero, and the rate of large requests, of
  // writes the sustained one.
  [[nodiscard]] double latency() const;
  [[nodiscard]] double seek() const;
  [[nodiscard]] double bandwidth(bool write) const;
  [[nodiscard]] double iops(bool write) const;  // the most of any depth
  // Throughput of several streams as a multiple of one stream's. REQUIRES: one of ours.
  [[nodiscard]] double factor(const Streams& several) const;
};

// One kind of request, as one of several streams.
struct Wish {
  Access access;
  std::uint64_t size = 0;
  std::uint64_t gap = 0;  // between the end of a request and the next, where they are strided
  unsigned streams = 1;
};

// Seconds from one request's end to the next one's, of all streams together: `size / seconds` is the
// throughput. Nothing where no such access was measured.
std::optional<Estimate> expect(const Profile& profile, const Wish& wish);
// How that came about, for people.
std::string explain(const Profile& profile, const Wish& wish);

}  // namespace sluice
