#include "forecast/reliability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sluice {
namespace {

// MDS code over d members of which m may fail (Eq. 2).
double mds_mttdl(unsigned d, unsigned m, double mttf, double mttr, double h) {
  const double lambda = 1 / mttf;
  const double mu = 1 / mttr;
  // The product of rates in logarithms: m may be large and the rates tiny.
  double log_rate = 0;
  for (unsigned i = 0; i <= m; ++i) {
    log_rate += std::log(static_cast<double>(d - i));
  }
  log_rate += m * (std::log(lambda) - std::log(mu));
  return std::exp(-log_rate) / (lambda + h * mu);
}

// Members that must all survive.
double series_mttdl(const Layout& layout, const DiskModel& disk, std::uint64_t bytes) {
  if (layout.members.empty()) {
    return disk.mttf / layout.disks;
  }
  double rate = 0;
  for (const Layout& member : layout.members) {
    rate += 1 / mttdl(member, disk, bytes / layout.members.size());
  }
  return 1 / rate;
}

bool is_degraded(const Device& device) {
  return device.degraded || std::any_of(device.below.begin(), device.below.end(), is_degraded);
}

}  // namespace

double uber(double ber, std::uint64_t sector_bits, std::uint64_t ecc_bits) {
  if (ber <= 0 || ecc_bits >= sector_bits) {
    return 0;
  }
  if (ber >= 1) {
    return 1;
  }
  const auto n = static_cast<double>(sector_bits);
  const double log_ber = std::log(ber);
  const double log_good = std::log1p(-ber);
  double sum = 0;
  for (std::uint64_t k = ecc_bits + 1; k <= sector_bits; ++k) {
    const auto errors = static_cast<double>(k);
    const double log_choose = std::lgamma(n + 1) - std::lgamma(errors + 1) - std::lgamma(n - errors + 1);
    const double term = std::exp(log_choose + errors * log_ber + (n - errors) * log_good);
    sum += term;
    // Past the most likely count the terms fall faster than geometrically.
    if (errors > n * ber && term < sum * 1e-17) {
      break;
    }
  }
  return sum / (n - static_cast<double>(ecc_bits));
}

bool survives_one(const Layout& layout) {
  return layout.redundant() ||
         (!layout.members.empty() && std::all_of(layout.members.begin(), layout.members.end(), survives_one));
}

Layout in_pairs(Layout layout) {
  if (layout.scheme != Scheme::raid10) {
    return layout;
  }
  const Layout pair{.scheme = Scheme::raid1, .disks = 2, .parity = 0, .members = {}};
  Layout out{.scheme = Scheme::raid0,
             .disks = layout.disks / 2,
             .parity = 0,
             .members = std::vector<Layout>(layout.disks / 2, pair)};
  for (std::size_t i = 0; i < layout.members.size(); ++i) {
    out.members[i / 2].members.push_back(std::move(layout.members[i]));
  }
  return out;
}

double mttdl(const Layout& layout, const DiskModel& disk, std::uint64_t bytes) {
  if (layout.scheme == Scheme::single) {
    return layout.members.empty() ? disk.mttf : mttdl(layout.members.front(), disk, bytes);
  }
  if (layout.scheme == Scheme::raid10) {
    return mttdl(in_pairs(layout), disk, bytes);
  }
  if (!layout.redundant()) {
    return series_mttdl(layout, disk, bytes);
  }
  double member_mttf = disk.mttf;
  double h = read_errors(disk, bytes);
  if (!layout.members.empty()) {
    // Unlike members: the weakest speaks for all. Their own redundancy has dealt with read errors already.
    member_mttf = std::numeric_limits<double>::infinity();
    bool all_correct = true;
    for (const Layout& member : layout.members) {
      member_mttf = std::min(member_mttf, mttdl(member, disk, bytes));
      all_correct = all_correct && survives_one(member);
    }
    h = all_correct ? 0 : h;
  }
  return mds_mttdl(layout.disks, layout.tolerated(), member_mttf, disk.mttr, h);
}

double rebuild_errors(const Layout& layout, const DiskModel& disk, std::uint64_t bytes) {
  if (layout.scheme == Scheme::raid10) {
    return rebuild_errors(in_pairs(layout), disk, bytes);
  }
  const bool corrected =
      !layout.members.empty() && std::all_of(layout.members.begin(), layout.members.end(), survives_one);
  double out = layout.redundant() && !corrected ? (layout.disks - 1) * read_errors(disk, bytes) : 0;
  for (const Layout& member : layout.members) {
    const std::uint64_t held = layout.redundant() ? bytes : bytes / layout.members.size();
    out = std::max(out, rebuild_errors(member, disk, held));
  }
  return out;
}

double read_errors(const DiskModel& disk, std::uint64_t bytes) {
  return static_cast<double>(bytes) * 8 * disk.uber;
}

double loss_probability(double mttdl_seconds, double lifetime_seconds) {
  return -std::expm1(-lifetime_seconds / mttdl_seconds);
}

std::string unsafe_because(const Place& place) {
  if (place.is_volatile.value_or(false)) {
    return "volatile: nothing survives a power cut";
  }
  if (place.device && is_degraded(*place.device)) {
    return "degraded: its redundancy is lost until it is repaired";
  }
  return {};
}

Reliability reliability_of(const Place& place, std::optional<std::uint64_t> bytes) {
  if (std::string why = unsafe_because(place); !why.empty()) {
    return {.mttdl = std::nullopt, .why = std::move(why)};
  }
  if (!place.layout) {
    return {.mttdl = std::nullopt,
            .why = "how its disks hold the data is not known; set layout in sluice.toml"};
  }
  const bool stated = place.mttf && place.mttf.source != Source::fallback;
  if (!survives_one(*place.layout) && !stated) {
    return {
        .mttdl = std::nullopt,
        .why = fmt::format("not reliable: {} has no redundancy and no stated MTTF; set mttf in sluice.toml",
                           print(*place.layout))};
  }
  if (!bytes && !place.free && !place.capacity) {
    return {.mttdl = std::nullopt, .why = "how much data is not known; say totalsize"};
  }
  if (!place.mttf || !place.mttr || !place.ber || !place.ecc_bits || !place.sector_bits) {
    return {.mttdl = std::nullopt, .why = "MTTF, MTTR, BER, ECC or sector size is not known"};
  }
  if (*place.ecc_bits >= *place.sector_bits) {
    return {
        .mttdl = std::nullopt,
        .why = fmt::format("ecc-bits {} is not below sector-bits {}", *place.ecc_bits, *place.sector_bits)};
  }
  const DiskModel disk{.mttf = (*place.mttf).in_seconds(),
                       .mttr = (*place.mttr).in_seconds(),
                       .uber = uber(*place.ber, *place.sector_bits, *place.ecc_bits)};
  // Without a size, the most that could be there: what holds for that holds for less.
  const std::uint64_t size = bytes.value_or(place.free.value_or(place.capacity.value_or(0)));
  const double seconds = mttdl(*place.layout, disk, size);
  return {.mttdl = seconds,
          .why = fmt::format(
              "{} of disks with MTTF {}{}, repair {}, UBER {:.2g}, {}: MTTDL {}", print(*place.layout),
              print(*place.mttf), stated ? "" : " (default)", print(*place.mttr), disk.uber,
              human_size(size) + (bytes ? "" : " (all that fits; no totalsize)"), human_duration(seconds))};
}

}  // namespace sluice
