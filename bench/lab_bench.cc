// What a request costs inside an emulated device: timing, bytes and faults, without FUSE.
#include "allocations.h"
#include "lab/device.h"

namespace {

namespace lab = sluice::lab;

constexpr std::uint64_t size = 64 << 20;

lab::Device make(const char* preset) {
  return {*lab::load_model(preset), *lab::Platter::create(*lab::memory_store(size), size)};
}

void request(benchmark::State& state, const char* preset, bool write) {
  lab::Device device = make(preset);
  const std::vector<std::byte> data(4096);
  lab::Instant now = std::chrono::seconds(1);
  lab::Answer answer;
  std::uint64_t id = 0;
  measure(state, [&] {
    const std::uint64_t offset = ++id * 7919 % (size / 4096) * 4096;
    write ? device.write(id, offset, data, now) : device.read(id, offset, 4096, now);
    while (!device.next(now, answer)) {
      now = device.next_event();
    }
    device.recycle(std::move(answer.data));
    answer.data = {};
    return answer.error;
  });
}

BENCHMARK_CAPTURE(request, none_read, "none", false);
BENCHMARK_CAPTURE(request, none_write, "none", true);
BENCHMARK_CAPTURE(request, hdd_read, "hdd", false);
BENCHMARK_CAPTURE(request, ssd_read, "ssd", false);

}  // namespace
