#include "run/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "pipeline/heard.h"
#include "trace/pattern.h"
#include "trace/text.h"

namespace sluice {
namespace {

constexpr std::size_t most_shown = 12;          // files in the table
constexpr std::size_t width_with_bounds = 120;  // of a terminal on which what is predicted has them

// Counts of one file, of all of its rows.
struct Sum {
  FileAccount file;
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
  sum.file.sync_seconds += static_cast<double>(row.nanoseconds[SLUICE_SYNC]) / second;
  sum.file.opened |= row.opened;
  sum.heard = later(sum.heard, row.heard);
  for (unsigned i = 0; i < SLUICE_OPERATIONS; ++i) {
    CallSum& calls = sum.file.calls[i];
    const double seconds = static_cast<double>(row.nanoseconds[i]) / second;
    calls.calls += row.calls[i];
    calls.failures += row.failures[i];
    calls.seconds += seconds;
    sum.file.failures += row.failures[i];
    sum.file.seconds += seconds;
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
      requests.sizes[i] += traffic.sizes[i];
    }
    Sum::Pattern& pattern = sum.patterns[write ? 1 : 0];
    pattern.sequential += traffic.sequential;
    pattern.strided += traffic.strided;
    pattern.random += traffic.random;
  }
}

// The smallest size of a class.
std::uint64_t least_of(std::size_t bits) {
  return bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
}

// The lower end of the class in which the median lies: a power of two, as most sizes are.
std::uint64_t typical_of(const Requests& requests) {
  const auto& sizes = requests.sizes;
  std::uint64_t all = 0;
  for (const std::uint64_t count : sizes) {
    all += count;
  }
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    seen += sizes[i];
    if (all > 0 && seen * 2 >= all) {
      // All in one class: their mean is better than its end.
      return sizes[i] == all ? requests.bytes / all : least_of(i);
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
  return requests.calls == 0 ? "-"
                             : fmt::format("{} x {}{}{}", requests.calls, human_size(requests.typical),
                                           requests.pattern.empty() ? "" : " ", requests.pattern);
}

// What no profile alone says is marked.
std::string predicted_text(const FileAccount& file, bool bounds) {
  return !file.predicted ? "-"
                         : fmt::format("{}{}{}", file.predicted_by == "measured" ? "" : "~",
                                       human_duration(*file.predicted),
                                       bounds ? fmt::format(" ({} to {})", human_duration(file.predicted_low),
                                                            human_duration(file.predicted_high))
                                              : "");
}

Json requests_json(const Requests& requests) {
  Json sizes = Json::array();
  for (std::size_t i = 0; i < requests.sizes.size(); ++i) {
    if (requests.sizes[i] > 0) {
      sizes.push_back({{"from", least_of(i)}, {"calls", requests.sizes[i]}});
    }
  }
  return {{"calls", requests.calls},     {"failures", requests.failures}, {"bytes", requests.bytes},
          {"seconds", requests.seconds}, {"typical", requests.typical},   {"pattern", requests.pattern},
          {"sizes", std::move(sizes)}};
}

std::string_view name_of(std::size_t operation) {
  return print(static_cast<sluice_operation>(operation));
}

// Those that there were.
Json calls_json(const CallsByOperation& all) {
  Json out = Json::object();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const CallSum& calls = all[i]; calls.calls > 0) {
      out[std::string(name_of(i))] = {
          {"calls", calls.calls}, {"failures", calls.failures}, {"seconds", calls.seconds}};
    }
  }
  return out;
}

bool has_calls(const FileAccount& file) {
  return std::any_of(file.calls.begin(), file.calls.end(), [](const CallSum& one) { return one.calls > 0; });
}

CallsByOperation calls_of(const std::vector<FileAccount>& files, const FileAccount& others) {
  CallsByOperation out = others.calls;
  for (const FileAccount& file : files) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].calls += file.calls[i].calls;
      out[i].failures += file.calls[i].failures;
      out[i].seconds += file.calls[i].seconds;
    }
  }
  return out;
}

using Sums = std::map<std::string, Sum, std::less<>>;

// With what follows from the counts.
FileAccount whole(Sum&& sum) {
  FileAccount out = std::move(sum.file);
  out.read.typical = typical_of(out.read);
  out.write.typical = typical_of(out.write);
  const auto& [read, write] = sum.patterns;
  out.read.pattern = pattern_of(read.sequential, read.strided, read.random);
  out.write.pattern = pattern_of(write.sequential, write.strided, write.random);
  out.heard = intent_of(sum.heard);
  return out;
}

