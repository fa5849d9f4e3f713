// The memory that a run shares with its program, and which files get which stages in it.
#pragma once

#include <string>
#include <string_view>
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
// Where in its stack "NAME:point=POINT" stands, by its name.
std::string point_of(std::string_view spec);
// The names that a stage of this name has in all stacks, each once.
Result<std::vector<std::string>> points_of(const std::vector<Stacked>& rules, std::string_view stage);
// Whether any of them leaves something to be done by others than the program.
bool needs_keeper(const std::vector<std::string>& stages);
// The first of them without which a program would do other things to its files, such as one that keeps it
// from writing, or one of the user's own; "" where there is none.
std::string cannot_be_left_out(const std::vector<std::string>& stages);

// Files of runs that may be over.
std::vector<std::string> leftover_areas();

// What a run may have to remember.
struct AreaNeeds {
  std::uint64_t memory = 0;  // bytes that stages may keep back of files, strictly on `mounts`
  std::vector<AreaMount> mounts;
  bool names = false;                     // files may be elsewhere (pipeline/moves.h), also without memory
  std::vector<std::string> trace_points;  // where in the stacks calls are recorded (pipeline/tracing.h)
};

class SharedArea {
 public:
  // The first that matches a file counts. The file is in memory, this user's alone, and gone with this
  // object, except where something is left in it that could not be written.
  static Result<SharedArea> make(const std::vector<Stacked>& rules, const AreaNeeds& needs = {});
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
