#include "tune/model.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::uint64_t block = std::uint64_t{1} << 20;  // what writeback writes, and a copy

Throughput rate_of(const Place& place, const Profiles& profiles, const Workload& workload) {
  const auto known = profiles.find(place.id);
  return forecast(place, known == profiles.end() ? nullptr : &known->second, workload).throughput;
}

Pattern pattern_of(const std::string& seen) {
  return seen == "sequential" || seen.empty() ? Pattern::sequential : Pattern::random;
}

void add(Expected& to, const Throughput& rate, std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  to.seconds += size / rate.rate;
  to.low += size / rate.high;
  to.high += size / rate.low;
}

Workload buffered(Operation operation, Pattern pattern, std::uint64_t request) {
  return {.pattern = pattern,
          .operation = operation,
          .request = std::max<std::uint64_t>(request, 1),
          .stride = 0,
          .mode = Mode::buffered,
          .streams = 1,
          .assumed = {}};
}

}  // namespace

std::optional<Expected> io_on(const FileLoad& load, const Place& place, const Profiles& profiles,
                              bool merged) {
  const LearnedFamily& family = *load.family;
  Expected out;
  if (family.read.bytes > 0) {
    const Workload reads = buffered(Operation::read, pattern_of(family.read.pattern), family.read.typical);
    add(out, rate_of(place, profiles, reads), family.read.bytes);
  }
  if (family.write.bytes > 0) {
    const bool runs_on = merged || family.write.pattern == "sequential";
    Workload writes = buffered(Operation::write, runs_on ? Pattern::sequential : Pattern::random,
                               merged ? std::max(block, family.write.typical) : family.write.typical);
    if (family.syncs > 0) {
      // What is between two flushes reaches the storage together where it lies together.
      writes.mode = Mode::synced;
      const std::uint64_t flushed = std::max<std::uint64_t>(family.write.bytes / family.syncs, 1);
      writes.request = runs_on ? flushed : std::min(flushed, writes.request);
    }
    add(out, rate_of(place, profiles, writes), family.write.bytes);
  }
  return out.seconds > 0 ? std::optional(out) : std::nullopt;
}

Expected way_home(const FileLoad& load, const Place& there, const Place& home, const Profiles& profiles) {
  Expected out;
  const std::uint64_t bytes = load.family->write.bytes;
  add(out, rate_of(there, profiles, buffered(Operation::read, Pattern::sequential, block)), bytes);
  Workload writes = buffered(Operation::write, Pattern::sequential, block);
  if (load.family->syncs > 0) {  // what the program had synced is synced at home, too
    writes.mode = Mode::synced;
    writes.request = std::max<std::uint64_t>(bytes / std::max<std::uint64_t>(load.family->file_count, 1), 1);
  }
  add(out, rate_of(home, profiles, writes), bytes);
  return out;
}

}  // namespace sluice
