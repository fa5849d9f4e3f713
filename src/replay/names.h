// Which file a path is as a trace goes on, and under which name that lies in the replay's folder.
//
// A path whose file is removed or renamed has the same name again for the next one. A path that suddenly is
// another file, and nobody was seen to make it so, has another name for each.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "replay/scan.h"

namespace sluice {

class PathNames {
 public:
  // Both must outlive it.
  PathNames(const TraceReader& trace, TraceScan& out) : trace_(trace), out_(out) {}

  // The file that is there, and its name; 0 = none.
  [[nodiscard]] std::uint32_t file_at(std::uint32_t path) const {
    return path < now_.size() ? now_[path].file : 0;
  }
  [[nodiscard]] std::uint32_t name_at(std::uint32_t path) const {
    return path < now_.size() ? now_[path].name : 0;
  }
  // Another file is there from now on; `new_name`: not under the name of one that is gone.
  std::uint32_t make(std::uint32_t path, bool new_name);
  // Notes what a call that changes names does in the replay. `covered`: both of its paths are.
  void change(const TraceEvent& event, bool covered);

 private:
  struct Now {
    std::uint32_t file = 0;
    std::uint32_t name = 0;
    std::uint32_t numbers = 0;  // of names so far
    std::uint32_t folder = 0;   // its name as a folder
  };
  Now& at(std::uint32_t path);
  std::uint32_t new_name(std::uint32_t path);
  // The file that must have been there before anything was seen of it.
  void expect(std::uint32_t path);
  void put_at(std::uint32_t path, std::uint32_t file);
  ReplayChange remove(std::uint32_t path);
  ReplayChange move(const TraceEvent& event);
  ReplayChange sync(std::uint32_t path);

  const TraceReader& trace_;
  TraceScan& out_;
  [[nodiscard]] bool is_folder(const std::string& path) const;

  std::vector<Now> now_;                       // by path
  std::unordered_set<std::uint64_t> folders_;  // above paths of files, as hashes
};

}  // namespace sluice
