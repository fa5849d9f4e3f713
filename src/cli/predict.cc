#include "cli/predict.h"

#include <algorithm>

#include "forecast/measured.h"

namespace sluice {
namespace {

struct Cost {
  double seconds = 0;
  bool modelled = false;
};

void add(Cost& cost, const Requests& requests, Operation operation, const Place& place,
         const Profile* profile) {
  if (requests.bytes == 0) {
    return;
  }
  // Through the page cache, as programs do that say nothing else.
  const Workload workload{.pattern = requests.pattern == "sequential" ? Pattern::sequential : Pattern::random,
                          .operation = operation,
                          .request = std::max<std::uint64_t>(requests.typical, 1),
                          .stride = 0,
                          .mode = Mode::buffered,
                          .streams = 1,
                          .assumed = {}};
  const auto found = profile == nullptr ? std::nullopt : measured_throughput(*profile, workload);
  const Throughput rate = found ? *found : throughput(model_of(place), workload);
  cost.modelled = cost.modelled || !found;
  cost.seconds += rate.rate > 0 ? static_cast<double>(requests.bytes) / rate.rate : 0;
}

}  // namespace

void predict(Account& account, const Storage& storage) {
  for (FileAccount& file : account.files) {
    const Place* place = place_of(storage.found, file.path);
    if (place == nullptr || file.read.bytes + file.write.bytes == 0) {
      continue;
    }
    const auto known = storage.profiles.find(place->id);
    const Profile* profile =
        known != storage.profiles.end() && known->second.profile ? &*known->second.profile : nullptr;
    Cost cost;
    add(cost, file.read, Operation::read, *place, profile);
    add(cost, file.write, Operation::write, *place, profile);
    file.predicted = cost.seconds;
    file.predicted_by = cost.modelled ? "traits" : "measured";
    file.place = place->name;
  }
}

}  // namespace sluice
