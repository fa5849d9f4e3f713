#include "trace/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr std::array<std::pair<std::uint8_t, std::string_view>, 15> names = {
    {{TraceEvent::open, "open"},
     {TraceEvent::close, "close"},
     {TraceEvent::read, "read"},
     {TraceEvent::write, "write"},
     {TraceEvent::seek, "seek"},
     {TraceEvent::sync, "sync"},
     {TraceEvent::truncate, "truncate"},
     {TraceEvent::allocate, "allocate"},
     {TraceEvent::advise, "advise"},
     {TraceEvent::remove, "remove"},
     {TraceEvent::rename, "rename"},
     {TraceEvent::link, "link"},
     {TraceEvent::make_folder, "mkdir"},
     {TraceEvent::sync_folder, "syncdir"},
     {TraceEvent::started, "started"}}};

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

std::string what(const TraceEvent& event) {
  const std::string at = event.offset == TraceEvent::at_position ? "" : fmt::format(" at {}", event.offset);
  switch (event.operation) {
    case TraceEvent::open:
      return event.flags == TraceEvent::was_open ? "was open" : fmt::format("flags {:#o}", event.flags);
    case TraceEvent::read:
    case TraceEvent::write:
    case TraceEvent::allocate:
      return fmt::format("{}{}", event.length, at);
    case TraceEvent::seek:
      return fmt::format("{} from {}", event.offset,
                         event.flags == 0   ? "the beginning"
                         : event.flags == 1 ? "here"
                                            : "the end");
    case TraceEvent::truncate:
      return fmt::format("to {}", event.length);
    case TraceEvent::advise:
      return fmt::format("{} of {}{}", event.flags, event.length, at);
    default:
      return "";
  }
}

std::string outcome(const TraceEvent& event) {
  return event.result < 0 ? fmt::format("= {}", std::strerror(static_cast<int>(-event.result)))
                          : fmt::format("= {}", event.result);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : escape(text)) {
    out += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  }
  return out + '"';
}

}  // namespace

std::string_view operation_name(std::uint8_t operation) {
  for (const auto& [number, name] : names) {
    if (number == operation) {
      return name;
    }
  }
  return "";
}

int find_operation(std::string_view wanted) {
  for (const auto& [number, name] : names) {
    if (name == wanted) {
      return number;
    }
  }
  return -1;
}

const std::string& TraceFiles::path_of(const TraceReader& trace, const TraceEvent& event) {
  opens_ += event.path != 0 ? 1 : 0;
  if (event.path != 0 && is_given(event.file, opens_)) {
    paths_.resize(std::max<std::size_t>(paths_.size(), event.file + 1));
    paths_[event.file] = event.path;
  }
  return trace.path(event.path != 0 ? event.path : event.file < paths_.size() ? paths_[event.file] : 0);
}

std::int64_t TracePositions::size_of(std::uint32_t path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? 0 : sizes_[found->second];
}

std::uint32_t TracePositions::file_at(std::uint32_t path) {
  const auto [found, is_new] = files_.try_emplace(path, static_cast<std::uint32_t>(sizes_.size()));
  if (is_new) {
    sizes_.push_back(0);
  }
  return found->second;
}

void TracePositions::change_names(const TraceEvent& event) {
  constexpr unsigned exchange = 2;  // RENAME_EXCHANGE
  if (event.result < 0 || event.path == event.other) {
    return;
  }
  const bool renames = event.operation == TraceEvent::rename;
  const bool exchanges = renames && (static_cast<unsigned>(event.flags) & exchange) != 0;
  if (renames || event.operation == TraceEvent::link) {
    const std::uint32_t moved = file_at(event.path);
    const std::uint32_t other = exchanges ? file_at(event.other) : 0;
    files_[event.other] = moved;
    if (exchanges) {
      files_[event.path] = other;
      return;
    }
  }
  if (renames || event.operation == TraceEvent::remove) {
    files_.erase(event.path);
  }
}

