// New files are made in memory, and put down together in the background: a program that makes thousands of
// small ones does not wait for each. Level job: others see them when they are put down, at the latest when
// the run ends; processes of the run when they look for them.
#include <atomic>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/elsewhere.h"
#include "pipeline/parameters.h"

namespace sluice {
namespace {

std::array<Elsewhere, 64> all;
std::atomic<std::size_t> used = 0;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  const std::size_t index = used.fetch_add(1);
  if (index >= all.size()) {
    return parameters.refuse("too many of them");
  }
  Elsewhere& out = all[index];
  out.hidden = true;
  while (parameters.next()) {
    if (parameters.name == "level" && parameters.value == "job") {
      continue;
    }
    if (parameters.name != "except" || out.exceptions == Elsewhere::most_exceptions ||
        parameters.value.size() >= out.except[0].size()) {
      return parameters.refuse("smallfiles has level=job, which it needs, and except=GLOB of file names");
    }
    std::memcpy(out.except[out.exceptions++].data(), parameters.value.data(), parameters.value.size());
  }
  if (const Area* area = this_area(); area != nullptr) {
    std::memcpy(out.folder.data(), area->files_folder.data(), area->files_folder.size());
  }
  *state = &out;
  return 0;
}

std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  return act_elsewhere(*static_cast<const Elsewhere*>(state), file_state, *activity, next);
}

}  // namespace

extern const sluice_stage stage_smallfiles = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "smallfiles",
    .summary = "makes new files in memory, and puts them down together",
    .scope = "job",
    .interference = "calls",
    .state = "buffers",
    .semantics = "relaxed",
    .parameters =
        "level=job when others see them\nexcept= names of files that are made at once, a glob; several times",
    .operations = elsewhere_operations,
    .aside = 0,
    .start = start,
    .act = act,
};

}  // namespace sluice