std::vector<FileAccount> files_of(Sums&& sums) {
  std::vector<FileAccount> out;
  for (auto& [path, sum] : sums) {
    // One that was inherited and only closed again tells nothing.
    if (sum.file.opens + sum.file.read.calls + sum.file.write.calls + sum.file.syncs + sum.file.failures ==
        0) {
      continue;
    }
    out.push_back(whole(std::move(sum)));
    out.back().path = path;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const FileAccount& a, const FileAccount& b) { return a.seconds > b.seconds; });
  return out;
}

// A trace is counted as the stage stats counts calls.
class TraceCount {
 public:
  void add(const TraceEvent& event, const std::string& path) {
    Open* open = event.file == 0 ? nullptr : &open_[event.file];
    if (event.operation == TraceEvent::open) {
      positions_.offset_of(event);
      AreaFile& row = rows_[path];
      if (open != nullptr) {
        open->row = &row;
      }
      if (event.flags != TraceEvent::was_open) {
        count(row, event);
      }
    } else if (open != nullptr && open->row != nullptr && event.operation == TraceEvent::advise) {
      hear(open->row->heard, event.flags);
    } else if (open != nullptr && open->row != nullptr && event.operation < SLUICE_OPERATIONS) {
      count(*open->row, event);
      count_request(*open, event);
    }
    if (event.operation == TraceEvent::close) {
      open_.erase(event.file);
    }
  }

  [[nodiscard]] const std::map<std::string, AreaFile>& rows() const { return rows_; }

 private:
  struct Open {
    AreaFile* row = nullptr;
    std::array<LastRequest, 2> last;
  };

  static void count(AreaFile& row, const TraceEvent& event) {
    row.calls[event.operation] += 1;
    row.nanoseconds[event.operation] += static_cast<std::uint64_t>(event.duration);
    row.failures[event.operation] += event.result < 0 ? 1 : 0;
  }
  void count_request(Open& open, const TraceEvent& event) {
    const std::int64_t offset = positions_.offset_of(event);
    const bool write = event.operation == TraceEvent::write;
    if (event.result > 0 && (write || event.operation == TraceEvent::read)) {
      Traffic& traffic = open.row->traffic[write ? 1 : 0];
      traffic.count(static_cast<std::uint64_t>(event.result), event.length);
      traffic.count_pattern(open.last[write ? 1 : 0], offset, event.result);
    }
  }

  TracePositions positions_;
  std::map<std::string, AreaFile> rows_;
  std::unordered_map<std::uint32_t, Open> open_;
};

}  // namespace

Result<Account> account_of(TraceReader& trace, std::uint8_t point) {
  TraceCount count;
  std::set<std::uint32_t> processes;
  std::int64_t end = 0;
  TraceEvent event;
  for (;;) {
    SLUICE_TRY(const bool more, trace.next(event));
    if (!more) {
      break;
    }
    processes.insert(event.process);
    end = std::max(end, event.begin + event.duration);
    if (event.point == point && event.operation != TraceEvent::started) {
      count.add(event, trace.path(event.path));
    }
  }
  Sums sums;
  for (const auto& [path, row] : count.rows()) {
    add(sums[path], row);
  }
  Account out;
  out.files = files_of(std::move(sums));
  out.processes = processes.size();
  out.seconds = static_cast<double>(end) / 1e9;
  return out;
}

namespace {

std::vector<std::string> unkept_of(std::uint32_t bits) {
  constexpr std::pair<Unkept, const char*> all[] = {
      {Unkept::inherited, "files that were open already when the program started"},
      {Unkept::given_up,
       "files that became standard output (a shell's redirection), were opened again, mapped or passed on"},
      {Unkept::flags, "files opened with O_APPEND, O_SYNC, O_DSYNC or O_DIRECT"},
      {Unkept::shared, "files that others have open or may change (no lease)"},
      {Unkept::full, "files on a file system that is nearly full"},
      {Unkept::memory, "files for which no memory is left (--memory)"},
      {Unkept::user, "files of a program that became another user"},
      {Unkept::unattended, "files that the run could not attend to"},
      {Unkept::scattered, "writes that do not continue each other"},
      {Unkept::copied, "files that the kernel copies"},
      {Unkept::large, "large writes"},
      {Unkept::few, "files with few small writes"},
  };
  std::vector<std::string> out;
  for (const auto& [why, text] : all) {
    if ((bits & static_cast<std::uint32_t>(why)) != 0) {
      out.emplace_back(text);
    }
  }
  return out;
}

}  // namespace

