#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <span>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "profile/profile.h"

namespace sluice {
namespace {

// What is not measured but concluded is less sure by this, relative.
constexpr double doubt_of_unmeasured_streams = 0.50;
constexpr double doubt_of_strides = 0.15;

// A machine is not the same an hour later: what takes long on the device hardly feels that, what takes the
// processor and memory does. Half widths in logarithms that hold nine of ten measurements by other programs
// (scripts/bench forecast-error), and how much more several streams differ.
constexpr double drift_of_slow = 0.15;
constexpr double drift_of_fast = 0.40;
constexpr double slow_seconds = 1e-3;
constexpr double fast_seconds = 3e-5;
constexpr double fast_rate = 1e9;  // bytes a second, about what memory can be copied at
constexpr double drift_of_streams = 1.7;

double interpolate(double x, double x0, double y0, double x1, double y1) {
  return x1 > x0 ? y0 + (y1 - y0) * std::clamp((x - x0) / (x1 - x0), 0.0, 1.0) : y1;
}

// Of one stream, without gaps.
std::optional<Estimate> alone(const Profile& profile, Access access, std::uint64_t size) {
  const Curve& curve = profile.curves[index_of(access)];
  if (curve.empty()) {
    return {};
  }
  // Less than the smallest direct request cannot be asked for.
  const double least = access.mode == Mode::direct ? static_cast<double>(curve.points.front().size) : 0.0;
  Estimate out = curve.at(std::max(static_cast<double>(size), least));
  // Beyond what was measured through the page cache, it is the device that counts.
  const auto largest = static_cast<double>(curve.points.back().size);
  const Curve& direct =
      profile.curves[index_of({.mode = Mode::direct, .write = access.write, .random = false})];
  if (access.mode != Mode::direct && static_cast<double>(size) > largest && !direct.empty()) {
    const Estimate last = curve.at(largest);
    const double further =
        std::max(0.0, direct.at(static_cast<double>(size)).seconds - direct.at(largest).seconds);
    const double doubt = out.high / out.seconds;
    out = {.seconds = last.seconds + further,
           .low = (last.seconds + further) / doubt,
           .high = (last.seconds + further) * doubt};
  }
  if (access.mode == Mode::synced && access.write && profile.sawtooth && size > profile.sawtooth->block) {
    const double extra = profile.sawtooth->extra(size);
    out.seconds += extra;
    out.low += extra / 2;
    out.high += extra * 1.5;
  }
  return out;
}

void widen(Estimate& estimate, double doubt) {
  estimate.low /= 1 + doubt;
  estimate.high *= 1 + doubt;
}

// REQUIRES: `seconds` of one request, however many there are at once.
double drift(double seconds, std::uint64_t size, unsigned streams) {
  const double share =
      static_cast<double>(size) / seconds >= fast_rate
          ? 1
          : std::clamp(std::log(slow_seconds / seconds) / std::log(slow_seconds / fast_seconds), 0.0, 1.0);
  return (drift_of_slow + share * (drift_of_fast - drift_of_slow)) * (streams > 1 ? drift_of_streams : 1);
}

// Doubts of different causes add up by the squares of their logarithms.
void widen_by_drift(Estimate& estimate, double by) {
  const double down = std::hypot(std::log(estimate.seconds / estimate.low), by);
  const double up = std::hypot(std::log(estimate.high / estimate.seconds), by);
  estimate.low = estimate.seconds * std::exp(-down);
  estimate.high = estimate.seconds * std::exp(up);
}

// How much of the way to the random time a gap costs: by the logarithm of the gap.
double stride_share(const Profile& profile, bool write, std::uint64_t gap) {
  double before = 0;
  double share = 0;
  const Stride* last = nullptr;
  for (const Stride& one : profile.strides) {
    if (one.write != write) {
      continue;
    }
    const double at = std::log2(static_cast<double>(one.gap));
    const double wanted = std::log2(static_cast<double>(gap));
    if (last == nullptr && wanted <= at) {
      // Up to the first one it grows with the gap itself: what is skipped still passes by.
      return one.share * static_cast<double>(gap) / static_cast<double>(one.gap);
    }
    if (last != nullptr && wanted <= at) {
      return interpolate(wanted, before, share, at, one.share);
    }
    last = &one;
    before = at;
    share = one.share;
  }
  return last == nullptr ? 1 : share;
}

// Seconds between requests of one size with so many streams, between the numbers of streams that were
// measured.
double of_streams(double alone, const std::map<unsigned, double>& measured, unsigned streams) {
  double before = alone;
  double before_at = 0;
  const double wanted = std::log2(streams);
  for (const auto& [count, seconds] : measured) {
    const double at = std::log2(count);
    if (wanted <= at) {
      return interpolate(wanted, before_at, before, at, seconds);
    }
    before = seconds;
    before_at = at;
  }
  return before;
}

struct Together {
  double size = 0;
  double alone = 0;  // seconds of one stream
  double seconds = 0;
};

// By size, for those sizes that were measured with several streams.
std::vector<Together> together(const Profile& profile, const Access& access, unsigned streams) {
  std::map<std::uint64_t, std::map<unsigned, double>> rows;
  for (const Streams& one : profile.streams) {
    if (index_of(one.access) == index_of(access)) {
      rows[one.size][one.streams] = one.seconds;
    }
  }
  std::vector<Together> out;
  for (const auto& [size, measured] : rows) {
    if (const auto one = alone(profile, access, size)) {
      out.push_back({.size = static_cast<double>(size),
                     .alone = one->seconds,
                     .seconds = of_streams(one->seconds, measured, streams)});
    }
  }
  return out;
}

// Below the sizes that were measured as for one stream, between and beyond them on straight lines: latency
// and transfer each have their own gain.
double at_size(std::span<const Together> rows, double size, double alone) {
  const Together& first = rows.front();
  if (size <= first.size || rows.size() == 1) {
    return first.seconds * alone / first.alone;
  }
  const auto after =
      std::find_if(rows.begin(), rows.end() - 1, [&](const Together& row) { return row.size >= size; });
  const Together& high = *after;
  const Together& low = *(after - 1);
  if (size <= high.size) {
    return interpolate(size, low.size, low.seconds, high.size, high.seconds);
  }
  // A byte more costs at least half of what it cost in the largest that was measured.
  const double slope =
      std::max((high.seconds - low.seconds) / (high.size - low.size), high.seconds / high.size / 2);
  return high.seconds + slope * (size - high.size);
}

// How many times as many small requests the device takes when so many are under way.
double gain_of_depth(const Profile& profile, bool write, unsigned depth) {
  double one = 0;
  double most = 0;
  for (const Depth& row : profile.depths) {
    if (row.write == write) {
      one = row.depth == 1 ? row.iops : one;
      most = row.depth <= depth ? std::max(most, row.iops) : most;
    }
  }
  return one > 0 ? std::max(1.0, most / one) : 1;
}

// Where several streams were not measured. Random requests are under way together. Sequential ones side by
// side are random to the device, unless it has a cache for them; but what goes through the page cache comes
// in pieces as long as the kernel reads ahead, and is gathered before it is written.
double side_by_side(const Profile& profile, const Wish& wish, double seconds) {
  if (wish.access.random && !wish.access.write) {
    return seconds / gain_of_depth(profile, false, wish.streams);
  }
  if (wish.access.random || (wish.access.write && wish.access.mode == Mode::buffered)) {
    return seconds;
  }
  constexpr std::uint64_t usual_readahead = std::uint64_t{128} << 10;
  const bool ahead = wish.access.mode == Mode::buffered;
  Access access = wish.access;
  access.random = true;
  access.mode = ahead ? Mode::direct : access.mode;
  const std::uint64_t piece = ahead ? std::max(wish.size, usual_readahead) : wish.size;
  const auto random = alone(profile, access, piece);
  return random ? random->seconds * static_cast<double>(wish.size) / static_cast<double>(piece) : seconds;
}

void apply_streams(const Profile& profile, const Wish& wish, Estimate& estimate) {
  const std::vector<Together> several = together(profile, wish.access, wish.streams);
  const double seconds = several.empty() ? side_by_side(profile, wish, estimate.seconds)
                                         : at_size(several, static_cast<double>(wish.size), estimate.seconds);
  const double factor = seconds / estimate.seconds;
  estimate.seconds *= factor;
  estimate.low *= factor;
  estimate.high *= factor;
  if (several.empty()) {
    widen(estimate, doubt_of_unmeasured_streams);
  }
}

// A device takes writes into its own cache until that is full; from then on, they take what it sustains.
void mind_the_cache(const Profile& profile, const Wish& wish, Estimate& estimate) {
  const Curve& sustained =
      profile.curves[index_of({.mode = Mode::sustained, .write = true, .random = wish.access.random})];
  if (wish.access.mode == Mode::direct && wish.access.write && !sustained.empty()) {
    estimate.high = std::max(estimate.high, sustained.at(static_cast<double>(wish.size)).seconds);
  }
}

// Bytes a second, the most that was seen past the page cache, of one stream or of several.
double best_rate(const Profile& profile, bool write) {
  double out = 0;
  for (const bool random : {false, true}) {
    for (const Measured& point : profile.curves[index_of({Mode::direct, write, random})].points) {
      out = std::max(out, static_cast<double>(point.size) / point.seconds);
    }
  }
  for (const Streams& row : profile.streams) {
    if (row.access.mode == Mode::direct && row.access.write == write) {
      out = std::max(out, static_cast<double>(row.size) / row.seconds);
    }
  }
  return out;
}

// What goes through the page cache and to storage cannot be faster than storage. In a small file several
// streams find what others of them have read.
void mind_the_device(const Profile& profile, const Wish& wish, Estimate& estimate) {
  const double best = best_rate(profile, wish.access.write);
  if (wish.access.mode == Mode::direct || profile.cache.state != "bypassed" || best <= 0) {
    return;
  }
  const double least = static_cast<double>(wish.size) / best;
  const double factor = std::max(1.0, least / estimate.seconds);
  estimate.seconds *= factor;
  estimate.low *= factor;
  estimate.high *= factor;
}

}  // namespace

std::optional<Estimate> expect(const Profile& profile, const Wish& wish) {
  auto out = alone(profile, wish.access, wish.size);
  if (!out) {
    return {};
  }
  mind_the_cache(profile, wish, *out);
  const double one = out->seconds;
  if (wish.gap > 0 && !wish.access.random) {
    Access random = wish.access;
    random.random = true;
    if (const auto most = alone(profile, random, wish.size)) {
      const double share = stride_share(profile, wish.access.write, wish.gap);
      out->low += share * (most->low - out->low);
      out->high += share * (most->high - out->high);
      out->seconds += share * (most->seconds - out->seconds);
      widen(*out, doubt_of_strides);
    }
  }
  if (wish.streams > 1) {
    apply_streams(profile, wish, *out);
  }
  mind_the_device(profile, wish, *out);
  widen_by_drift(*out, drift(one, wish.size, wish.streams));
  return out;
}

std::string explain(const Profile& profile, const Wish& wish) {
  const auto estimate = expect(profile, wish);
  if (!estimate) {
    return fmt::format("{} was not measured", print(wish.access));
  }
  const auto taken = static_cast<std::time_t>(profile.taken);
  std::tm day{};
  localtime_r(&taken, &day);
  std::string out = fmt::format("measured on {:04}-{:02}-{:02}: {} of {}", day.tm_year + 1900, day.tm_mon + 1,
                                day.tm_mday, print(wish.access), human_size(wish.size));
  if (wish.gap > 0) {
    out += fmt::format(" with gaps of {}", human_size(wish.gap));
  }
  if (wish.streams > 1) {
    out += fmt::format(", {} streams together", wish.streams);
  }
  return out + fmt::format(" = {} ({} to {}){}", human_duration(estimate->seconds),
                           human_duration(estimate->low), human_duration(estimate->high),
                           profile.sure ? "" : ", not sure");
}

}  // namespace sluice
