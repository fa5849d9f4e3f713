#include "run/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "pipeline/heard.h"

namespace sluice {
namespace {

constexpr std::size_t most_shown = 12;  // files in the table

// Counts of one file, of all of its rows.
struct Sum {
  FileAccount file;
  std::array<std::array<std::uint64_t, area_size_classes>, 2> sizes = {};
  struct Pattern {
    std::uint64_t sequential = 0;
    std::uint64_t strided = 0;
    std::uint64_t random = 0;
  };
  std::array<Pattern, 2> patterns = {};
  std::uint32_t heard = 0;
};

void add(Sum& sum, const AreaFile& row) {
  constexpr double second = 1e9;
  sum.file.opens += row.calls[SLUICE_OPEN];
  sum.file.syncs += row.calls[SLUICE_SYNC];
  sum.heard = later(sum.heard, row.heard);
  for (unsigned i = 0; i < SLUICE_OPERATIONS; ++i) {
    sum.file.failures += row.failures[i];
    sum.file.seconds += static_cast<double>(row.nanoseconds[i]) / second;
  }
  for (const bool write : {false, true}) {
    const auto operation = write ? SLUICE_WRITE : SLUICE_READ;
    Requests& requests = write ? sum.file.write : sum.file.read;
    const Traffic& traffic = row.traffic[write ? 1 : 0];
    requests.calls += row.calls[operation];
    requests.failures += row.failures[operation];
    requests.bytes += traffic.bytes;
    requests.seconds += static_cast<double>(row.nanoseconds[operation]) / second;
    for (std::size_t i = 0; i < area_size_classes; ++i) {
      sum.sizes[write ? 1 : 0][i] += traffic.sizes[i];
    }
    Sum::Pattern& pattern = sum.patterns[write ? 1 : 0];
    pattern.sequential += traffic.sequential;
    pattern.strided += traffic.strided;
    pattern.random += traffic.random;
  }
}

// What most of them are; a tenth may be otherwise.
std::string pattern_of(const Sum::Pattern& pattern) {
  const std::uint64_t all = pattern.sequential + pattern.strided + pattern.random;
  const auto most = [&](std::uint64_t count) { return count * 10 >= all * 9; };
  return all == 0                       ? ""
         : most(pattern.sequential)     ? "sequential"
         : most(pattern.strided)        ? "strided"
         : pattern.sequential * 2 < all ? "random"
                                        : "mixed";
}

// The upper end of the class in which the median lies.
std::uint64_t typical_of(const std::array<std::uint64_t, area_size_classes>& sizes,
                         const Requests& requests) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : sizes) {
    all += count;
  }
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    seen += sizes[i];
    if (all > 0 && seen * 2 >= all) {
      // All in one class: their mean is better than its end.
      return sizes[i] == all ? requests.bytes / all : i == 0 ? 0 : std::uint64_t{1} << (i - 1);
    }
  }
  return 0;
}

// Words in the order in which an intent is printed.
std::string intent_of(std::uint32_t heard) {
  std::string out;
  for (const HeardWord& word : heard_words) {
    if ((heard & word.bit) != 0) {
      out += fmt::format("{}{}", out.empty() ? "" : " ", word.text);
    }
  }
  return out;
}

std::string describe(const Requests& requests) {
  return requests.calls == 0
             ? "-"
             : fmt::format("{} x {} {}", requests.calls, human_size(requests.typical), requests.pattern);
}

// What comes from traits alone is marked.
std::string predicted_text(const FileAccount& file) {
  return !file.predicted                   ? "-"
         : file.predicted_by == "measured" ? human_duration(*file.predicted)
                                           : fmt::format("~{}", human_duration(*file.predicted));
}

Json requests_json(const Requests& requests) {
  return {{"calls", requests.calls},     {"failures", requests.failures}, {"bytes", requests.bytes},
          {"seconds", requests.seconds}, {"typical", requests.typical},   {"pattern", requests.pattern}};
}

}  // namespace

Account account_of(Area& area, double seconds) {
  std::map<std::string, Sum, std::less<>> sums;
  for (const AreaFile& row : area.all_files()) {
    if (row.state == 2) {
      add(sums[std::string(area.path_of(row))], row);
    }
  }
  Account out{
      .files = {},
      .processes = area.processes,
      .left_out = area.left_out,
      .unmanaged = area.unmanaged,
      .kept = {.writes = area.kept_writes, .bytes = area.kept_bytes, .flushes = area.kept_flushes},
      .fetched = {.pieces = area.fetches, .bytes = area.fetched_bytes},
      .small = {.files = area.pending_made, .bytes = area.pending_bytes, .removed = area.pending_dropped},
      .seconds = seconds};
  for (auto& [path, sum] : sums) {
    // One that was inherited and only closed again tells nothing.
    if (sum.file.opens + sum.file.read.calls + sum.file.write.calls + sum.file.syncs + sum.file.failures ==
        0) {
      continue;
    }
    sum.file.path = path;
    sum.file.read.typical = typical_of(sum.sizes[0], sum.file.read);
    sum.file.write.typical = typical_of(sum.sizes[1], sum.file.write);
    sum.file.read.pattern = pattern_of(sum.patterns[0]);
    sum.file.write.pattern = pattern_of(sum.patterns[1]);
    sum.file.heard = intent_of(sum.heard);
    out.files.push_back(std::move(sum.file));
  }
  std::stable_sort(out.files.begin(), out.files.end(),
                   [](const FileAccount& a, const FileAccount& b) { return a.seconds > b.seconds; });
  return out;
}

