#include "cli/remember_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>

#include "base/log.h"
#include "base/reach.h"
#include "cli/predict.h"

namespace sluice {
namespace {

// Less is noise, and what a few calls take is no property of the place.
constexpr std::uint64_t least_calls = 16;
constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
constexpr std::size_t most_rows = 32;  // of one run, those that took longest
constexpr double fetched_share = 0.9;  // of what was read, to have come from storage
constexpr std::string_view harmless[] = {"stats", "trace"};

// Whether what the file's calls took was the place's doing: no other stage stood between.
bool was_native(const FileAccount& file, std::span<const Stacked> rules) {
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Stacked& one) { return one.files.matches(file.path); });
  return rule != rules.end() &&
         std::all_of(rule->stages.begin(), rule->stages.end(), [](const std::string& stage) {
           return std::find(std::begin(harmless), std::end(harmless), stage.substr(0, stage.find(':'))) !=
                  std::end(harmless);
         });
}

bool is_memory(const Place& place) {
  return place.media.value_or(Media::unknown) == Media::ram;
}

// What the requests took, with the flushes that belong to them; nothing where that does not tell of the
// place.
std::optional<double> seconds_of(const FileAccount& file, const Workload& workload, const Place& place,
                                 bool reads_fetched) {
  const bool write = workload.operation == Operation::write;
  const Requests& requests = write ? file.write : file.read;
  // Opened in several ways, or before the program began: which request was made how is not known.
  if (requests.bytes == 0 || requests.failures > 0 || !std::has_single_bit(file.opened)) {
    return std::nullopt;
  }
  if (!write) {
    const bool from_storage = workload.mode == Mode::direct || is_memory(place) || reads_fetched;
    return from_storage ? std::optional(requests.seconds) : std::nullopt;
  }
  // What is never flushed was written to memory.
  const bool to_storage = workload.mode == Mode::direct || file.opened == AreaFile::opened_synced ||
                          file.syncs > 0 || is_memory(place);
  return to_storage ? std::optional(requests.seconds + file.sync_seconds) : std::nullopt;
}

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(std::min(seconds * 1e9, 9e18));
}

struct Sum {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double requests = 0;  // of the typical size
  double modelled = 0;
  double predicted = 0;
  double measured = 0;
};

Status add(const Context& context, const std::vector<OutcomeRow>& rows) {
  const Duration patience = context.options.duration("timeout");
  const std::string location = context.options.text("catalog");
  SLUICE_TRY(const std::string where,
             location.empty() ? default_catalog_path() : Result<std::string>(location));
  if (!answers(where, patience)) {
    return fail("the catalog's file system does not answer");
  }
  SLUICE_TRY(const auto catalog, open_catalog(location, Catalog::Mode::write, patience));
  return catalog->add_outcomes(rows, rows.front().taken - outcomes_last);
}

// A catalog that cannot even be read was spoken of before the program began; none may be where there is no
// home.
bool was_said(const Context& context) {
  const std::string location = context.options.text("catalog");
  if (location.empty() && !default_catalog_path()) {
    return true;
  }
  return !open_catalog(location, Catalog::Mode::read, context.options.duration("timeout"));
}

}  // namespace

std::vector<OutcomeRow> outcomes_of(const Account& account, std::span<const Stacked> rules,
                                    const Storage& storage, std::uint64_t fetched) {
  std::uint64_t read = 0;  // through the page cache, from what is not memory itself
  std::vector<std::pair<const FileAccount*, const Place*>> files;
  for (const FileAccount& file : account.files) {
    const Place* place = place_of_data(storage.found, file.path);
    const bool direct = workload_of(file, Operation::read).mode == Mode::direct;
    read += direct || (place != nullptr && is_memory(*place)) ? 0 : file.read.bytes;
    if (place != nullptr && was_native(file, rules)) {
      files.emplace_back(&file, place);
    }
  }
  const bool reads_fetched = static_cast<double>(fetched) >= fetched_share * static_cast<double>(read);
  using Key = std::tuple<const Place*, Operation, Mode, Pattern, int>;
  std::map<Key, Sum> sums;
  for (const auto& [file, place] : files) {
    for (const Operation operation : {Operation::read, Operation::write}) {
      const Workload workload = workload_of(*file, operation);
      const auto seconds = seconds_of(*file, workload, *place, reads_fetched);
      if (!seconds) {
        continue;
      }
      const Requests& requests = operation == Operation::write ? file->write : file->read;
      const auto bytes = static_cast<double>(requests.bytes);
      const Forecast found = forecast(*place, evidence_of(storage, *place), workload);
      Sum& sum = sums[{place, operation, workload.mode, workload.pattern, std::bit_width(workload.request)}];
      sum.calls += requests.calls;
      sum.bytes += requests.bytes;
      sum.requests += bytes / static_cast<double>(workload.request);
      sum.modelled += bytes / found.uncorrected.rate;
      sum.predicted += bytes / found.throughput.rate;
      sum.measured += *seconds;
    }
  }
  std::vector<OutcomeRow> out;
  for (const auto& [key, sum] : sums) {
    const auto& [place, operation, mode, pattern, size] = key;
    if (sum.calls < least_calls || sum.bytes < least_bytes || sum.measured <= 0) {
      continue;
    }
    out.push_back({.run = 0,
                   .taken = std::time(nullptr),
                   .program = {},
                   .place = place->id,
                   .operation = operation == Operation::write ? "write" : "read",
                   .mode = std::string(print(mode)),
                   .pattern = pattern == Pattern::random ? "random" : "sequential",
                   .request = std::max<std::uint64_t>(
                       1, static_cast<std::uint64_t>(static_cast<double>(sum.bytes) / sum.requests)),
                   .bytes = sum.bytes,
                   .modelled = nanoseconds(sum.modelled),
                   .predicted = nanoseconds(sum.predicted),
                   .measured = nanoseconds(sum.measured)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const OutcomeRow& a, const OutcomeRow& b) { return a.measured > b.measured; });
  out.resize(std::min(out.size(), most_rows));
  return out;
}

void remember_run(const Context& context, const Account& account, std::span<const Stacked> rules,
                  const Storage& storage, std::uint64_t fetched) {
  if (context.options.text("corrections") != "on") {
    return;
  }
  std::vector<OutcomeRow> rows = outcomes_of(account, rules, storage, fetched);
  if (rows.empty()) {
    return;
  }
  for (OutcomeRow& row : rows) {
    row.program = std::filesystem::path(context.options.operands().front()).filename().string();
  }
  if (const Status added = add(context, rows); !added && !was_said(context)) {
    log::warn("run: what it took is not remembered, and corrects no forecast: {}", added.error().text());
  }
}

}  // namespace sluice
