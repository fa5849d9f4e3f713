#include "cli/predict.h"

#include <algorithm>

namespace sluice {

// Through the page cache, unless the program said otherwise in all of its opens.
Workload workload_of(const FileAccount& file, Operation operation) {
  const bool write = operation == Operation::write;
  const Requests& requests = write ? file.write : file.read;
  const bool synced = file.opened == AreaFile::opened_synced || file.syncs >= requests.calls;
  return {.pattern = requests.pattern == "sequential" ? Pattern::sequential : Pattern::random,
          .operation = operation,
          .request = std::max<std::uint64_t>(requests.typical, 1),
          .stride = 0,
          .mode = file.opened == AreaFile::opened_direct ? Mode::direct
                  : write && synced                      ? Mode::synced
                                                         : Mode::buffered,
          .streams = 1,
          .assumed = {}};
}

void predict(Account& account, const Storage& storage) {
  for (FileAccount& file : account.files) {
    const Place* place = place_of(storage.found, file.path);
    if (place == nullptr || file.read.bytes + file.write.bytes == 0) {
      continue;
    }
    double seconds = 0;
    bool modelled = false;
    bool learned = false;
    for (const Operation operation : {Operation::read, Operation::write}) {
      const std::uint64_t bytes = operation == Operation::write ? file.write.bytes : file.read.bytes;
      if (bytes == 0) {
        continue;
      }
      const Forecast found = forecast(*place, evidence_of(storage, *place), workload_of(file, operation));
      seconds += found.throughput.rate > 0 ? static_cast<double>(bytes) / found.throughput.rate : 0;
      modelled = modelled || (!found.measured && !found.learned);
      learned = learned || found.learned;
    }
    file.predicted = seconds;
    file.predicted_by = modelled ? "traits" : learned ? "learned" : "measured";
    file.place = place->name;
  }
}

}  // namespace sluice
