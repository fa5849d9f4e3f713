// What was measured of a place: its curves, what follows from them, how it was measured and under which
// conditions.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "places/place.h"
#include "profile/measure.h"

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

struct Profile {
  std::string place;
  std::string path;
  std::string id;  // of the place
  Conditions conditions;
  std::uint64_t taken = 0;  // seconds since 1970
  std::vector<Interval> grid;
  CacheCheck cache;
  Curves curves;

  // Of the curves: the sequential and the random request at size zero, and the rate of the last line.
  [[nodiscard]] double latency() const;
  [[nodiscard]] double seek() const;
  [[nodiscard]] double bandwidth(bool write) const;
  // Sequential throughput divided by random throughput.
  [[nodiscard]] double ratio(bool write, double size) const;
};

struct ProfileOptions {
  MeasureOptions measure;
  bool idle = false;  // lowest I/O priority
};

// Measures the place at its path. Takes at most nine tenths of its free space; leaves nothing behind.
// REQUIRES: called in a process that may get stuck with the place.
Result<Profile> take_profile(const Place& place, const ProfileOptions& options,
                             const MeasureProgress& progress);

Json profile_json(const Profile& profile);

}  // namespace sluice
