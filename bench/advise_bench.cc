// What a plan over 1000 places costs in time and allocations, by traits, by profiles, and by corrected ones.
#include <fmt/format.h>

#include "allocations.h"
#include "base/json.h"
#include "intent/parse.h"
#include "plan/json.h"
#include "plan/plan.h"

namespace {

using sluice::Place;

template <class T>
sluice::Trait<T> stated(T value) {
  return {.value = std::move(value), .source = sluice::Source::configuration, .detail = "bench"};
}

// All of them can take the data, so that all are forecast.
std::vector<Place> thousand() {
  std::vector<Place> out;
  for (unsigned i = 0; i < 1000; ++i) {
    Place place;
    place.name = fmt::format("place{}", i);
    place.path = fmt::format("/mnt/somewhere/{}", place.name);
    place.id = fmt::format("0a1b2c3d-0000-4000-8000-{:012}", i);
    place.writable = true;
    place.media = stated(sluice::Media::hdd);
    place.read_bandwidth = stated(1e8 + i);
    place.write_bandwidth = stated(9e7 + i);
    place.latency = stated(sluice::Duration(0, 100'000 + i));
    place.seek = stated(sluice::Duration(0, 8'000'000));
    place.iops = stated(100.0);
    place.block = stated<std::uint64_t>(4096);
    place.capacity = stated(std::uint64_t{1} << 40);
    place.free = stated(std::uint64_t{1} << 39);
    place.is_volatile = stated(false);
    place.global = stated(false);
    place.mttf = stated(sluice::Duration(315'360'000, 0));
    place.mttr = stated(sluice::Duration(86'400, 0));
    place.ber = stated(1e-6);
    place.ecc_bits = stated<std::uint64_t>(2);
    place.sector_bits = stated<std::uint64_t>(512);
    place.layout = stated(*sluice::parse_layout("raid1:2"));
    out.push_back(std::move(place));
  }
  return out;
}

// With as many points and bends as a profile has after some seconds of measuring.
sluice::Profiles measured(const std::vector<Place>& places) {
  sluice::Profiles out;
  for (const Place& place : places) {
    sluice::Profile profile;
    profile.place = place.name;
    for (std::size_t i = 0; i < sluice::access_count; ++i) {
      std::vector<sluice::Measured> points;
      for (std::uint64_t size = 512; size <= std::uint64_t{64} << 20; size *= 2) {
        const double seconds = 1e-4 + static_cast<double>(size) / 1e8 + (size > 65536 ? 1e-3 : 0);
        points.push_back({.size = size, .seconds = seconds, .half = seconds / 50, .repetitions = 8});
      }
      profile.curves[i] = sluice::fit(std::move(points), {});
    }
    out[place.id].profile = std::move(profile);
  }
  return out;
}

const sluice::Intent& intent() {
  static const sluice::Intent out =
      *sluice::parse_intent("persist random write size-per-IO(512K) totalsize(1GB) MTTDL(1y)");
  return out;
}

void traits(benchmark::State& state) {
  const auto places = thousand();
  measure(state, [&] { return sluice::make_plan(intent(), places); });
}
BENCHMARK(traits)->Unit(benchmark::kMillisecond);

void profiles(benchmark::State& state) {
  const auto places = thousand();
  const auto known = measured(places);
  measure(state, [&] { return sluice::make_plan(intent(), places, known); });
}
BENCHMARK(profiles)->Unit(benchmark::kMillisecond);

void corrected(benchmark::State& state) {
  const auto places = thousand();
  auto known = measured(places);
  const auto kind = sluice::kind_of(sluice::workload_of(intent()));
  for (auto& [id, evidence] : known) {
    evidence.corrections.set(kind, {.factor = 1.3, .spread = 0.2, .weight = 8, .runs = 12});
  }
  measure(state, [&] { return sluice::make_plan(intent(), places, known); });
}
BENCHMARK(corrected)->Unit(benchmark::kMillisecond);

void json(benchmark::State& state) {
  const auto places = thousand();
  const auto plan = sluice::make_plan(intent(), places);
  measure(state, [&] { return sluice::write_json(sluice::to_json(plan), 2); });
}
BENCHMARK(json)->Unit(benchmark::kMillisecond);

}  // namespace
