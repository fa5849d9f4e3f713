#include "fronts/preload/elsewhere.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/area.h"

namespace sluice::preload {

FoundMove elsewhere(int folder, const char* path, bool& again) {
  Area* area = this_area();
  again = false;
  return area == nullptr || area->moves_live == 0 || path == nullptr ? FoundMove()
                                                                     : find_move(*area, folder, path, again);
}

FoundMove elsewhere(int folder, const char* path) {
  FoundMove out;
  use_data(folder, path, [&](const FoundMove& found) {
    out = found;
    return true;
  });
  return out;
}

bool path_at(std::string_view data, char (&out)[sizeof(AreaMove::path)]) {
  Area* area = this_area();
  if (area == nullptr || area->moves_live.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  const AreaMove* move = move_with(*area, data);
  return move != nullptr && !is_placed(*move) && path_with(*area, data, out);
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

const char* placed_data(int folder, const char* path, int flags) {
  const bool dislikes = (flags & O_NOFOLLOW) != 0 || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  const FoundMove found = flags >= 0 && dislikes ? elsewhere(folder, path) : FoundMove();
  return found && is_placed(*found.row) ? found.row->data.data() : nullptr;  // whose row is never another's
}

}  // namespace sluice::preload
