// DFTracer's events, an object of JSON a line (.pfw): POSIX and STDIO calls. Files are named in the arguments
// (fname), or by a hash (fhash) whose name a line of its own has told before ("FH").
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/json.h"
#include "base/text.h"
#include "trace/import/import.h"

namespace sluice {
namespace {

constexpr std::size_t most_open = 1U << 20U;

// Numbers may stand as text.
std::optional<double> number(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) {
    return std::nullopt;
  }
  if (found->is_number()) {
    return found->get<double>();
  }
  if (!found->is_string()) {
    return std::nullopt;
  }
  const auto& text = found->get_ref<const std::string&>();
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> whole(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found != object.end() && found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) {
    return std::nullopt;
  }
  if (found != object.end() && found->is_number_integer()) {
    return found->get<std::int64_t>();
  }
  const auto value = number(object, name);
  return value && std::abs(*value) < 9e18 ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end()   ? ""
         : found->is_string()    ? found->get<std::string>()
         : found->is_primitive() ? found->dump()
                                 : "";
}

struct Meaning {
  std::uint8_t operation;
  bool at_offset = false;
  int flags = 0;
};

const std::unordered_map<std::string_view, Meaning>& meanings() {
  static const std::unordered_map<std::string_view, Meaning> all = {
      {"open", {TraceEvent::open}},
      {"open64", {TraceEvent::open}},
      {"openat", {TraceEvent::open}},
      {"openat64", {TraceEvent::open}},
      {"creat", {TraceEvent::open, false, O_CREAT | O_WRONLY | O_TRUNC}},
      {"creat64", {TraceEvent::open, false, O_CREAT | O_WRONLY | O_TRUNC}},
      {"fopen", {TraceEvent::open, false, TraceEvent::was_open}},
      {"fopen64", {TraceEvent::open, false, TraceEvent::was_open}},
      {"close", {TraceEvent::close}},
      {"fclose", {TraceEvent::close}},
      {"read", {TraceEvent::read}},
      {"readv", {TraceEvent::read}},
      {"pread", {TraceEvent::read, true}},
      {"pread64", {TraceEvent::read, true}},
      {"fread", {TraceEvent::read}},
      {"write", {TraceEvent::write}},
      {"writev", {TraceEvent::write}},
      {"pwrite", {TraceEvent::write, true}},
      {"pwrite64", {TraceEvent::write, true}},
      {"fwrite", {TraceEvent::write}},
      {"lseek", {TraceEvent::seek}},
      {"lseek64", {TraceEvent::seek}},
      {"fseek", {TraceEvent::seek}},
      {"fsync", {TraceEvent::sync}},
      {"fdatasync", {TraceEvent::sync, false, 1}},
      {"ftruncate", {TraceEvent::truncate}},
      {"ftruncate64", {TraceEvent::truncate}},
  };
  return all;
}

class Dftracer : public Importer {
 public:
  explicit Dftracer(ImportSink& sink) : sink_(sink) {}

  Result<Line> take(std::string_view line) override {
    std::string_view object = trim(line);
    if (object.empty() || object == "[" || object == "]") {
      return Line::left_out;
    }
    object.remove_suffix(object.ends_with(',') ? 1 : 0);
    const Json event = parse_json(object);
    if (!event.is_object()) {
      return Line::unreadable;
    }
    const auto arguments = event.find("args");
    const Json& values = arguments != event.end() && arguments->is_object() ? *arguments : none_;
    const std::string name = text(event, "name");
    if (text(event, "ph") == "M" || text(event, "ph") == "4") {
      take_name(name, values);
      return Line::left_out;
    }
    const std::string kind = text(event, "cat");
    const auto found = meanings().find(name);
    if ((kind != "POSIX" && kind != "STDIO") || found == meanings().end()) {
      return Line::left_out;
    }
    const auto process = whole(event, "pid");
    const auto thread = whole(event, "tid");
    const auto begin = number(event, "ts");
    const auto duration = number(event, "dur");
    if (!process || *process < 0 || *process > INT32_MAX || !begin || *begin < 0 || *begin > 9e15) {
      return Line::unreadable;
    }
    if (!first_) {
      first_ = *begin;
    }
    TraceEvent out;
    out.process = static_cast<std::uint32_t>(*process);
    out.thread =
        thread && *thread >= 0 && *thread <= INT32_MAX ? static_cast<std::uint32_t>(*thread) : out.process;
    // A call is told of when it ends, so one may have begun before the first.
    out.begin = std::llround(std::max(*begin - *first_, 0.0) * 1e3);
    out.duration = std::llround(std::clamp(duration.value_or(0), 0.0, 9e12) * 1e3);
    out.operation = found->second.operation;
    out.flags = found->second.flags;
    return take_call(out, found->second, kind == "STDIO", values);
  }

  Status end() override {
    if (nameless_ > 0) {
      sink_.warning = fmt::format("{} calls are on files that the input does not name", nameless_);
    }
    return {};
  }

