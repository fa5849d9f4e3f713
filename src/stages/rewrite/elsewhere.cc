#include "stages/rewrite/elsewhere.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/tell.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

constexpr int most_naps = 1000;

std::atomic<unsigned> made = 0;

// Whether nothing is at the path.
bool is_new(const char* path) {
  struct stat found {};
  return syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

// The group that a file gets which is made there. False where it would get more from its
// folder, an access list: that is left to the kernel.
bool group_from(const char* path, gid_t& group) {
  char folder[sizeof(AreaMove::path)];
  const char* slash = std::strrchr(path, '/');
  std::snprintf(folder, sizeof folder, "%.*s/", static_cast<int>(slash - path), path);
  struct stat found {};
  if (syscall(SYS_newfstatat, AT_FDCWD, folder, &found, 0) != 0 ||
      syscall(SYS_getxattr, folder, "system.posix_acl_default", nullptr, 0) > 0) {
    return false;
  }
  group = (found.st_mode & S_ISGID) != 0 ? found.st_gid : static_cast<gid_t>(syscall(SYS_getegid));
  return true;
}

bool give_group(int fd, gid_t group) {
  struct stat found {};
  return syscall(SYS_fstat, fd, &found) == 0 &&
         (found.st_gid == group || syscall(SYS_fchown, fd, static_cast<uid_t>(-1), group) == 0);
}

// What is to be known of a file whose writes are safe when they return.
std::uint32_t safety(const sluice_activity& activity) {
  return (activity.flags & (O_SYNC | O_DSYNC)) != 0 ? std::uint32_t{AreaMove::synced} : 0;
}

// Makes the file there and the link here; null where it is better made here, and where somebody was faster:
// then `again`. `path` is its real one.
AreaMove* make_elsewhere(const Elsewhere& where, const char* path, sluice_activity& activity,
                         const sluice_next* next, bool& again) {
  Area* area = this_area();
  std::array<char, sizeof(AreaMove::data)> data = {};
  gid_t group = 0;
  // Where nobody would bring it home, it is made here. Who has other numbers of processes cannot tell.
  const bool kept = area->process_space != process_space() || keeper_lives(*area);
  if (area->over != 0 || !kept || has_other_root(*area) || !is_new(path) || is_excepted(where, path) ||
      !group_from(path, group) || !name_data(where, path, data)) {
    return nullptr;
  }
  AreaMove* move = new_move(*area, path, data.data());
  if (move == nullptr) {
    return nullptr;
  }
  sluice_activity there = activity;
  there.descriptor = AT_FDCWD;
  there.target = data.data();
  there.flags |= O_EXCL;
  const std::uint32_t generation = move->generation;
  const auto give_up = [&] {
    if (move->generation == generation) {  // else the run is over, and it was given up for us
      end_move(*area, *move);
    }
  };
  move->flags = safety(activity);
  // The record first: whoever is killed after it has left a link that somebody brings home, or none.
  move->state.store(AreaMove::there, std::memory_order_release);
  const std::int64_t fd = next->act(next, &there);
  if (fd < 0) {
    give_up();
    return nullptr;
  }
  area->moves_made.fetch_add(1, std::memory_order_relaxed);
  const bool given = give_group(static_cast<int>(fd), group);
  if (!given || !link_to(*area, *move)) {
    again = given && errno == EEXIST;
    give_up();
    syscall(SYS_unlinkat, AT_FDCWD, data.data(), 0);
    syscall(SYS_close, static_cast<int>(fd));
    return nullptr;  // one may not write there: as without us
  }
  area->made_elsewhere.fetch_add(1, std::memory_order_relaxed);
  activity.error = 0;
  activity.result = fd;
  return move;
}

// Opens the data of a file that is elsewhere. False where it is not there any more.
bool open_elsewhere(const FoundMove& found, void** file_state, sluice_activity& activity,
                    const sluice_next* next) {
  const bool writes = (activity.flags & O_ACCMODE) != O_RDONLY;
  sluice_activity there = activity;
  there.descriptor = AT_FDCWD;
  there.target = found.data.data();
  there.flags &= ~(O_NOFOLLOW | O_CREAT);
  std::uint32_t before = 0;
  if ((activity.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
    there.result = -1;
    there.error = EEXIST;
  } else {
    if (writes) {
      before = found.row->flags.fetch_and(~std::uint32_t{AreaMove::closed});
    }
    next->act(next, &there);
    // It does not wait for who brings it home, and would not have to wait for a file.
    for (int i = 0;
         i < most_naps && there.result < 0 && there.error == EAGAIN && (there.flags & O_NONBLOCK) != 0; ++i) {
      const timespec nap{.tv_sec = 0, .tv_nsec = 1000000};
      syscall(SYS_nanosleep, &nap, nullptr);
      next->act(next, &there);
    }
  }
  // Whoever brings it home says so first, and then looks whether it is open; we the other way round.
  const bool still = found.is_still();
  if (!still || there.result < 0) {
    found.row->flags.fetch_or(before & AreaMove::closed);  // which may have been another file's
  }
  if (there.result >= 0 && !still) {
    syscall(SYS_close, static_cast<int>(there.result));
    return false;
  }
  if (there.result < 0 && (there.error == ENOENT || there.error == ELOOP)) {
    return false;
  }
  if (there.result >= 0 && writes) {
    found.row->flags.fetch_or(safety(activity));
  }
  *file_state = there.result >= 0 && writes ? pack_move(*this_area(), found) : nullptr;
  activity.error = there.error;
  activity.result = there.result;
  return true;
}

// As it is there. Who follows no links may have come upon one that was made just now.
std::int64_t open_here(void** file_state, sluice_activity& activity, const sluice_next* next) {
  const std::int64_t out = next->act(next, &activity);
  Area* area = this_area();
  if (out >= 0 || activity.error != ELOOP || (activity.flags & O_NOFOLLOW) == 0 || area == nullptr) {
    return out;
  }
  bool again = false;
  const FoundMove found = find_move(*area, activity.descriptor, activity.target, again);
  const bool ours = found && !is_placed(*found.row);
  return ours && open_elsewhere(found, file_state, activity, next) ? activity.result : out;
}

std::int64_t open_file(const Elsewhere& where, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  Area* area = this_area();
  const bool makes = (activity.flags & O_CREAT) != 0 && (activity.flags & O_ACCMODE) != O_RDONLY &&
                     (activity.flags & O_TMPFILE) != O_TMPFILE;
  // One that ends in '/' is no file's: the kernel says so.
  if (area == nullptr || activity.target == nullptr || activity.target[0] == 0 ||
      (!makes && area->moves_live == 0) || activity.target[std::strlen(activity.target) - 1] == '/') {
    return open_here(file_state, activity, next);
  }
  // It may come home, or be replaced by another, between any two looks.
  for (int i = 0; i < most_looks; ++i) {
    bool again = false;
    char path[sizeof(AreaMove::path)];
    if (const FoundMove found = find_move(*area, activity.descriptor, activity.target, again); found) {
      if (is_placed(*found.row)) {
        break;  // whoever opens it below knows
      }
      if (open_elsewhere(found, file_state, activity, next)) {
        return activity.result;
      }
      continue;
    }
    if (!again && makes && real_path(activity.descriptor, activity.target, path)) {
      if (const AreaMove* move = make_elsewhere(where, path, activity, next, again); move != nullptr) {
        *file_state = pack_move(*area, *move);
        return activity.result;
      }
    }
    if (!again) {
      break;
    }
  }
  return open_here(file_state, activity, next);
}

// Whoever has it elsewhere may bring it home.
void close_file(Area& area, AreaMove& move) {
  move.flags.fetch_or(AreaMove::closed);
  // Of many that come together the keeper is told once.
  if (area.moves_told.exchange(1) == 0) {
    tell_keeper(area, {.kind = KeeperMessage::home, .buffer = 0, .generation = 0, .process = 0}, -1);
  }
}

}  // namespace

bool is_excepted(const Elsewhere& where, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (std::size_t i = 0; i < where.exceptions; ++i) {
    if (fnmatch(where.except[i].data(), name, 0) == 0) {
      return true;
    }
  }
  return false;
}

bool name_data(const Elsewhere& where, const char* path, std::array<char, 256>& out) {
  const char* slash = std::strrchr(path, '/');
  const int length =
      std::snprintf(out.data(), out.size(), "%s/%s%ld-%u-%.60s", where.folder.data(), data_prefix.data(),
                    syscall(SYS_getpid), made.fetch_add(1), slash == nullptr ? path : slash + 1);
  return length > 0 && static_cast<std::size_t>(length) < out.size();
}

std::int64_t act_elsewhere(const Elsewhere& where, void** file_state, sluice_activity& activity,
                           const sluice_next* next) {
  if (activity.operation == SLUICE_OPEN) {
    return open_file(where, file_state, activity, next);
  }
  const std::int64_t result = next->act(next, &activity);
  AreaMove* move = *file_state == nullptr ? nullptr : unpack_move(*this_area(), *file_state);
  if (activity.operation == SLUICE_CLOSE) {
    *file_state = nullptr;
  }
  if (move != nullptr && activity.operation == SLUICE_SYNC) {
    move->flags.fetch_or(AreaMove::synced);
  } else if (move != nullptr) {
    close_file(*this_area(), *move);
  }
  return result;
}

}  // namespace sluice
