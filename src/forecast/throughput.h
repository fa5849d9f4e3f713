// How fast a place serves a workload, from its traits: IOSIG's Eq. 3. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "intent/intent.h"
#include "places/place.h"
#include "profile/access.h"

namespace sluice {

// How the requests are made, where somebody said more than the words of an intent can.
struct Usage {
  std::optional<Mode> mode;
  std::optional<unsigned> streams;
};

// What the forecast needs to know of the intent, with everything left unsaid filled in.
struct Workload {
  Pattern pattern = Pattern::sequential;
  Operation operation = Operation::write;
  std::uint64_t request = std::uint64_t{1} << 20;
  std::uint64_t stride = 0;  // strided: from the start of one request to the start of the next
  Mode mode = Mode::direct;
  unsigned streams = 1;              // at once, each as described
  std::vector<std::string> assumed;  // "sequential", "size-per-IO(1M)", "--io direct": what nobody said

  // What strided requests leave out between two of them; none makes them sequential.
  [[nodiscard]] std::uint64_t gap() const {
    return pattern == Pattern::strided && stride > request ? stride - request : 0;
  }
};
// `sync` means synced. Without it and without a mode in `usage`, requests are direct: one after another, each
// waits for the storage, which is what Eq. 3 describes. REQUIRES: `usage` does not contradict `sync`.
Workload workload_of(const Intent& intent, const Usage& usage = {});

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

// Seconds from one request's end to the next one's, of all streams together. A write that is not a multiple
// of the chunk writes whole chunks and reads one first. Several streams share bandwidth and IOPS, and make a
// device that seeks do so between them, also when each is sequential. A write that is flushed costs two more
// requests, for the file system's journal. The page cache is not modelled: a
// buffered request costs what a direct one does, give or take much more.
double request_seconds(const DeviceModel& model, const Workload& workload);
Throughput throughput(const DeviceModel& model, const Workload& workload);
// The arithmetic of the above for people: "(latency 0.1 ms + ...)".
std::string explain_throughput(const DeviceModel& model, const Workload& workload);

}  // namespace sluice