 private:
  // {"name":"FH","ph":"M","args":{"name":"/a/b","value":"1f2e"}}
  void take_name(const std::string& kind, const Json& values) {
    if (kind == "FH" && names_.size() < most_open) {
      names_[text(values, "value")] = text(values, "name");
    }
  }

  std::string path_of(const Json& values) {
    std::string out = text(values, "fname");
    if (out.empty()) {
      const auto found = names_.find(text(values, "fhash"));
      out = found == names_.end() ? "" : found->second;
    }
    return out;
  }

  Result<Line> take_call(TraceEvent& event, const Meaning& meaning, bool stdio, const Json& values) {
    const std::string path = path_of(values);
    if (path.empty()) {
      ++nameless_;
      return Line::left_out;
    }
    const auto result = whole(values, "ret");
    if (event.operation == TraceEvent::open) {
      event.flags = static_cast<std::int32_t>(whole(values, "flags").value_or(event.flags));
      event.mode = static_cast<std::uint32_t>(whole(values, "mode").value_or(0));
      event.path = sink_.number_of(path);
      // The number of the error is not told.
      event.result = result && *result < 0 ? -EIO : result.value_or(0);
      if (event.result >= 0) {
        event.file = sink_.new_file();
        remember(event.process, path, event.file);
      }
      SLUICE_CHECK(sink_.add(event));
      return Line::used;
    }
    SLUICE_TRY(event.file, file_of(event, path));
    take_arguments(event, meaning, stdio, values);
    const bool moves = event.operation == TraceEvent::read || event.operation == TraceEvent::write;
    event.result = result  ? (*result < 0 ? -EIO : *result)
                   : moves ? static_cast<std::int64_t>(event.length)
                           : 0;
    if (stdio && moves && result && *result >= 0) {  // fread gives back how many elements
      const auto size = std::clamp<std::int64_t>(whole(values, "size").value_or(1), 1, INT32_MAX);
      event.result = *result < INT64_MAX / size ? *result * size : 0;
    }
    if (moves && event.length == 0 && event.result > 0) {
      event.length = static_cast<std::uint64_t>(event.result);
    }
    SLUICE_CHECK(sink_.add(event));
    if (event.operation == TraceEvent::close) {
      open_.erase({event.process, path});
    }
    return Line::used;
  }

  static void take_arguments(TraceEvent& event, const Meaning& meaning, bool stdio, const Json& values) {
    const auto natural = [&](const char* name) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(whole(values, name).value_or(0), 0));
    };
    switch (event.operation) {
      case TraceEvent::read:
      case TraceEvent::write:
        event.offset = meaning.at_offset ? std::max<std::int64_t>(whole(values, "offset").value_or(0), 0)
                                         : TraceEvent::at_position;
        event.length = stdio ? std::min<std::uint64_t>(natural("size"), INT32_MAX) *
                                   std::min<std::uint64_t>(natural("nmemb"), INT32_MAX)
                             : natural("count");
        break;
      case TraceEvent::seek:
        event.offset = whole(values, "offset").value_or(0);
        event.flags = static_cast<std::int32_t>(whole(values, "whence").value_or(0));
        break;
      case TraceEvent::truncate:
        event.length = natural("length");
        break;
      default:
        break;
    }
  }

  // Which open file of that name; a process that has none had it open before.
  Result<std::uint32_t> file_of(const TraceEvent& event, const std::string& path) {
    if (const auto found = open_.find({event.process, path}); found != open_.end()) {
      return found->second;
    }
    TraceEvent opened;
    opened.begin = event.begin;
    opened.process = event.process;
    opened.thread = event.thread;
    opened.operation = TraceEvent::open;
    opened.flags = TraceEvent::was_open;
    opened.path = sink_.number_of(path);
    opened.file = sink_.new_file();
    remember(event.process, path, opened.file);
    SLUICE_CHECK(sink_.add(opened));
    return opened.file;
  }

  void remember(std::uint32_t process, const std::string& path, std::uint32_t file) {
    if (open_.size() >= most_open) {
      open_.clear();
    }
    open_[{process, path}] = file;
  }

  ImportSink& sink_;
  const Json none_ = Json::object();
  std::unordered_map<std::string, std::string> names_;                   // by hash
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> open_;  // the last one opened
  std::optional<double> first_;
  std::uint64_t nameless_ = 0;
};

bool is_like_dftracer(std::string_view line) {
  line = trim(line);
  return line.starts_with("{\"") && line.find("\"cat\":") != std::string_view::npos &&
         line.find("\"ph\":") != std::string_view::npos;
}

std::unique_ptr<Importer> make_dftracer(ImportSink& sink, const std::string& /*folder*/) {
  return std::make_unique<Dftracer>(sink);
}

}  // namespace

extern const ImportFormat import_dftracer = {.name = "dftracer",
                                             .help = "DFTracer's .pfw, uncompressed",
                                             .is_like = is_like_dftracer,
                                             .make = make_dftracer};

}  // namespace sluice
