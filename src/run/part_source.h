// Parts as they lie in a folder, what their pieces make together, and how that gets into a file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "pipeline/parts.h"

namespace sluice {

// A file as its pieces make it.
struct Combined {
  struct Extent {
    std::uint64_t end = 0;
    std::size_t part = 0;  // who has it

    bool operator==(const Extent&) const = default;
  };
  static constexpr std::uint64_t all = UINT64_MAX;

  std::uint64_t kept = all;  // so far the file that is there stays, where no extent says otherwise
  std::uint64_t reach = 0;   // it ends there at least
  std::map<std::uint64_t, Extent> extents;  // by where they begin; none overlap
};

// Of the pieces of each part, in any order. Of two pieces the later one counts. How long the file is that is
// there is no matter: others may make it longer at any moment, and lose nothing. Pure.
Combined combine_pieces(const std::vector<std::vector<Piece>>& parts);

// A part, as whoever brings it together has it.
struct PartSource {
  std::string data;
  UniqueFd fd;
  std::vector<Piece> pieces;
};

// Without pieces, and without a descriptor where it cannot be opened.
PartSource open_source(std::string data);
// With what is noted of it, in its log and in memory.
Result<PartSource> source_of(const AreaPart& part);
// All of a log's bytes.
Result<std::string> read_log(const PartSource& log);
// Others could put something there that writes to files in our name.
bool is_ours(const PartSource& source);

// What the sources make together, into a file that is the one it belongs to, or new and empty. `begins` is
// called before each change.
Status write_sources(const std::vector<PartSource>& sources, int fd, const std::function<void()>& begins);

}  // namespace sluice
