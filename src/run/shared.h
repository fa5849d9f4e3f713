// The memory that a run shares with its program, and which files get which stages in it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "intent/glob.h"
#include "pipeline/area.h"

namespace sluice {

// Files of these paths pass these stages, the first nearest to the program.
struct Stacked {
  Glob files;
  std::vector<std::string> stages;
};

// Whether every stage is there, takes its parameters, and they can stand in this order.
Status check_stages(const std::vector<std::string>& stages);
// Whether any of them leaves something to be done by others than the program.
bool needs_keeper(const std::vector<std::string>& stages);

// Files of runs that may be over.
std::vector<std::string> leftover_areas();

class SharedArea {
 public:
  // The first that matches a file counts. The file is in memory, this user's alone, and gone with this
  // object, except where something is left in it that could not be written. Stages may keep `memory` bytes
  // back of files, strictly on `mounts`.
  static Result<SharedArea> make(const std::vector<Stacked>& rules, std::uint64_t memory = 0,
                                 const std::vector<AreaMount>& mounts = {});
  SharedArea(SharedArea&& other) noexcept;
  SharedArea& operator=(SharedArea&&) = delete;
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;
  ~SharedArea();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Area& area() const { return *area_; }

 private:
  SharedArea() = default;

  std::string path_;
  UniqueFd fd_;  // locked as long as somebody needs it
  Area* area_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice
