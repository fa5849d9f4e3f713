#include "fronts/preload/elsewhere.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/area.h"

namespace sluice::preload {
namespace {

constexpr int most_looks = 16;  // at a name that others give to one file after another

}  // namespace

AreaMove* elsewhere(int folder, const char* path, bool& again) {
  Area* area = this_area();
  again = false;
  return area == nullptr || area->moves_live == 0 || path == nullptr ? nullptr
                                                                     : move_of(*area, folder, path, again);
}

AreaMove* elsewhere(int folder, const char* path) {
  AreaMove* out = nullptr;
  bool again = true;
  for (int i = 0; again && i < most_looks; ++i) {
    out = elsewhere(folder, path, again);
  }
  return out;
}

AreaMove* elsewhere_at(std::string_view data) {
  Area* area = this_area();
  AreaMove* move = area == nullptr || area->moves_live.load(std::memory_order_relaxed) == 0
                       ? nullptr
                       : move_with(*area, data);
  return move != nullptr && !is_placed(*move) ? move : nullptr;
}

bool may_be_data(const char* path) {
  const Area* area = this_area();
  const std::string_view text = path == nullptr ? "" : path;
  return area != nullptr && area->moves_made.load(std::memory_order_relaxed) != 0 &&
         text.substr(text.rfind('/') + 1).starts_with(data_prefix);
}

bool may_come_home(int folder, const char* path) {
  const Area* area = this_area();
  if (area == nullptr || area->moves_made.load(std::memory_order_relaxed) == 0 || path == nullptr) {
    return false;
  }
  const int saved = errno;
  struct stat found {};
  const bool out = syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
  errno = saved;
  return out;
}

void let_land(int folder, const char* path) {
  const int saved = errno;
  elsewhere(folder, path);
  errno = saved;
}

const char* placed_data(int folder, const char* path, int flags) {
  const bool dislikes = (flags & O_NOFOLLOW) != 0 || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  const AreaMove* move = flags >= 0 && dislikes ? elsewhere(folder, path) : nullptr;
  return move != nullptr && is_placed(*move) ? move->data.data() : nullptr;
}

}  // namespace sluice::preload
