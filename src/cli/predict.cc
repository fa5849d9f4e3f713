#include "cli/predict.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace sluice {
namespace {

// Between two flushes, from which on the flush hardly counts beside them.
constexpr std::uint64_t stream_bytes = std::uint64_t{16} << 20;

}  // namespace

// Through the page cache, unless the program said otherwise in all of its opens. What is written one after
// another between two flushes counts as one synced request, as long as the flush is a good part of what that
// takes: such a file is no stream, and tells nothing of one.
Workload workload_of(const FileAccount& file, Operation operation) {
  const bool write = operation == Operation::write;
  const Requests& requests = write ? file.write : file.read;
  const bool each = file.opened == AreaFile::opened_synced || file.syncs >= requests.calls;
  const bool groups =
      !each && file.syncs > 0 &&
      (requests.pattern == "sequential" ? requests.bytes / file.syncs < stream_bytes
                                        : file.syncs > std::max<std::uint64_t>(file.opens, 1));
  const std::uint64_t between = write && groups ? requests.bytes / file.syncs : 0;
  return {.pattern = requests.pattern == "sequential" ? Pattern::sequential : Pattern::random,
          .operation = operation,
          .request = std::max<std::uint64_t>({requests.typical, between, 1}),
          .stride = 0,
          .mode = file.opened == AreaFile::opened_direct ? Mode::direct
                  : write && (each || groups)            ? Mode::synced
                                                         : Mode::buffered,
          .streams = 1,
          .assumed = {}};
}

const Place* place_of_data(const Discovery& found, const std::string& path) {
  const Place* place = place_of(found, path);
  if (place == nullptr || place->reach != Reach::reachable) {
    return nullptr;
  }
  std::error_code trouble;
  const std::string real = std::filesystem::weakly_canonical(path, trouble).string();
  place = trouble ? nullptr : place_of(found, real);
  return place != nullptr && place->reach == Reach::reachable ? place : nullptr;
}

namespace {

void predict(std::vector<FileAccount>& files, const Storage& storage) {
  for (FileAccount& file : files) {
    const Place* place = place_of_data(storage.found, file.path);
    if (place == nullptr || file.read.bytes + file.write.bytes == 0) {
      continue;
    }
    double seconds = 0;
    double low = 0;
    double high = 0;
    bool modelled = false;
    bool learned = false;
    for (const Operation operation : {Operation::read, Operation::write}) {
      const std::uint64_t bytes = operation == Operation::write ? file.write.bytes : file.read.bytes;
      if (bytes == 0) {
        continue;
      }
      const Forecast found = forecast(*place, evidence_of(storage, *place), workload_of(file, operation));
      const double rate = found.throughput.rate;
      const auto taken = [&](double at) {
        return at > 0 ? static_cast<double>(bytes) / at : rate > 0 ? static_cast<double>(bytes) / rate : 0;
      };
      seconds += taken(rate);
      low += taken(found.throughput.high);
      high += taken(found.throughput.low);
      modelled = modelled || (!found.measured && !found.learned);
      learned = learned || found.learned;
    }
    file.predicted = seconds;
    file.predicted_low = low;
    file.predicted_high = high;
    file.predicted_by = modelled ? "traits" : learned ? "learned" : "measured";
    file.place = place->name;
  }
}

}  // namespace

void predict(Account& account, const Storage& storage) {
  predict(account.files, storage);
  for (PointAccount& point : account.points) {
    predict(point.files, storage);
  }
}

}  // namespace sluice
