// How fast a place serves a workload, from its traits: IOSIG's Eq. 3. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "intent/intent.h"
#include "places/place.h"

namespace sluice {

// What the forecast needs to know of the intent, with everything left unsaid filled in.
struct Workload {
  Pattern pattern = Pattern::sequential;
  Operation operation = Operation::write;
  std::uint64_t request = std::uint64_t{1} << 20;
  std::vector<std::string> assumed;  // "sequential", "write", "size-per-IO(1M)": what nobody said
};
Workload workload_of(const Intent& intent);

// The numbers of Eq. 3, in bytes, seconds and bytes per second.
struct DeviceModel {
  double read_bandwidth = 0;
  double write_bandwidth = 0;
  double latency = 0;
  double seek = 0;
  double iops = 0;
  double chunk = 0;  // max(page, block)
  // Every number may be off by this factor either way: small when all of them were configured or measured,
  // large when one is a default of its kind of device.
  double doubt = 1;
  std::string doubtful = {};  // the traits behind a large doubt
};
DeviceModel model_of(const Place& place);

struct Throughput {
  double rate = 0;  // bytes per second
  double low = 0;
  double high = 0;
};

// Seconds of one request. A write that is not a multiple of the chunk writes whole chunks and reads one
// first.
double request_seconds(const DeviceModel& model, const Workload& workload);
Throughput throughput(const DeviceModel& model, const Workload& workload);
// The arithmetic of the above for people: "(latency 0.1 ms + ...)".
std::string explain_throughput(const DeviceModel& model, const Workload& workload);

}  // namespace sluice
