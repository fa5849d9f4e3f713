#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "profile/profile.h"

namespace sluice {
namespace {

// What is not measured but concluded is less sure by this, relative.
constexpr double doubt_of_streams = 0.10;
constexpr double doubt_of_unmeasured_streams = 0.50;
constexpr double doubt_of_strides = 0.15;

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

// The factor for so many streams of one request size, between those that were measured.
std::optional<double> factor_of(const std::map<unsigned, double>& factors, unsigned streams) {
  if (factors.empty()) {
    return {};
  }
  double before = 1;
  double before_at = 0;
  const double wanted = std::log2(streams);
  for (const auto& [count, factor] : factors) {
    const double at = std::log2(count);
    if (wanted <= at) {
      return interpolate(wanted, before_at, before, at, factor);
    }
    before = factor;
    before_at = at;
  }
  return before;
}

// All streams together need `first` seconds a request at the smallest size that was measured with several,
// and grow `growth` times as fast as one stream from there.
struct Together {
  double size = 0;
  double first = 0;
  double growth = 1;
};

std::optional<Together> together(const Profile& profile, const Access& access, unsigned streams) {
  std::map<std::uint64_t, std::map<unsigned, double>> rows;  // by size
  for (const Streams& one : profile.streams) {
    if (index_of(one.access) == index_of(access)) {
      rows[one.size][one.streams] = one.factor;
    }
  }
  std::optional<Together> out;
  double alone_first = 0;
  for (const auto& [size, factors] : rows) {
    const auto factor = factor_of(factors, streams);
    const auto one = alone(profile, access, size);
    if (!factor || !one || *factor <= 0) {
      continue;
    }
    if (!out) {
      out =
          Together{.size = static_cast<double>(size), .first = one->seconds / *factor, .growth = 1 / *factor};
      alone_first = one->seconds;
    } else if (one->seconds > alone_first) {
      out->growth =
          std::clamp((one->seconds / *factor - out->first) / (one->seconds - alone_first), 0.05, 20.0);
    }
  }
  return out;
}

void apply_streams(const Profile& profile, const Wish& wish, Estimate& estimate) {
  Access access = wish.access;
  auto several = together(profile, access, wish.streams);
  double doubt = doubt_of_streams;
  double seconds = estimate.seconds;
  if (several) {
    const double first = alone(profile, access, static_cast<std::uint64_t>(several->size))->seconds;
    seconds = static_cast<double>(wish.size) <= several->size
                  ? several->first * estimate.seconds / first
                  : several->first + several->growth * (estimate.seconds - first);
    seconds = std::max(seconds, several->first / 2);
  } else {
    // Sequential streams side by side are random to the device.
    doubt = doubt_of_unmeasured_streams;
    access.random = true;
    if (const auto random = alone(profile, access, wish.size); random && !wish.access.random) {
      seconds = random->seconds;
    }
  }
  const double factor = seconds / estimate.seconds;
  estimate.seconds *= factor;
  estimate.low *= factor;
  estimate.high *= factor;
  widen(estimate, doubt);
}

}  // namespace

std::optional<Estimate> expect(const Profile& profile, const Wish& wish) {
  auto out = alone(profile, wish.access, wish.size);
  if (!out) {
    return {};
  }
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
  return out + fmt::format(" = {} ({} to {})", human_duration(estimate->seconds),
                           human_duration(estimate->low), human_duration(estimate->high));
}

}  // namespace sluice
