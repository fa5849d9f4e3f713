// One call of a traced program.
#pragma once

#include <cstdint>

namespace sluice {

struct TraceEvent {
  // As enum sluice_operation has them; these are the trace's own. They are part of the format.
  enum Operation : std::uint8_t {
    open = 0,
    close = 1,
    read = 2,
    write = 3,
    seek = 4,
    sync = 5,
    truncate = 6,
    allocate = 7,
    advise = 17,
    // These have a path, and no open file.
    remove = 18,
    rename = 19,  // to the other path
    link = 20,    // the other path is a further name
    make_folder = 21,
    sync_folder = 22,
    started = 32  // a process, or another program in one: its program is the path, its parent the result
  };
  static constexpr std::int32_t was_open = -1;     // flags of an open that nobody saw
  static constexpr std::int64_t at_position = -1;  // offset of a call that uses the file's own

  std::int64_t begin = 0;     // nanoseconds since the trace began
  std::int64_t duration = 0;  // nanoseconds
  std::int64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t result = 0;  // or the negative errno
  std::int32_t flags = 0;
  std::uint32_t mode = 0;
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint32_t file = 0;   // which open file; 0 = none
  std::uint32_t path = 0;   // which path; 0 = none
  std::uint32_t other = 0;  // what was opened instead, or the new name
  std::uint32_t site = 0;   // who opened it, "MODULE+0xOFFSET" among the paths (trace/site.h); 0 = not known
  std::uint8_t operation = 0;
  std::uint8_t point = 0;  // where in the stack it was seen
  bool operator==(const TraceEvent&) const = default;

  // Whether it is about names, and not about an open file.
  [[nodiscard]] bool is_about_names() const { return operation >= remove && operation <= sync_folder; }
};

// Open files have numbers one after another; of some the record is lost. Whether a run that opened so many up
// to now can have given this one.
constexpr bool is_given(std::uint32_t file, std::uint64_t opens) {
  constexpr std::uint64_t most_lost = 1U << 20U;
  return file != 0 && file < most_lost + 4 * opens;
}

}  // namespace sluice
