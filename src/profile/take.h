// Takes a profile of a place: all tests, one after another, within the time that there is.
#pragma once

#include <functional>
#include <string_view>

#include "profile/profile.h"

namespace sluice {

struct ProfileOptions {
  std::vector<Interval> grid;
  std::size_t points = 3;            // of each interval to begin with, both extremes among them
  std::size_t repetitions = 0;       // so many bursts of each, or 0: until the mean is sure
  double bound = 0.10;               // sure means that the 90 % interval is this narrow, relative
  double seconds = 15;               // all in all
  std::vector<std::uint64_t> files;  // sizes of the file, rising; none = one, as large as the time allows
  std::uint64_t seed = 1;
  bool idle = false;  // lowest I/O priority
  // Beside the curves of direct access.
  bool modes = true;  // buffered and synced access
  bool depth = true;
  bool streams = true;
  bool strides = true;
  bool sawtooth = true;
  bool metadata = true;
  // What it adds to, in moments in which nobody else uses the place; its repetitions count.
  std::optional<Profile> earlier = {};
};

// Progress for people: what is done, from 0 to 1.
using ProfileProgress = std::function<void(double share, std::string_view what)>;

// Measures the place at its path. Takes at most nine tenths of its free space; leaves nothing behind.
// REQUIRES: called in a process that may get stuck with the place.
Result<Profile> take_profile(const Place& place, const ProfileOptions& options,
                             const ProfileProgress& progress);

}  // namespace sluice
