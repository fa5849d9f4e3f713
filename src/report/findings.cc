#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

double seconds_of(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The last part of a path, which is enough for a heading.
std::string short_name(const ViewRow& row) {
  const std::size_t slash = row.name.rfind('/');
  const std::string name = row.name.substr(slash == std::string::npos ? 0 : slash + 1);
  return name.empty() ? "a file without a name" : name;
}

std::uint64_t sum_of(const Cell& cell) {
  return std::accumulate(cell.nanoseconds.begin(), cell.nanoseconds.end(), std::uint64_t{0});
}

// "most writes are of 4.00 KiB", or up to which size half of them go.
std::string size_words(const ViewRequests& requests, std::string_view many) {
  std::uint64_t all = 0;
  for (const auto& size : requests.sizes) {
    all += size.calls;
  }
  std::uint64_t seen = 0;
  std::uint64_t half = 0;  // the end of the class that the median is in
  for (std::size_t i = 0; i < requests.sizes.size(); ++i) {
    const auto& size = requests.sizes[i];
    if (size.calls * 10 >= all * 6) {
      return fmt::format("{}{} are of {}", size.calls == all ? "" : "most ", many,
                         human_size(size.bytes / size.calls));
    }
    seen += size.calls;
    half = half == 0 && seen * 2 >= all ? std::uint64_t{1} << i : half;
  }
  return fmt::format("half of the {} are below {}", many, human_size(half));
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

std::string pattern_words(const ViewRequests& requests) {
  const std::string pattern = requests.pattern();
  return pattern == "random" ? "at random offsets" : pattern == "mixed" ? "partly sequential" : pattern;
}

// The file whose requests at random offsets take longest, where they are worth a word.
struct Random {
  const ViewRow* row = nullptr;
  bool write = false;
};
Random most_random(const TraceView& view) {
  constexpr std::uint64_t many = 100;
  Random out;
  std::uint64_t longest = view.all.nanoseconds / 20;
  for (const ViewRow& row : view.files) {
    for (const bool write : {false, true}) {
      const ViewRequests& requests = write ? row.write : row.read;
      if (requests.calls >= many && requests.nanoseconds > longest && requests.pattern() == "random") {
        longest = requests.nanoseconds;
        out = {.row = &row, .write = write};
      }
    }
  }
  return out;
}
std::string wanders(const Random& random) {
  return fmt::format("{} {} {}", short_name(*random.row), random.row->files == 1 ? "is" : "are",
                     random.write ? "written" : "read");
}

}  // namespace

std::string percent(double share) {
  if (!(share > 0)) {
    return "0 %";
  }
  return share < 0.01                ? "<\u202f1 %"
         : share > 0.99 && share < 1 ? ">\u202f99 %"
                                     : fmt::format("{:.0f} %", share * 100);
}

std::string grouped(std::uint64_t count) {
  std::string out = std::to_string(count);
  for (std::size_t at = out.size(); count >= 10000 && at > 3;) {
    at -= 3;
    out.insert(at, "\u202f");
  }
  return out;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

std::string finding_of_time(const TraceView& view) {
  if (view.all.nanoseconds == 0 || view.files.empty()) {
    return "No time was spent on files";
  }
  constexpr double most = 0.75;
  constexpr std::size_t few = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < std::min(few, view.files.size()); ++i) {
    sum += view.files[i].nanoseconds;
    const double share = share_of(sum, view.all.nanoseconds);
    if (share < most) {
      continue;
    }
    const std::string all = share > 0.99 ? "Nearly all" : percent(share);
    if (i == 0) {
      return view.files[0].files == 1
                 ? fmt::format("{} of the I/O time goes to one file: {}", all, short_name(view.files[0]))
                 : fmt::format("{} of the I/O time goes to {} files: {}", all, grouped(view.files[0].files),
                               short_name(view.files[0]));
    }
    std::uint64_t files = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      files += view.files[j].files;
    }
    if (files * 2 > view.file_count && view.file_count > few) {
      break;  // that most files take most time is no finding
    }
    return files == view.file_count ? fmt::format("{} files share the I/O time", files)
                                    : fmt::format("{} of the I/O time goes to {} of {} files", all,
                                                  grouped(files), grouped(view.file_count));
  }
  return fmt::format("The I/O time is spread over {} files; {} takes {} of it", grouped(view.file_count),
                     short_name(view.files[0]),
                     percent(share_of(view.files[0].nanoseconds, view.all.nanoseconds)));
}

std::string finding_of_timeline(const TraceView& view) {
  const std::vector<Cell>& cells = view.all.lane.cells();
  const std::uint64_t all = view.all.nanoseconds;
  if (all == 0 || cells.empty() || view.seconds <= 0) {
    return "Nothing happened";
  }
  // The shortest stretch that has most of it.
  std::size_t first = 0;
  std::uint64_t sum = 0;
  std::uint32_t best_from = cells.front().bin;
  std::uint32_t best_to = cells.back().bin + 1;
  for (const Cell& cell : cells) {
    sum += sum_of(cell);
    for (; sum * 10 >= all * 8; sum -= sum_of(cells[first++])) {
      if (cell.bin + 1 - cells[first].bin < best_to - best_from) {
        best_from = cells[first].bin;
        best_to = cell.bin + 1;
      }
    }
  }
  const double length = (best_to - best_from) * view.bin_seconds;
  if (length > view.seconds / 2) {
    return "I/O goes on through the whole run";
  }
  const double to = std::min(best_to * view.bin_seconds, view.seconds);
  return best_from == 0 ? fmt::format("80 % of the I/O time falls within the first {}", human_duration(to))
                        : fmt::format("80 % of the I/O time falls between {} and {}",
                                      human_duration(best_from * view.bin_seconds), human_duration(to));
}

