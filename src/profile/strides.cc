#include <algorithm>
#include <array>
#include <map>

#include "base/clock.h"
#include "profile/probes.h"
#include "profile/statistics.h"

namespace sluice {
namespace {

constexpr std::array<std::uint64_t, 4> gaps = {std::uint64_t{64} << 10, std::uint64_t{1} << 20,
                                               std::uint64_t{16} << 20, std::uint64_t{128} << 20};
constexpr int requests_a_burst = 4;
constexpr int most_rounds = 200;
constexpr double no_difference = 0.05;  // of the random time: nothing to divide by

// The first request after the others does not count.
Status burst(Stream& stream, const Access& access, std::uint64_t size, std::uint64_t gap,
             std::vector<double>& times) {
  SLUICE_CHECK(stream.prepare(access));
  for (int i = 0; i < requests_a_burst; ++i) {
    SLUICE_TRY(const double seconds, stream.request(access, size, gap));
    if (i > 0) {
      times.push_back(seconds);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Stride>> compare_strides(const Bench& bench, double seconds) {
  const std::uint64_t size = small_request(bench.file);
  std::vector<Stride> out;
  SLUICE_TRY(WorkFile unused, WorkFile::create(bench.folder));
  Stream stream(bench.file, unused, 0, 0, bench.seed, bench.counted);
  for (const bool write : {false, true}) {
    const Access sequential{.mode = Mode::direct, .write = write, .random = false};
    const Access random{.mode = Mode::direct, .write = write, .random = true};
    std::map<std::uint64_t, std::vector<double>> times;  // by gap
    std::vector<double> random_times;
    const double deadline = steady_seconds() + seconds / 2;
    for (int round = 0; round < most_rounds && (round < 1 || steady_seconds() < deadline); ++round) {
      SLUICE_CHECK(burst(stream, sequential, size, 0, times[0]));
      for (const std::uint64_t gap : gaps) {
        if (gap + size <= bench.file.size() / 4) {
          SLUICE_CHECK(burst(stream, sequential, size, gap, times[gap]));
        }
      }
      SLUICE_CHECK(burst(stream, random, size, 0, random_times));
    }
    const double least = summarize(times[0]).mean;
    const double most = summarize(random_times).mean;
    for (const auto& [gap, each] : times) {
      const double mean = summarize(each).mean;
      if (gap > 0) {
        const double share = most - least > no_difference * most ? (mean - least) / (most - least) : 1;
        out.push_back({.write = write, .gap = gap, .share = std::clamp(share, 0.0, 1.5)});
      }
    }
  }
  return out;
}

}  // namespace sluice
