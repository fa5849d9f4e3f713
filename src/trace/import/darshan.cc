// Darshan's text. darshan-dxt-parser has every read and write; darshan-parser has counters of each file only,
// of which calls are made that would count the same.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "trace/import/import.h"

namespace sluice {
namespace {

// Of one record. More are no run that somebody had.
constexpr std::int64_t most_calls = 1 << 22;
constexpr std::int64_t most_processes = 1 << 16;

template <class T>
std::optional<T> number(std::string_view text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

// Seconds in nanoseconds; nothing where that is no time of a run.
std::optional<std::int64_t> time_of(std::string_view text) {
  const auto seconds = number<double>(text);
  return seconds && *seconds >= 0 && *seconds < 1e9 ? std::optional(std::llround(*seconds * 1e9))
                                                    : std::nullopt;
}

class Darshan : public Importer {
 public:
  explicit Darshan(ImportSink& sink) : sink_(sink) {}

  Result<Line> take(std::string_view line) override {
    if (line.starts_with('#')) {
      take_comment(line);
      return Line::left_out;
    }
    const std::string_view text = trim(line);
    if (text.empty() || text.starts_with("total_") || text.starts_with("agg_")) {
      return Line::left_out;
    }
    return text.starts_with("X_") ? take_segment(split_blanks(text)) : take_counter(split(line, '\t'));
  }

  Status end() override {
    SLUICE_CHECK(make_calls());
    if (cut_ > 0) {
      sink_.warning = fmt::format("{} calls were counted of single files; {} of each were made at most", cut_,
                                  most_calls);
    } else if (of_counters_) {
      sink_.warning =
          "these are counters: the calls of a file are made up so that they count the same, with mean sizes "
          "and times";
    }
    return {};
  }

 private:
  // "# exe: /a/b c", "# nprocs: 4", "# DXT, file_id: 12, file_name: /x", "# DXT, rank: 0, hostname: h"
  void take_comment(std::string_view line) {
    const auto after = [&](std::string_view words) {
      return line.starts_with(words) ? std::optional(trim(line.substr(words.size()))) : std::nullopt;
    };
    if (const auto exe = after("# exe:")) {
      for (const std::string_view word : split_blanks(*exe)) {
        (*sink_.about)["command"].push_back(escape(word));
      }
    } else if (const auto processes = after("# nprocs:")) {
      processes_ = std::clamp<std::int64_t>(number<std::int64_t>(*processes).value_or(1), 1, most_processes);
    } else if (const auto start = after("# start_time:")) {
      (*sink_.about)["time"] = number<std::int64_t>(*start).value_or(0);
    } else if (after("# DXT, file_id:")) {
      const std::size_t name = line.find("file_name:");
      path_ = name == std::string_view::npos ? "" : trim(line.substr(name + 10));
      section_file_ = 0;
    } else if (const auto rank = after("# DXT, rank:")) {
      const std::size_t host = line.find("hostname:");
      if (host != std::string_view::npos && (*sink_.about)["host"].is_string()) {
        (*sink_.about)["host"] = escape(trim(line.substr(host + 9)));
      }
    }
  }

  // X_POSIX  rank  write|read  segment  offset  length  start  end
  Result<Line> take_segment(const std::vector<std::string_view>& words) {
    if (words[0] != "X_POSIX") {
      return Line::left_out;  // what MPI-IO does is seen below it too
    }
    if (words.size() < 8 || path_.empty()) {
      return Line::unreadable;
    }
    const auto rank = number<std::uint32_t>(words[1]);
    const auto offset = number<std::int64_t>(words[4]);
    const auto length = number<std::int64_t>(words[5]);
    const auto begin = time_of(words[6]);
    const auto end = time_of(words[7]);
    const bool writes = words[2] == "write";
    if (!rank || !offset || *offset < 0 || !length || *length < 0 || !begin || !end || *rank > INT32_MAX ||
        (!writes && words[2] != "read")) {
      return Line::unreadable;
    }
    TraceEvent event;
    event.process = event.thread = *rank + 1;
    // Writes come before reads, whenever they were; each is an open file of its own.
    if (section_file_ == 0 || section_writes_ != writes || section_process_ != event.process) {
      section_writes_ = writes;
      section_process_ = event.process;
      SLUICE_TRY(section_file_, open(event.process, path_, *begin));
    }
    event.operation = writes ? TraceEvent::write : TraceEvent::read;
    event.file = section_file_;
    event.offset = *offset;
    event.length = static_cast<std::uint64_t>(*length);
    event.result = *length;
    event.begin = *begin;
    event.duration = std::max<std::int64_t>(*end - *begin, 0);
    SLUICE_CHECK(sink_.add(event));
    return Line::used;
  }

  // Nobody knows how it was opened.
  Result<std::uint32_t> open(std::uint32_t process, const std::string& path, std::int64_t begin) {
    TraceEvent event;
    event.process = event.thread = process;
    event.operation = TraceEvent::open;
    event.flags = TraceEvent::was_open;
    event.begin = begin;
    event.file = sink_.new_file();
    event.path = sink_.number_of(path);
    SLUICE_CHECK(sink_.add(event));
    return event.file;
  }

  // module  rank  record  counter  value  file  mount  type
  Result<Line> take_counter(const std::vector<std::string_view>& words) {
    if (words.size() < 6) {
      return Line::unreadable;
    }
    const auto rank = number<std::int64_t>(words[1]);
    const auto value = number<double>(words[4]);
    if (!rank || *rank < -1 || *rank >= INT32_MAX || !value) {
      return Line::unreadable;
    }
    const std::string_view module = words[0];
    if ((module != "POSIX" && module != "STDIO") || !words[3].starts_with(fmt::format("{}_", module))) {
      return Line::left_out;
    }
    if (module != module_ || *rank != rank_ || words[2] != record_) {
      SLUICE_CHECK(make_calls());
      module_ = module;
      rank_ = *rank;
      record_ = words[2];
      path_ = words[5];
    }
    counters_[std::string(words[3].substr(module.size() + 1))] = *value;
    return Line::used;
  }

  [[nodiscard]] double counter(const std::string& name) const {
    const auto found = counters_.find(name);
    return found == counters_.end() || !std::isfinite(found->second) ? 0 : std::max(found->second, 0.0);
  }
  [[nodiscard]] std::int64_t whole(const std::string& name) const {
    return static_cast<std::int64_t>(std::min(counter(name), 9e18));
  }
  [[nodiscard]] std::int64_t nanoseconds(const std::string& name) const {
    return static_cast<std::int64_t>(std::min(counter(name), 1e9) * 1e9);
  }

  // Of the record that is whole now.
  Status make_calls() {
    if (counters_.empty() || path_.starts_with('<')) {  // <STDOUT>
      counters_.clear();
      return {};
    }
    if (!std::exchange(of_counters_, true)) {
      (*sink_.about)["counters"] = true;
    }
    // A record of rank -1 sums up all of them.
    const std::int64_t processes = rank_ >= 0 ? 1 : std::clamp<std::int64_t>(whole("OPENS"), 1, processes_);
    for (std::int64_t i = 0; i < processes; ++i) {
      const auto process = static_cast<std::uint32_t>(rank_ >= 0 ? rank_ + 1 : i + 1);
      for (const bool writes : {true, false}) {
        SLUICE_CHECK(make_calls(process, writes, i, processes));
      }
    }
    counters_.clear();
    return {};
  }

  Status make_calls(std::uint32_t process, bool writes, std::int64_t part, std::int64_t parts) {
    const std::string way = writes ? "WRITE" : "READ";
    const std::int64_t counted = whole(way + "S");
    const std::int64_t all = std::min(counted, most_calls);
    cut_ = std::max(cut_, counted > most_calls ? counted : 0);
    const std::int64_t first = all * part / parts;
    const std::int64_t last = all * (part + 1) / parts;
    const std::int64_t syncs =
        writes && part == 0 ? std::min(whole("FSYNCS") + whole("FDSYNCS"), most_calls) : 0;
    if (first == last && syncs == 0) {
      return {};
    }
    const std::int64_t bytes = whole(writes ? "BYTES_WRITTEN" : "BYTES_READ");
    const std::int64_t extent =
        std::max(whole("MAX_BYTE_" + std::string(writes ? "WRITTEN" : "READ")) + 1, bytes);
    const std::int64_t begin = nanoseconds("F_" + way + "_START_TIMESTAMP");
    const std::int64_t end = std::max(nanoseconds("F_" + way + "_END_TIMESTAMP"), begin);
    const std::int64_t duration = all == 0 ? 0 : nanoseconds("F_" + way + "_TIME") / all;
    // Where half of them follow each other, all do. What only goes forward is spread over what was touched,
    // and so is, in no order, what does not.
    const bool follows = 2 * whole("CONSEC_" + way + "S") >= all - 1 || module_ == "STDIO";
    const bool forward = 2 * whole("SEQ_" + way + "S") >= all - 1;
    const std::int64_t length = all == 0 ? 0 : bytes / all;
    std::uint64_t random = 1;
    SLUICE_TRY(const std::uint32_t file, open(process, path_, begin));
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t this_length = i + 1 == all ? bytes - length * (all - 1) : length;
      TraceEvent event;
      event.process = event.thread = process;
      event.operation = writes ? TraceEvent::write : TraceEvent::read;
      event.file = file;
      event.begin = begin + static_cast<std::int64_t>(static_cast<double>(end - begin) *
                                                      static_cast<double>(i - first) /
                                                      static_cast<double>(last - first));
      event.duration = duration;
      event.length = static_cast<std::uint64_t>(this_length);
      event.result = this_length;
      const double room = static_cast<double>(extent - this_length);
      random = random * 6364136223846793005U + 1442695040888963407U;
      event.offset =
          follows ? length * i
          : forward && all > 1
              ? static_cast<std::int64_t>(room * static_cast<double>(i) / static_cast<double>(all - 1))
              : static_cast<std::int64_t>(room * static_cast<double>(random >> 11U) * 0x1p-53);
      SLUICE_CHECK(sink_.add(event));
    }
    for (std::int64_t i = 0; i < syncs; ++i) {
      TraceEvent event;
      event.process = event.thread = process;
      event.operation = TraceEvent::sync;
      event.flags = i < whole("FDSYNCS") ? 1 : 0;
      event.file = file;
      event.begin = end;
      SLUICE_CHECK(sink_.add(event));
    }
    return {};
  }

  ImportSink& sink_;
  std::int64_t processes_ = 1;
  std::int64_t cut_ = 0;
  bool of_counters_ = false;
  std::string path_;
  // Of segments.
  std::uint32_t section_file_ = 0;
  std::uint32_t section_process_ = 0;
  bool section_writes_ = false;
  // Of counters.
  std::string module_;
  std::string record_;
  std::int64_t rank_ = 0;
  std::map<std::string, double> counters_;
};

bool is_like_darshan(std::string_view line) {
  return line.starts_with("# darshan log version:") || line.starts_with("# DXT,") ||
         line.starts_with("#<module>") || line.starts_with("POSIX\t");
}

std::unique_ptr<Importer> make_darshan(ImportSink& sink, const std::string& /*folder*/) {
  return std::make_unique<Darshan>(sink);
}

}  // namespace

extern const ImportFormat import_darshan = {.name = "darshan",
                                            .help = "darshan-dxt-parser, or darshan-parser (counters only)",
                                            .is_like = is_like_darshan,
                                            .make = make_darshan,
                                            .sorts = true};

}  // namespace sluice