Account account_of(Area& area, double seconds) {
  std::array<Sums, PointNames::most> sums;
  for (const AreaFile& row : area.all_files()) {
    if (row.state == 2) {
      add(sums[row.point][std::string(area.path_of(row))], row);
    }
  }
  const auto others_at = [&](std::size_t point) {
    Sum sum;
    add(sum, area.others[point]);
    return whole(std::move(sum));
  };
  std::vector<PointAccount> points;
  for (std::uint32_t i = 1; i < area.count_points.count; ++i) {
    points.push_back({.name = area.count_points.names[i].data(),
                      .files = files_of(std::move(sums[i])),
                      .others = others_at(i)});
  }
  return {.files = files_of(std::move(sums[0])),
          .others = others_at(0),
          .points = std::move(points),
          .processes = area.processes,
          // What a program's child starts may come up before it is counted, and after the end.
          .unseen = area.programs > area.loaded ? area.programs - area.loaded : 0U,
          .unmanaged = area.unmanaged,
          .kept = {.writes = area.kept_writes,
                   .bytes = area.kept_bytes,
                   .flushes = area.kept_flushes,
                   .not_of = unkept_of(area.unkept)},
          .fetched = {.pieces = area.fetches, .bytes = area.fetched_bytes},
          .elsewhere = area.made_elsewhere,
          .small = {.files = area.pending_made, .bytes = area.pending_bytes, .removed = area.pending_dropped},
          .seconds = seconds};
}

std::string done_text(const Account& account) {
  const KeptAccount& kept = account.kept;
  std::string out;
  if (kept.writes > kept.flushes) {
    out += fmt::format("sluice: {} of {} in all {} merged into {}\n", plural(kept.writes, "write"),
                       human_size(kept.bytes), kept.writes == 1 ? "was" : "were", kept.flushes);
  }
  if (account.fetched.pieces > 0) {
    out += fmt::format("sluice: {} were fetched ahead in {}\n", human_size(account.fetched.bytes),
                       plural(account.fetched.pieces, "piece"));
  }
  if (account.elsewhere > 0) {
    out += fmt::format("sluice: {} {} made elsewhere at first\n", plural(account.elsewhere, "file"),
                       account.elsewhere == 1 ? "was" : "were");
  }
  if (const SmallAccount& small = account.small; small.bytes + small.removed > 0) {
    out +=
        fmt::format("sluice: {} of {} in all {} kept in memory at first", plural(small.files, "small file"),
                    human_size(small.bytes), small.files == 1 ? "was" : "were");
    out += small.removed == 0 ? "\n" : fmt::format(", {} until removed\n", small.removed);
  }
  return out;
}

namespace {

// "1 file, ... read, ... written, ... in I/O".
std::string sum_text(const std::vector<FileAccount>& files, const FileAccount& others) {
  std::uint64_t read = others.read.bytes;
  std::uint64_t written = others.write.bytes;
  double seconds = others.seconds;
  for (const FileAccount& file : files) {
    read += file.read.bytes;
    written += file.write.bytes;
    seconds += file.seconds;
  }
  return fmt::format(
      "{}{}, {} read, {} written, {} in I/O", plural(files.size(), "file"),
      has_calls(others) ? fmt::format(" and {} of further files", plural(others.opens, "open")) : "",
      human_size(read), human_size(written), human_duration(seconds));
}

// What each kind of call took, of all files.
std::string calls_text(const CallsByOperation& all, const Style& style) {
  Table table({{.title = "CALL"},
               {.title = "CALLS", .align = Align::right},
               {.title = "FAILED", .align = Align::right},
               {.title = "TIME", .align = Align::right},
               {.title = "EACH", .align = Align::right}});
  bool any = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const CallSum& calls = all[i]; calls.calls > 0) {
      table.add(
          {std::string(name_of(i)), std::to_string(calls.calls), std::to_string(calls.failures),
           human_duration(calls.seconds), human_duration(calls.seconds / static_cast<double>(calls.calls))},
          calls.failures > 0 ? Colour::yellow : Colour::plain);
      any = true;
    }
  }
  return any ? "\n" + table.print(style) : "";
}

