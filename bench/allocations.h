// Counts allocations. Replaces operator new of the program, so at most one file of it may include this.
#pragma once

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations = 0;

}  // namespace

// Not inlined: gcc would see malloc and free through them and warn of a mismatch that is none.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace {

// Time and allocations of one call.
template <class Body>
void measure(benchmark::State& state, Body body) {
  const std::size_t before = allocations;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(body());
  }
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(allocations - before), benchmark::Counter::kAvgIterations);
}

}  // namespace