std::string finding_of_sizes(const TraceView& view) {
  const bool reads = view.all.read.calls > view.all.read.failures;
  const bool writes = view.all.write.calls > view.all.write.failures;
  if (!reads && !writes) {
    return "Nothing was read or written";
  }
  return capital(reads && writes ? fmt::format("{}; {}", size_words(view.all.read, "reads"),
                                               size_words(view.all.write, "writes"))
                 : reads         ? size_words(view.all.read, "reads")
                                 : size_words(view.all.write, "writes"));
}

std::string finding_of_pattern(const TraceView& view) {
  const std::string read = pattern_words(view.all.read);
  const std::string write = pattern_words(view.all.write);
  if (read.empty() && write.empty()) {
    return "Files are neither read nor written";
  }
  if (const Random random = most_random(view);
      random.row != nullptr && (random.write ? write : read) != "at random offsets") {
    return fmt::format("{} at random offsets, most other files in order", wanders(random));
  }
  return read == write   ? fmt::format("Reads and writes are {}", read)
         : write.empty() ? fmt::format("Reads are {}", read)
         : read.empty()  ? fmt::format("Writes are {}", write)
                         : fmt::format("Reads are {}, writes {}", read, write);
}

std::string finding_of_files(const TraceView& view) {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t both = 0;
  for (const ViewRow& row : view.files) {
    const bool reads = row.read.calls > 0;
    const bool writes = row.write.calls > 0;
    (reads && writes ? both : reads ? read : written) += reads || writes ? row.files : 0;
  }
  if (view.other_files.files > 0 || read + written + both == 0) {
    return counted(view.file_count, "file", "files");
  }
  std::vector<std::string> parts;
  for (const auto& [count, what] : {std::pair{read, "only read"}, std::pair{written, "only written"},
                                    std::pair{both, "read and written"}}) {
    if (count > 0) {
      parts.push_back(parts.empty() ? fmt::format("{} {} {}", counted(count, "file", "files"),
                                                  count == 1 ? "is" : "are", what)
                                    : fmt::format("{} {}", grouped(count), what));
    }
  }
  return join(parts, ", ");
}

std::string finding_of_processes(const TraceView& view) {
  if (view.process_count <= 1) {
    return "One process does all of the I/O";
  }
  constexpr double most = 0.9;
  const std::uint64_t all = std::max<std::uint64_t>(view.all.nanoseconds, 1);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < view.processes.size(); ++i) {
    sum += view.processes[i].nanoseconds;
    const double share = share_of(sum, all);
    if (share >= most && i + 1 < view.process_count) {
      return fmt::format("{} of {} processes {} {} of the I/O", i == 0 ? "One" : grouped(i + 1),
                         grouped(view.process_count), i == 0 ? "does" : "do",
                         share > 0.99 ? "nearly all" : percent(std::min(share, 1.0)));
    }
  }
  return fmt::format("{} processes share the I/O", grouped(view.process_count));
}

std::string finding_of_gain(const ReportTune& tune) {
  const auto mean = [](const std::vector<double>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0) /
           static_cast<double>(std::max<std::size_t>(times.size(), 1));
  };
  const std::string times = tune.before.empty() || tune.after.empty()
                                ? ""
                                : fmt::format(": {} before, {} after", human_duration(mean(tune.before)),
                                              human_duration(mean(tune.after)));
  if (tune.gain && tune.sure && tune.gain->value > 1) {
    return fmt::format("{:.3g} times as fast{}", tune.gain->value, times);
  }
  if (tune.gain || !times.empty()) {
    return "No better by more than the noise" + times;
  }
  return tune.chosen.empty() ? "Nothing better was found"
                             : fmt::format("Best by prediction: {}", tune.chosen);
}

std::vector<std::string> remarks_on(const TraceView& view) {
  std::vector<std::string> out;
  const ViewRow& all = view.all;
  constexpr std::uint64_t small = 4096;
  constexpr double much = 0.25;
  const auto small_share = [&](const ViewRequests& requests) {
    std::uint64_t calls = 0;
    for (std::size_t i = 0; i < requests.sizes.size() && (std::uint64_t{1} << i) <= small; ++i) {
      calls += requests.sizes[i].calls;
    }
    return share_of(calls, requests.calls);
  };
  if (all.syncs > 0 && share_of(all.sync_nanoseconds, all.nanoseconds) >= much) {
    out.push_back(fmt::format("{} of the I/O time is waiting for {}.",
                              percent(share_of(all.sync_nanoseconds, all.nanoseconds)),
                              counted(all.syncs, "sync", "syncs")));
  }
  for (const bool write : {false, true}) {
    const ViewRequests& requests = write ? all.write : all.read;
    constexpr std::uint64_t many = 1000;
    if (requests.calls >= many && small_share(requests) >= 0.5) {
      out.push_back(fmt::format(
          "{} of {} are below {}: each costs a call of its own.", percent(small_share(requests)),
          counted(requests.calls, write ? "write" : "read", write ? "writes" : "reads"), human_size(small)));
    }
  }
  if (const Random random = most_random(view); random.row != nullptr) {
    out.push_back(fmt::format("{} at random offsets, which a disk with a head pays for with a seek each.",
                              wanders(random)));
  }
  if (all.failures > 0) {
    out.push_back(fmt::format("{} failed.", counted(all.failures, "call", "calls")));
  }
  if (view.seconds > 0 && seconds_of(all.nanoseconds) < view.seconds / 100) {
    out.emplace_back(
        "Less than 1 % of the run was I/O that a trace sees; faster storage would change little.");
  }
  return out;
}

}  // namespace sluice