std::int64_t TracePositions::move(Open& open, const TraceEvent& event) {
  const bool own = event.offset == TraceEvent::at_position;
  std::int64_t& size = sizes_[open.file];
  // Linux appends with pwrite too.
  const bool appends = open.appends && event.operation == TraceEvent::write;
  const std::int64_t out = appends ? size : own ? open.position : event.offset;
  std::int64_t end = 0;
  if (__builtin_add_overflow(out, std::max<std::int64_t>(event.result, 0), &end)) {
    return out;  // no file of this world
  }
  size = std::max(size, end);
  open.position = own ? end : open.position;
  return out;
}

std::int64_t TracePositions::offset_of(const TraceEvent& event) {
  switch (event.operation) {
    case TraceEvent::open:
      if (event.result >= 0 && event.file != 0) {
        const bool known = event.flags != TraceEvent::was_open;
        const std::uint32_t file = file_at(event.path);
        all_[event.file] = {.file = file, .appends = known && (event.flags & O_APPEND) != 0};
        if (known && (event.flags & O_TRUNC) != 0) {
          sizes_[file] = 0;
        }
      }
      return event.offset;
    case TraceEvent::close:
      all_.erase(event.file);
      return 0;
    case TraceEvent::seek:
      if (event.result >= 0) {
        Open& open = all_[event.file];
        open.position = event.result;
        std::int64_t size = 0;
        if (event.flags == SEEK_END && !__builtin_sub_overflow(event.result, event.offset, &size)) {
          sizes_[open.file] = size;
        }
      }
      return event.offset;
    case TraceEvent::truncate:
      if (event.result >= 0 && event.length <= INT64_MAX) {
        sizes_[all_[event.file].file] = static_cast<std::int64_t>(event.length);
      }
      return event.offset;
    case TraceEvent::read:
    case TraceEvent::write:
      return move(all_[event.file], event);
    case TraceEvent::remove:
    case TraceEvent::rename:
    case TraceEvent::link:
      change_names(event);
      return 0;
    default:
      return event.offset;
  }
}

std::string event_line(const TraceEvent& event, const EventTexts& texts) {
  const std::string other = texts.other.empty() ? "" : " -> " + escape(texts.other);
  return fmt::format("{:13.6f}  {:>13}  {:8}  {:24}  {:12}  {:>8}  {}{}\n", seconds(event.begin),
                     fmt::format("{}/{}", event.process, event.thread), operation_name(event.operation),
                     what(event), outcome(event), human_duration(seconds(event.duration)), escape(texts.path),
                     other);
}

std::string csv_head() {
  return "begin_ns,duration_ns,process,thread,point,operation,file,path,offset,length,flags,mode,result,"
         "other\n";
}

std::string csv_line(const TraceEvent& event, const EventTexts& texts) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", event.begin, event.duration,
                     event.process, event.thread, quoted(texts.point), operation_name(event.operation),
                     event.file, quoted(texts.path), event.offset, event.length, event.flags, event.mode,
                     event.result, quoted(texts.other));
}

std::string json_line(const TraceEvent& event, const EventTexts& texts) {
  Json out = {
      {"begin", event.begin},   {"duration", event.duration}, {"process", event.process},
      {"thread", event.thread}, {"point", texts.point},       {"operation", operation_name(event.operation)},
      {"file", event.file},     {"offset", event.offset},     {"length", event.length},
      {"flags", event.flags},   {"mode", event.mode},         {"result", event.result}};
  put_bytes(out, "path", texts.path);
  if (!texts.other.empty()) {
    put_bytes(out, "other", texts.other);
  }
  if (!texts.site.empty()) {
    put_bytes(out, "site", texts.site);
  }
  return out.dump();
}

std::string chrome_line(const TraceEvent& event, const EventTexts& texts) {
  const Json out = {{"name", operation_name(event.operation)},
                    {"cat", texts.point},
                    {"ph", "X"},
                    {"ts", static_cast<double>(event.begin) / 1e3},
                    {"dur", static_cast<double>(event.duration) / 1e3},
                    {"pid", event.process},
                    {"tid", event.thread},
                    {"args",
                     {{"path", escape(texts.path)},
                      {"offset", event.offset},
                      {"length", event.length},
                      {"result", event.result}}}};
  return out.dump();
}

}  // namespace sluice
