#include "forecast/throughput.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sluice {
namespace {

// What one operation kind costs: the terms of Eq. 3.
struct Cost {
  double latency = 0;  // with the seek, where there is one
  double flush = 0;    // seconds, of a flush after it
  double moved = 0;    // bytes, whole chunks
  double busy = 0;     // seconds in which they move, and no others can
  double seconds = 0;
  double iops = 0;  // the device's limit for such requests
  bool amplified = false;
};

// A file system that keeps a journal writes what changed there, and that this is whole: two requests
// elsewhere.
constexpr int requests_of_flush = 2;

Cost cost(const DeviceModel& model, const Workload& workload, bool writes) {
  const auto size = static_cast<double>(workload.request);
  const double moved = std::ceil(size / model.chunk) * model.chunk;
  // Only a write has to read the rest of its last chunk first.
  const bool amplified = writes && moved != size;
  const bool seeks = workload.pattern == Pattern::random || workload.gap() > 0 || workload.streams > 1;
  const double latency = model.latency + (seeks ? model.seek : 0);
  const int flushing = writes && workload.mode == Mode::synced ? requests_of_flush : 0;
  const double flush = flushing * (model.latency + model.seek);
  const double busy = moved / (writes ? model.write_bandwidth : model.read_bandwidth) +
                      (amplified ? model.chunk / model.read_bandwidth : 0);
  return {.latency = latency,
          .flush = flush,
          .moved = moved,
          .busy = busy,
          .seconds = latency + busy + flush,
          .iops = model.iops / (1 + (amplified ? 1 : 0) + flushing),
          .amplified = amplified};
}

double limited_seconds(const Cost& cost, unsigned streams) {
  return std::max({cost.seconds / streams, cost.busy, 1 / cost.iops});
}

constexpr double doubt_of_stated = 1.25;
constexpr double doubt_of_default = 3;
constexpr double doubt_of_buffered = 10;  // memory may take it all, or none
constexpr double doubt_of_synced = 3;     // no trait says whether there is a journal, or a cache that is safe

}  // namespace

Workload workload_of(const Intent& intent, const Usage& usage) {
  Workload out;
  if (const auto pattern = intent.pattern()) {
    out.pattern = *pattern;
  } else {
    out.assumed.emplace_back("sequential");
  }
  if (const auto operation = intent.operation()) {
    out.operation = *operation;
  } else {
    out.assumed.emplace_back("write");
  }
  if (const auto request = intent.request_size()) {
    out.request = *request;
  } else {
    out.assumed.push_back(fmt::format("size-per-IO({})", print_size(out.request)));
  }
  out.stride = intent.stride().value_or(0);
  if (intent.is("sync")) {
    out.mode = Mode::synced;
  } else if (usage.mode) {
    out.mode = *usage.mode;
  } else {
    out.assumed.emplace_back("--io direct");
  }
  if (usage.streams) {
    out.streams = *usage.streams;
  } else {
    out.assumed.emplace_back("--streams 1");
  }
  return out;
}

DeviceModel model_of(const Place& place) {
  DeviceModel out;
  std::vector<std::string> defaults;
  const auto take = [&](const auto& trait, const char* name) {
    if (!trait || trait.source == Source::fallback) {
      defaults.emplace_back(name);
    }
    using T = std::decay_t<decltype(*trait)>;
    if constexpr (std::is_same_v<T, Duration>) {
      return trait ? (*trait).in_seconds() : 0.0;
    } else {
      return trait ? static_cast<double>(*trait) : 0.0;
    }
  };
  // Zero would divide by zero and no device does 1e18; between them every forecast is a finite number.
  const auto bounded = [](double value) { return std::clamp(value, 1.0, 1e18); };
  out.read_bandwidth = bounded(take(place.read_bandwidth, "read-bandwidth"));
  out.write_bandwidth = bounded(take(place.write_bandwidth, "write-bandwidth"));
  out.latency = take(place.latency, "latency");
  out.seek = take(place.seek, "seek-latency");
  out.iops = bounded(take(place.iops, "max-iops"));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  out.chunk = std::max(page, static_cast<double>(place.block.value_or(0)));
  out.doubt = defaults.empty() ? doubt_of_stated : doubt_of_default;
  out.doubtful = join(defaults, ", ");
  return out;
}

double request_seconds(const DeviceModel& model, const Workload& workload) {
  const auto seconds = [&](bool writes) {
    return limited_seconds(cost(model, workload, writes), workload.streams);
  };
  switch (workload.operation) {
    case Operation::read:
      return seconds(false);
    case Operation::write:
      return seconds(true);
    case Operation::readwrite:
      return (seconds(false) + seconds(true)) / 2;
  }
  return 0;
}

Throughput throughput(const DeviceModel& model, const Workload& workload) {
  const double rate = static_cast<double>(workload.request) / request_seconds(model, workload);
  const double doubt = workload.mode == Mode::buffered ? std::max(model.doubt, doubt_of_buffered)
                       : workload.mode == Mode::synced ? std::max(model.doubt, doubt_of_synced)
                                                       : model.doubt;
  return {.rate = rate, .low = rate / doubt, .high = rate * doubt};
}

std::string explain_throughput(const DeviceModel& model, const Workload& workload) {
  const auto terms = [&](bool writes) {
    const Cost one = cost(model, workload, writes);
    std::string out = fmt::format("{} of {}: {} latency + {} at {}", writes ? "write" : "read",
                                  human_size(workload.request), human_duration(one.latency),
                                  human_size(static_cast<std::uint64_t>(one.moved)),
                                  human_rate(writes ? model.write_bandwidth : model.read_bandwidth));
    if (one.amplified) {
      out += fmt::format(" + a read of {} (not a multiple of it)",
                         human_size(static_cast<std::uint64_t>(model.chunk)));
    }
    if (one.flush > 0) {
      out += fmt::format(" + {} for a flush", human_duration(one.flush));
    }
    out += fmt::format(" = {}", human_duration(one.seconds));
    if (workload.streams > 1) {
      out += fmt::format(", {} streams at once", workload.streams);
    }
    const double share = one.seconds / workload.streams;
    if (1 / one.iops > std::max(share, one.busy)) {
      out += fmt::format(", held to {:.0f} IOPS", one.iops);
    } else if (one.busy > share) {
      out += ", held to the bandwidth";
    }
    if (workload.mode == Mode::buffered) {
      out += "; the page cache is not modelled";
    }
    return out;
  };
  switch (workload.operation) {
    case Operation::read:
      return terms(false);
    case Operation::write:
      return terms(true);
    case Operation::readwrite:
      return terms(false) + "; " + terms(true);
  }
  return {};
}

}  // namespace sluice
