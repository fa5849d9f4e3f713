#include <algorithm>
#include <array>
#include <random>

#include "base/clock.h"
#include "profile/probes.h"

namespace sluice {
namespace {

constexpr std::size_t requests_a_size = 4;
constexpr std::size_t most_teeth = 6000;
constexpr std::size_t least_teeth = 36;

}  // namespace

// Sizes of every multiple of the grain, small and even ones more often: the block divides some of them and
// most of them not, whatever it is. The file is there and out of the page cache, so that what a partial block
// lacks must be read.
Result<std::vector<Tooth>> write_teeth(const Bench& bench, double seconds) {
  std::mt19937_64 random(bench.seed);
  std::vector<Tooth> out;
  const double deadline = steady_seconds() + seconds;
  constexpr std::uint64_t grains = largest_tooth / tooth_grain;
  if (bench.file.size() < 16 * largest_tooth) {
    return out;
  }
  while (out.size() < most_teeth && (out.size() < least_teeth || steady_seconds() < deadline)) {
    const std::uint64_t unit = std::uint64_t{1} << (random() % 7);
    const std::uint64_t most = std::max<std::uint64_t>(1, (random() % 4 == 0 ? grains : grains / 8) / unit);
    const std::uint64_t size = tooth_grain * unit * (1 + random() % most);
    std::uint64_t offset = random() % (bench.file.size() / size - requests_a_size) * size;
    SLUICE_CHECK(bench.file.drop_cache());
    for (std::size_t i = 0; i < requests_a_size; ++i, offset += size) {
      SLUICE_TRY(const double write, bench.file.cached(true, offset, size));
      SLUICE_TRY(const double flush, bench.file.sync(true));
      bench.counted.requests += 1;
      if (i > 0) {  // the first one finds the device elsewhere
        out.push_back({.offset = offset, .size = size, .seconds = write + flush});
      }
    }
  }
  return out;
}

}  // namespace sluice
