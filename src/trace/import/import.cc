#include "trace/import/import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/import/lines.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace sluice {
namespace {

const std::array formats = {&import_strace, &import_darshan, &import_dftracer};

// So many wait in memory at most: there may be thousands of processes.
constexpr std::uint64_t most_waiting = 1U << 18U;
constexpr std::size_t lines_to_look_at = 200;

// Writes the trace itself.
class WriterSink : public ImportSink {
 public:
  explicit WriterSink(TraceWriter writer) : writer_(std::move(writer)) {}
  std::uint32_t number_of(std::string_view path) override { return writer_.number_of(path); }
  Status add(const TraceEvent& event) override {
    SLUICE_CHECK(begin());
    last_ = std::max(last_, event.begin + event.duration);
    SLUICE_CHECK(writer_.add(event));
    return writer_.events() % most_waiting == 0 ? writer_.flush() : Status();
  }
  Status finish(Json end) {
    SLUICE_CHECK(begin());
    end["seconds"] = static_cast<double>(last_) / 1e9;
    end["events"] = writer_.events();
    return writer_.finish(end);
  }
  [[nodiscard]] std::uint64_t events() const { return writer_.events(); }

 private:
  Status begin() {
    if (std::exchange(begun_, true)) {
      return {};
    }
    return writer_.begin(*about);
  }

  TraceWriter writer_;
  std::int64_t last_ = 0;
  bool begun_ = false;
};

// Events in any order: as many as memory is spent on are sorted and written, as threads of their own, to a
// trace without a name, which is read again by time. A file that was open before is told of when it is used
// first.
class SortingSink : public ImportSink {
 public:
  static Result<std::unique_ptr<SortingSink>> make(const std::string& beside) {
    const std::string path = fmt::format("{}.unsorted-{}", beside, getpid());
    SLUICE_TRY(TraceWriter writer, TraceWriter::create(path));
    static_cast<void>(sys().unlink(path.c_str()));
    return std::make_unique<SortingSink>(std::move(writer));
  }
  explicit SortingSink(TraceWriter writer) : writer_(std::move(writer)) {}

  std::uint32_t number_of(std::string_view path) override { return writer_.number_of(path); }
  Status add(const TraceEvent& event) override {
    if (event.operation == TraceEvent::open && event.flags == TraceEvent::was_open) {
      open_.resize(std::max<std::size_t>(open_.size(), event.file + 1));
      open_[event.file] = event.path;
      return {};
    }
    waiting_.push_back(event);
    return waiting_.size() < most_waiting ? Status() : put();
  }
  Status give_to(WriterSink& sink) {
    SLUICE_CHECK(put());
    SLUICE_CHECK(writer_.finish(Json::object()));
    SLUICE_TRY(TraceReader reader, TraceReader::open(fmt::format("/proc/self/fd/{}", writer_.descriptor())));
    TraceEvent event;
    for (;;) {
      SLUICE_TRY(const bool more, reader.next(event));
      if (!more) {
        return {};
      }
      event.process = event.thread = std::exchange(event.mode, 0);
      event.path = event.path == 0 ? 0 : sink.number_of(reader.path(event.path));
      if (event.file < open_.size() && open_[event.file] != 0) {
        TraceEvent open;
        open.begin = event.begin;
        open.process = open.thread = event.process;
        open.operation = TraceEvent::open;
        open.flags = TraceEvent::was_open;
        open.file = event.file;
        open.path = sink.number_of(reader.path(std::exchange(open_[event.file], 0)));
        SLUICE_CHECK(sink.add(open));
      }
      SLUICE_CHECK(sink.add(event));
    }
  }

 private:
  Status put() {
    ++run_;
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const TraceEvent& a, const TraceEvent& b) { return a.begin < b.begin; });
    for (TraceEvent& event : waiting_) {
      event.mode = std::exchange(event.process, run_);  // one stream for all: a block of each is in memory
      event.thread = run_;
      SLUICE_CHECK(writer_.add(event));
    }
    waiting_.clear();
    return writer_.flush();
  }

  TraceWriter writer_;
  std::vector<TraceEvent> waiting_;
  std::vector<std::uint32_t> open_;  // paths by number of the file
  std::uint32_t run_ = 0;
};

