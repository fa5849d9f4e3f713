#include "cli/trace_input.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "intent/glob.h"

namespace sluice {
namespace {

constexpr std::size_t enough = std::size_t{64} * 1024;  // bytes for one write

}  // namespace

extern const Option option_point = {
    .name = "point",
    .type = OptionType::text,
    .argument = "NAME",
    .help = "what was seen at that point of the stacks; without it the first"};
extern const Option option_operation = {
    .name = "operation",
    .letter = 'o',
    .type = OptionType::text,
    .argument = "NAME",
    .help =
        "only these: open, close, read, write, seek, sync, truncate, allocate, advise, remove, rename, "
        "link, mkdir, syncdir, started",
    .repeatable = true};
extern const Option option_path_glob = {.name = "files",
                                        .letter = 'f',
                                        .type = OptionType::text,
                                        .argument = "GLOB",
                                        .help = "only files whose absolute path matches",
                                        .repeatable = true};
extern const Option option_process = {
    .name = "process", .type = OptionType::count, .argument = "NUMBER", .help = "only of this process"};
extern const Option option_from = {.name = "from",
                                   .type = OptionType::duration,
                                   .argument = "TIME",
                                   .help = "only what began so long after the trace did, or later"};
extern const Option option_to = {.name = "to",
                                 .type = OptionType::duration,
                                 .argument = "TIME",
                                 .help = "only what began earlier than that"};

std::string point_name(const TraceReader& trace, std::uint8_t number) {
  const Json& points = trace.about().contains("points") ? trace.about()["points"] : Json::array();
  return points.is_array() && number < points.size() && points[number].is_string()
             ? points[number].get<std::string>()
             : "";
}

Result<std::uint8_t> wanted_point(const Context& context, const TraceReader& trace) {
  const std::string wanted = context.options.text("point");
  std::vector<std::string> names;
  for (std::uint8_t i = 0; !point_name(trace, i).empty(); ++i) {
    if (wanted.empty() || point_name(trace, i) == wanted) {
      return i;
    }
    names.push_back(point_name(trace, i));
  }
  if (wanted.empty()) {
    return std::uint8_t{0};
  }
  return bad_input(fmt::format("the trace has no point {}", quote(wanted)),
                   fmt::format("it has {}", join(names, ", ")));
}

Result<std::vector<Glob>> wanted_files(const Context& context) {
  std::vector<Glob> out;
  for (const Options::Value& value : context.options.all("files")) {
    SLUICE_TRY(const std::string whole, Glob::whole(value.text, current_folder()));
    SLUICE_TRY(Glob glob, Glob::parse(whole));
    out.push_back(std::move(glob));
  }
  return out;
}

void warn_of_trouble(const TraceReader& trace, const std::string& path) {
  if (!trace.trouble().empty()) {
    log::warn("{} is not whole: {}; {} before that can be read", quote(path), trace.trouble(),
              plural(trace.events(), "event"));
  }
}

Status may_write(const std::string& path, bool force, const std::string& source) {
  struct stat there {};
  struct stat of_source {};
  if (sys().stat(path.c_str(), &there) != 0) {
    return {};  // or whoever writes will say why not
  }
  if (sys().stat(source.c_str(), &of_source) == 0 && there.st_dev == of_source.st_dev &&
      there.st_ino == of_source.st_ino) {
    return bad_input(fmt::format("{} is the trace itself", quote(path)), "write the page to another file");
  }
  if (S_ISREG(there.st_mode) && !force) {
    return fail(EEXIST, fmt::format("{} is there already", quote(path))).advise("--force replaces it");
  }
  return {};
}

Status for_each_wanted(const Context& context, TraceReader& trace, TraceFiles& files, const TakeEvent& take) {
  const Options& options = context.options;
  SLUICE_TRY(const std::uint8_t wanted, wanted_point(context, trace));
  std::set<int> operations;
  for (const Options::Value& value : options.all("operation")) {
    const int number = find_operation(value.text);
    if (number < 0) {
      return bad_input(fmt::format("there is no operation {}", quote(value.text)),
                       std::string(option_operation.help));
    }
    operations.insert(number);
  }
  SLUICE_TRY(const std::vector<Glob> globs, wanted_files(context));
  const auto nanoseconds = [&](std::string_view name) {
    return options.given(name)
               ? std::optional(static_cast<std::int64_t>(options.duration(name).in_seconds() * 1e9))
               : std::nullopt;
  };
  const auto from = nanoseconds("from");
  const auto to = nanoseconds("to");
  TraceEvent event;
  for (;;) {
    SLUICE_TRY(const bool more, trace.next(event));
    if (!more) {
      return {};
    }
    const std::string& path = files.path_of(trace, event);
    const bool is_wanted =
        (event.point == wanted || event.operation == TraceEvent::started) &&
        (operations.empty() || operations.count(event.operation) != 0) &&
        (globs.empty() ||
         std::any_of(globs.begin(), globs.end(), [&](const Glob& glob) { return glob.matches(path); })) &&
        (!options.given("process") || event.process == options.count("process")) &&
        (!from || event.begin >= *from) && (!to || event.begin < *to);
    if (is_wanted && !take(event, path)) {
      return {};
    }
  }
}

bool Printer::print(const std::string& text) {
  waiting_ += text;
  return waiting_.size() < enough ? so_far_.has_value() : flush();
}

bool Printer::flush() {
  if (so_far_) {
    so_far_ = write_all(STDOUT_FILENO, waiting_, "standard output");
  }
  waiting_.clear();
  return so_far_.has_value();
}

Status Printer::finish() {
  flush();
  return so_far_ || so_far_.error().number == EPIPE ? Status() : so_far_;
}

}  // namespace sluice
