#include "profile/profile.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

const Curve& direct_read(const Profile& profile, bool random) {
  return profile.curves[index_of({.mode = Mode::direct, .write = false, .random = random})];
}

// Of a request of no bytes: where the first line begins. Noise must not put that above, or far below, what
// the smallest request cost.
double without_bytes(const Curve& curve) {
  if (curve.empty()) {
    return 0;
  }
  const double smallest = curve.points.front().seconds;
  return std::clamp(curve.lines.front().at(0), smallest / 2, smallest);
}

}  // namespace

Conditions conditions_of(const Place& place) {
  utsname name{};
  uname(&name);
  return {.kernel = name.release,
          .filesystem = place.filesystem,
          .options = place.options,
          .device = place.device ? place.device->name : place.origin,
          .scheduler = place.device ? place.device->scheduler : ""};
}

std::string differences(const Conditions& then, const Conditions& now) {
  std::vector<std::string> out;
  const auto compare = [&](const char* what, const std::string& before, const std::string& after) {
    if (before != after) {
      out.push_back(fmt::format("{} {} is now {}", what, quote(before), quote(after)));
    }
  };
  compare("kernel", then.kernel, now.kernel);
  compare("file system", then.filesystem, now.filesystem);
  compare("mount options", then.options, now.options);
  compare("device", then.device, now.device);
  compare("scheduler", then.scheduler, now.scheduler);
  return join(out, ", ");
}

double Profile::latency() const {
  return without_bytes(direct_read(*this, false));
}

double Profile::seek() const {
  return std::max(0.0, without_bytes(direct_read(*this, true)) - latency());
}

// What a further byte costs among the large requests, but never less than some request really reached.
double Profile::bandwidth(bool write) const {
  const Curve& curve = curves[index_of({.mode = Mode::sustained, .write = write, .random = false})];
  if (curve.empty()) {
    return 0;
  }
  double best = 0;
  for (const Measured& point : curve.points) {
    best = std::max(best, static_cast<double>(point.size) / point.seconds);
  }
  constexpr double large = 1.0 / 16;  // of the largest
  const Measured& last = curve.points.back();
  for (const Measured& point : curve.points) {
    if (static_cast<double>(point.size) >= large * static_cast<double>(last.size) && point.size < last.size &&
        point.seconds < last.seconds) {
      const double slope = (last.seconds - point.seconds) / static_cast<double>(last.size - point.size);
      return std::clamp(1 / slope, best, 2 * best);
    }
  }
  return best;
}

double Profile::iops(bool write) const {
  double out = 0;
  for (const Depth& one : depths) {
    out = one.write == write ? std::max(out, one.iops) : out;
  }
  const Curve& curve = curves[index_of({.mode = Mode::sustained, .write = write, .random = true})];
  return out > 0 || curve.empty() ? out : 1 / curve.points.front().seconds;
}

double Profile::factor(const Streams& several) const {
  const Curve& curve = curves[index_of(several.access)];
  return curve.empty() ? 1 : curve.at(static_cast<double>(several.size)).seconds / several.seconds;
}

}  // namespace sluice
