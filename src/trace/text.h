// Events as text: for people, and for other programs.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/reader.h"

namespace sluice {

// "read"; "" where there is none of that number.
std::string_view operation_name(std::uint8_t operation);
// -1 where none is called so.
int find_operation(std::string_view name);

// Knows which path an open file has.
class TraceFiles {
 public:
  // The path that the event is about, and keeps it in mind where it opens a file.
  const std::string& path_of(const TraceReader& trace, const TraceEvent& event);

 private:
  std::vector<std::uint32_t> paths_;  // by number of the open file
  std::uint64_t opens_ = 0;
};

// Knows where the own position of an open file is, by what was done to it before. What was in a file before
// the trace is not known: one that is appended to begins at 0, unless it was seen to be longer.
class TracePositions {
 public:
  // Where a read or write was, and follows the event.
  std::int64_t offset_of(const TraceEvent& event);
  // Bytes of the file with that number of a path, as far as they were seen.
  [[nodiscard]] std::int64_t size_of(std::uint32_t path) const;

 private:
  struct Open {
    std::int64_t position = 0;
    std::uint32_t file = 0;
    bool appends = false;
  };
  std::int64_t move(Open& open, const TraceEvent& event);
  // The file that a path is now; one that is removed, or has another name, stays what it is for who has it
  // open.
  std::uint32_t file_at(std::uint32_t path);
  void change_names(const TraceEvent& event);

  std::unordered_map<std::uint32_t, Open> all_;             // by number of the open file
  std::unordered_map<std::uint32_t, std::uint32_t> files_;  // by number of the path
  std::vector<std::int64_t> sizes_ = {0};                   // by file; the first is that of none
};

// What the numbers of an event mean; "" where it has none.
struct EventTexts {
  const std::string& path;
  const std::string& other;
  const std::string& point;
  const std::string& site;
};

// A line with its end: "     0.001234  1234/1235  write  4096 at 8192 = 4096  12.3 us  /data/out".
std::string event_line(const TraceEvent& event, const EventTexts& texts);

std::string csv_head();
std::string csv_line(const TraceEvent& event, const EventTexts& texts);
// One object; it has another path and a site where these are not empty.
std::string json_line(const TraceEvent& event, const EventTexts& texts);
// For Perfetto and chrome://tracing: an object of the list traceEvents.
std::string chrome_line(const TraceEvent& event, const EventTexts& texts);

}  // namespace sluice