// Those that took longest.
std::string files_text(const std::vector<FileAccount>& files, const Style& style) {
  const std::size_t shown = std::min(files.size(), most_shown);
  if (shown == 0) {
    return "";
  }
  const bool heard = std::any_of(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(shown),
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
  const bool bounds = style.width == 0 || style.width >= width_with_bounds;
  for (std::size_t i = 0; i < shown; ++i) {
    const FileAccount& file = files[i];
    std::vector<std::string> cells = {
        escape(file.path),    human_duration(file.seconds), predicted_text(file, bounds), describe(file.read),
        describe(file.write), std::to_string(file.syncs),   std::to_string(file.failures)};
    if (heard) {
      cells.push_back(file.heard.empty() ? "-" : file.heard);
    }
    table.add(std::move(cells), file.failures > 0 ? Colour::yellow : Colour::plain);
  }
  return table.print(style) +
         (files.size() > most_shown ? fmt::format("and {} more\n", files.size() - most_shown) : "");
}

}  // namespace

std::string unseen_text(const Account& account, const std::vector<std::string>& command) {
  std::string what;
  if (account.is_blind()) {
    what = "nothing was observed: Sluice's library did not come up in the program";
  } else if (account.unseen > 0) {
    what = fmt::format("{} that {} started {} not observed", plural(account.unseen, "program"),
                       account.unseen == 1 ? "was" : "were", account.unseen == 1 ? "was" : "were");
  } else {
    return "";
  }
  return fmt::format("{}; `sluice doctor -- {}` says why", what, escape(join(command, " ")));
}

std::string account_text(const Account& account, const Style& style) {
  if (account.is_blind()) {
    return "";
  }
  std::string out = fmt::format("sluice: {} of {} ({})\n", sum_text(account.files, account.others),
                                human_duration(account.seconds), plural(account.processes, "process"));
  if (account.unmanaged > 0) {
    out += fmt::format("sluice: {} passed no stage: too many files were open at once\n",
                       plural(account.unmanaged, "open"));
  }
  out += files_text(account.files, style);
  out += calls_text(calls_of(account.files, account.others), style);
  for (const PointAccount& point : account.points) {
    out += fmt::format("sluice: at {}: {}\n", escape(point.name), sum_text(point.files, point.others));
    out += files_text(point.files, style);
  }
  const auto any_by = [&](std::string_view source) {
    return std::any_of(account.files.begin(), account.files.end(),
                       [&](const FileAccount& file) { return file.predicted_by == source; });
  };
  if (any_by("traits")) {
    out += "~ is modelled from traits and knows nothing of the page cache; `sluice profile` measures\n";
  } else if (any_by("learned")) {
    out += "~ was corrected by what earlier runs took; `sluice places` tells by how much\n";
  }
  return out;
}

namespace {

Json file_json(const FileAccount& file) {
  const auto bound = [&](double seconds) { return file.predicted ? Json(seconds) : Json(); };
  return {{"path", file.path},
          {"opens", file.opens},
          {"calls", calls_json(file.calls)},
          {"read", requests_json(file.read)},
          {"write", requests_json(file.write)},
          {"syncs", file.syncs},
          {"failures", file.failures},
          {"predicted", bound(file.predicted.value_or(0))},
          {"predicted_low", bound(file.predicted_low)},
          {"predicted_high", bound(file.predicted_high)},
          {"predicted_by", file.predicted_by},
          {"place", file.place},
          {"seconds", file.seconds},
          {"heard", file.heard}};
}

// What was counted at one point.
Json counted_json(const std::vector<FileAccount>& files, const FileAccount& others) {
  Json out = {{"files", Json::array()},
              {"calls", calls_json(calls_of(files, others))},
              {"others", has_calls(others) ? file_json(others) : Json()}};
  for (const FileAccount& file : files) {
    out["files"].push_back(file_json(file));
  }
  return out;
}

}  // namespace

Json account_json(const Account& account) {
  Json out = counted_json(account.files, account.others);
  out["points"] = Json::array();
  for (const PointAccount& point : account.points) {
    Json one = counted_json(point.files, point.others);
    one["point"] = point.name;
    out["points"].push_back(std::move(one));
  }
  out["processes"] = account.processes;
  out["unmanaged"] = account.unmanaged;
  out["kept"] = {{"writes", account.kept.writes},
                 {"bytes", account.kept.bytes},
                 {"flushes", account.kept.flushes},
                 {"not_of", account.kept.not_of}};
  out["fetched"] = {{"pieces", account.fetched.pieces}, {"bytes", account.fetched.bytes}};
  out["elsewhere"] = account.elsewhere;
  out["small"] = {
      {"files", account.small.files}, {"bytes", account.small.bytes}, {"removed", account.small.removed}};
  out["seconds"] = account.seconds;
  return out;
}

}  // namespace sluice
