#include <algorithm>
#include <barrier>
#include <cmath>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "profile/probes.h"

namespace sluice {
namespace {

constexpr unsigned most_streams = 8;
constexpr std::uint64_t middle_request = std::uint64_t{64} << 10;
constexpr std::uint64_t large_request = std::uint64_t{1} << 20;
constexpr std::uint64_t own_size = std::uint64_t{4} << 20;
constexpr std::uint64_t shared_by_flush = std::uint64_t{4} << 20;  // bytes of each stream

// The files of one stream and the stream. Small random writes through the page cache go to a small file of
// its own, because those to one file wait for each other; large ones would not fit into it, and wait for the
// device.
struct Lane {
  WorkFile file;
  WorkFile fresh;
  WorkFile own;
  std::unique_ptr<Stream> stream = {};
  std::unique_ptr<Stream> own_stream = {};

  [[nodiscard]] Stream& stream_for(const Access& access, std::uint64_t size) const {
    const bool apart = access.write && access.random && access.mode != Mode::direct && size < large_request;
    return apart ? *own_stream : *stream;
  }
};

Result<std::vector<Lane>> make_lanes(const Bench& bench) {
  std::vector<Lane> out;
  out.reserve(most_streams);
  for (unsigned i = 0; i < most_streams; ++i) {
    SLUICE_TRY(WorkFile file, bench.file.again());
    SLUICE_TRY(WorkFile fresh, WorkFile::create(bench.folder));
    SLUICE_TRY(WorkFile own, WorkFile::create(bench.folder));
    SLUICE_CHECK(own.grow(std::min(own_size, bench.spare / most_streams / 4), [] { return true; }));
    out.push_back({.file = std::move(file), .fresh = std::move(fresh), .own = std::move(own)});
    Lane& lane = out.back();
    const std::uint64_t begin = bench.file.size() / most_streams * i / large_request * large_request;
    lane.stream = std::make_unique<Stream>(lane.file, lane.fresh, bench.spare / most_streams / 2, begin,
                                           bench.seed + i + 1, bench.counted);
    lane.own_stream = std::make_unique<Stream>(lane.own, lane.fresh, 0, 0, bench.seed + i + 1, bench.counted);
  }
  return out;
}

// Reads until the kernel has read ahead once, so that what is timed goes on from there.
Status warm_up(Stream& stream, const Access& access, std::uint64_t size) {
  SLUICE_CHECK(stream.prepare(access));
  const std::uint64_t window = stream.ahead(access) / size;
  for (std::uint64_t i = 0; window > 0 && i < window + window / 2; ++i) {
    SLUICE_TRY([[maybe_unused]] const double seconds, stream.request(access, size));
  }
  return {};
}

// Seconds that all of them together need for `count` requests each.
Result<double> run(std::vector<Lane>& lanes, unsigned streams, const Access& access, std::uint64_t size,
                   std::uint64_t count) {
  for (unsigned i = 0; i < streams; ++i) {
    SLUICE_CHECK(warm_up(lanes[i].stream_for(access, size), access, size));
  }
  std::vector<Status> results(streams);
  std::barrier begin(streams + 1);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < streams; ++i) {
    threads.emplace_back([&, i] {
      Stream& stream = lanes[i].stream_for(access, size);
      begin.arrive_and_wait();
      results[i] = [&]() -> Status {
        for (std::uint64_t n = 0; n < count; ++n) {
          SLUICE_TRY([[maybe_unused]] const double seconds, stream.request(access, size));
        }
        SLUICE_TRY([[maybe_unused]] const double seconds, stream.finish(access));
        return {};
      }();
    });
  }
  const double start = steady_seconds();
  begin.arrive_and_wait();
  threads.clear();
  const double seconds = steady_seconds() - start;
  for (Status& result : results) {
    SLUICE_CHECK(result);
  }
  return std::max(seconds, 1e-9);
}

struct Cell {
  Access access;
  std::uint64_t size = 0;
};

}  // namespace

Result<std::vector<Streams>> compare_streams(const Bench& bench, std::span<const Curve> curves,
                                             double seconds) {
  const double start = steady_seconds();
  SLUICE_TRY(std::vector<Lane> lanes, make_lanes(bench));
  std::vector<Cell> cells;
  for (const std::uint64_t size : {small_request(bench.file), large_request, middle_request}) {
    for (const Access& access : accesses) {
      const bool fits =
          size * most_streams * 2 <= bench.file.size() && size * 4 <= bench.spare / most_streams;
      if (fits && access.mode != Mode::sustained && !curves[index_of(access)].empty()) {
        cells.push_back({.access = access, .size = size});
      }
    }
  }
  std::vector<Streams> out;
  // What matters most first: four streams of everything, then the others, as long as there is time.
  for (const unsigned streams : {4U, 8U, 2U}) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto& [access, size] = cells[i];
      const double left = start + seconds - steady_seconds();
      if (left <= 0) {
        return out;
      }
      const double one = curves[index_of(access)].at(static_cast<double>(size)).seconds;
      // Two hundred requests tell enough.
      const double enough = std::clamp(200 * one, 0.05, 0.4);
      const double slice = std::clamp(left / static_cast<double>(cells.size() - i) / 2, 0.01, enough);
      const auto wanted = static_cast<std::uint64_t>(std::ceil(slice / one / streams));
      const Stream& stream = lanes[0].stream_for(access, size);
      const bool flushed = access.mode == Mode::buffered && access.write;
      const std::uint64_t least = std::max<std::uint64_t>(
          3, flushed && !access.random ? shared_by_flush / size : 2 * stream.ahead(access) / size);
      const std::uint64_t count =
          std::max<std::uint64_t>(3, std::min(std::max(least, wanted), stream.longest(access, size)));
      // One that would take longer than there is time for is left out, and what one stream does must tell.
      if (one * static_cast<double>(count) > left) {
        continue;
      }
      SLUICE_TRY(double together, run(lanes, streams, access, size, count));
      std::uint64_t counted = count;
      if (flushed) {
        // Without what the flushes cost however little there is to flush.
        SLUICE_TRY(const double flushes, run(lanes, streams, access, size, 1));
        together -= std::min(flushes, 0.8 * together);
        counted -= 1;
      }
      out.push_back({.access = access,
                     .size = size,
                     .streams = streams,
                     .seconds = together / static_cast<double>(counted * streams)});
    }
  }
  return out;
}

}  // namespace sluice
