// Where in the source a program opens a file: "module+0xoffset", as traces say it, becomes file and line.
//
// binutils' addr2line reads the debugging information, in a process of its own with a limit of time: the
// module may be any file. From any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

struct CallSite {
  std::string module;        // absolute path of the program or library
  std::uint64_t offset = 0;  // of where the call returns to, from where the module is loaded
  bool operator==(const CallSite&) const = default;
};
// Nothing where it is none.
std::optional<CallSite> parse_call_site(std::string_view text);

struct SourceLine {
  std::string file;   // as the compiler was told it
  unsigned line = 0;  // 0 = only the function is known
  std::string function;
  bool operator==(const SourceLine&) const = default;
};

// A header or source of what comes with the machine.
bool is_of_system(std::string_view file);

// For each site the line of the call; without debugging information the function alone; nothing where the
// module is gone, has not even names, or is no program. Of what was inlined it is the innermost line that is
// not in a header of the system. ENOENT where there is no addr2line. A module that was built again since the
// trace gives wrong lines.
Result<std::vector<std::optional<SourceLine>>> find_source_lines(std::span<const CallSite> sites);

}  // namespace sluice
