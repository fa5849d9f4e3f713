#include "forecast/measured.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace sluice {
namespace {

std::vector<Wish> wishes(const Workload& workload) {
  std::vector<Wish> out;
  for (const bool write : {false, true}) {
    if (workload.operation != (write ? Operation::read : Operation::write)) {
      out.push_back(
          {.access = {.mode = workload.mode, .write = write, .random = workload.pattern == Pattern::random},
           .size = workload.request,
           .gap = workload.gap(),
           .streams = workload.streams});
    }
  }
  return out;
}

}  // namespace

std::optional<Throughput> measured_throughput(const Profile& profile, const Workload& workload) {
  const std::vector<Wish> all = wishes(workload);
  Estimate sum;
  for (const Wish& wish : all) {
    const auto one = expect(profile, wish);
    if (!one) {
      return std::nullopt;
    }
    sum.seconds += one->seconds;
    sum.low += one->low;
    sum.high += one->high;
  }
  // A bound may reach down to zero seconds; every forecast is a finite number.
  const double bytes = static_cast<double>(workload.request) * static_cast<double>(all.size());
  const auto rate = [&](double seconds) { return bytes / std::max(seconds, 1e-12); };
  return Throughput{.rate = rate(sum.seconds),
                    .low = rate(std::max(sum.high, sum.seconds)),
                    .high = rate(std::min(sum.low, sum.seconds))};
}

std::string explain_measured(const Profile& profile, const Workload& workload) {
  std::vector<std::string> out;
  for (const Wish& wish : wishes(workload)) {
    out.push_back(explain(profile, wish));
  }
  return join(out, "; ");
}

}  // namespace sluice