Result<const ImportFormat*> choose(std::string_view name, const std::vector<std::string>& lines,
                                   const std::string& input) {
  for (const ImportFormat* format : formats) {
    if (format->name == name) {
      return format;
    }
  }
  for (const std::string& line : lines) {
    for (const ImportFormat* format : formats) {
      if (format->is_like(line)) {
        return format;
      }
    }
  }
  if (!lines.empty() && lines.front().starts_with("\x1f\x8b")) {
    return bad_input(fmt::format("{} is compressed", quote(input)),
                     fmt::format("zcat it into `sluice trace import -`"));
  }
  if (!lines.empty() && lines.front().starts_with("SLUICETR")) {
    return bad_input(fmt::format("{} is a trace already", quote(input)));
  }
  return bad_input(
      fmt::format("{} is none of the traces that can be imported", quote(input)),
      "strace -f -tt -T -y, darshan-parser, darshan-dxt-parser and DFTracer (.pfw) write such; an output of "
      "strace needs times");
}

Status take_line(Importer& importer, std::string_view line, Imported& out) {
  ++out.lines;
  SLUICE_TRY(const Importer::Line became, importer.take(line));
  if (became == Importer::Line::left_out) {
    ++out.left_out;
  } else if (became == Importer::Line::unreadable && ++out.unreadable == 1) {
    out.first_unreadable = out.lines;
  }
  return {};
}

Status import_into(LineReader& reader, const std::vector<std::string>& first, const ImportFormat& format,
                   const std::string& folder, ImportSink& sink, Imported& out) {
  const std::unique_ptr<Importer> importer = format.make(sink, folder);
  for (const std::string& line : first) {
    SLUICE_CHECK(take_line(*importer, line, out));
  }
  for (;;) {
    SLUICE_TRY(const std::optional<std::string_view> line, reader.next());
    if (!line) {
      return importer->end();
    }
    SLUICE_CHECK(take_line(*importer, *line, out));
  }
}

Status import_to(TraceWriter writer, LineReader& reader, const std::vector<std::string>& first,
                 const ImportFormat& format, const std::string& folder, const std::string& input,
                 const std::string& output, Imported& out) {
  WriterSink sink(std::move(writer));
  sink.about = Json{{"sluice", SLUICE_VERSION},
                    {"command", Json::array()},
                    {"host", ""},
                    {"time", nullptr},
                    {"points", {"program"}},
                    {"hashed", false},
                    {"imported", format.name},
                    {"from", input == "-" ? "" : escape(input)}};
  if (format.sorts) {
    SLUICE_TRY(const std::unique_ptr<SortingSink> sorting, SortingSink::make(output));
    sorting->about = sink.about;
    SLUICE_CHECK(import_into(reader, first, format, folder, *sorting, out));
    sink.about = sorting->about;
    sink.warning = sorting->warning;
    SLUICE_CHECK(sorting->give_to(sink));
  } else {
    SLUICE_CHECK(import_into(reader, first, format, folder, sink, out));
  }
  out.events = sink.events();
  out.warning = sink.warning;
  if (out.events == 0) {
    return bad_input(fmt::format("nothing in {} is a call on a file", quote(input)),
                     out.unreadable == 0
                         ? ""
                         : fmt::format("{} of its {} lines cannot be read as {}, line {} first",
                                       out.unreadable, out.lines, format.name, out.first_unreadable));
  }
  return sink.finish({{"status", nullptr}, {"unreadable", out.unreadable}, {"left_out", out.left_out}});
}

}  // namespace

std::span<const ImportFormat* const> import_formats() {
  return formats;
}

Result<Imported> import_trace(const std::string& input, std::string_view name, const std::string& folder,
                              const std::string& output) {
  UniqueFd fd(input == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                           : sys().open(input.c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (!fd) {
    return Errno().fail(fmt::format("cannot open {}", quote(input)));
  }
  LineReader reader(std::move(fd), input);
  std::vector<std::string> first;
  while (first.size() < lines_to_look_at) {
    SLUICE_TRY(const std::optional<std::string_view> line, reader.next());
    if (!line) {
      break;
    }
    first.emplace_back(*line);
  }
  SLUICE_TRY(const ImportFormat* const format, choose(name, first, input));
  Imported out;
  out.format = format->name;
  SLUICE_TRY(TraceWriter writer, TraceWriter::create(output));
  if (Status status = import_to(std::move(writer), reader, first, *format, folder, input, output, out);
      !status) {
    static_cast<void>(sys().unlink(output.c_str()));
    return std::move(status).error();
  }
  return out;
}

}  // namespace sluice