std::string done_text(const Account& account) {
  const KeptAccount& kept = account.kept;
  std::string out;
  if (kept.writes > 0) {
    out += fmt::format("sluice: {} writes of {} in all were merged into {}\n", kept.writes,
                       human_size(kept.bytes), kept.flushes);
  }
  if (account.fetched.pieces > 0) {
    out += fmt::format("sluice: {} were fetched ahead in {} piece{}\n", human_size(account.fetched.bytes),
                       account.fetched.pieces, account.fetched.pieces == 1 ? "" : "s");
  }
  if (const SmallAccount& small = account.small; small.files > 0) {
    out +=
        fmt::format("sluice: {} small file{} of {} in all {} kept in memory at first", small.files,
                    small.files == 1 ? "" : "s", human_size(small.bytes), small.files == 1 ? "was" : "were");
    out += small.removed == 0 ? "\n" : fmt::format(", {} until removed\n", small.removed);
  }
  return out;
}

std::string account_text(const Account& account, const Style& style) {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  double seconds = 0;
  for (const FileAccount& file : account.files) {
    read += file.read.bytes;
    written += file.write.bytes;
    seconds += file.seconds;
  }
  std::string out = fmt::format("sluice: {} file{}, {} read, {} written, {} in I/O of {} ({} process{})\n",
                                account.files.size(), account.files.size() == 1 ? "" : "s", human_size(read),
                                human_size(written), human_duration(seconds), human_duration(account.seconds),
                                account.processes, account.processes == 1 ? "" : "es");
  if (account.left_out > 0) {
    out += fmt::format("sluice: {} opens were not counted: too many files\n", account.left_out);
  }
  if (account.unmanaged > 0) {
    out += fmt::format("sluice: {} opens passed no stage: too many files were open at once\n",
                       account.unmanaged);
  }
  if (account.files.empty()) {
    return out;
  }
  const std::size_t shown = std::min(account.files.size(), most_shown);
  const bool heard =
      std::any_of(account.files.begin(), account.files.begin() + static_cast<std::ptrdiff_t>(shown),
                  [](const FileAccount& file) { return !file.heard.empty(); });
  std::vector<Column> columns = {{.title = "FILE", .shrink = Shrink::middle},
                                 {.title = "TIME", .align = Align::right},
                                 {.title = "PREDICTED", .align = Align::right, .drop = 4},
                                 {.title = "READS"},
                                 {.title = "WRITES"},
                                 {.title = "SYNCS", .align = Align::right, .drop = 1},
                                 {.title = "FAILED", .align = Align::right, .drop = 2}};
  if (heard) {
    columns.push_back({.title = "HEARD", .shrink = Shrink::end, .drop = 3});
  }
  Table table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) {
    const FileAccount& file = account.files[i];
    std::vector<std::string> cells = {
        escape(file.path),    human_duration(file.seconds), predicted_text(file),         describe(file.read),
        describe(file.write), std::to_string(file.syncs),   std::to_string(file.failures)};
    if (heard) {
      cells.push_back(file.heard.empty() ? "-" : file.heard);
    }
    table.add(std::move(cells), file.failures > 0 ? Colour::yellow : Colour::plain);
  }
  out += table.print(style);
  if (std::any_of(account.files.begin(), account.files.end(),
                  [](const FileAccount& file) { return file.predicted_by == "traits"; })) {
    out += "~ is modelled from traits and knows nothing of the page cache; `sluice profile` measures\n";
  }
  if (account.files.size() > most_shown) {
    out += fmt::format("and {} more\n", account.files.size() - most_shown);
  }
  return out;
}

Json account_json(const Account& account) {
  Json files = Json::array();
  for (const FileAccount& file : account.files) {
    files.push_back({{"path", file.path},
                     {"opens", file.opens},
                     {"read", requests_json(file.read)},
                     {"write", requests_json(file.write)},
                     {"syncs", file.syncs},
                     {"failures", file.failures},
                     {"predicted", file.predicted ? Json(*file.predicted) : Json()},
                     {"predicted_by", file.predicted_by},
                     {"place", file.place},
                     {"seconds", file.seconds},
                     {"heard", file.heard}});
  }
  return {
      {"files", std::move(files)},
      {"processes", account.processes},
      {"left_out", account.left_out},
      {"unmanaged", account.unmanaged},
      {"kept",
       {{"writes", account.kept.writes}, {"bytes", account.kept.bytes}, {"flushes", account.kept.flushes}}},
      {"fetched", {{"pieces", account.fetched.pieces}, {"bytes", account.fetched.bytes}}},
      {"small",
       {{"files", account.small.files}, {"bytes", account.small.bytes}, {"removed", account.small.removed}}},
      {"seconds", account.seconds}};
}

}  // namespace sluice
