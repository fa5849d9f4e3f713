#include "stages/rewrite/elsewhere.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

std::atomic<unsigned> made = 0;

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

// A name of its own there, which ends as the file's does, so that people see what it is.
bool name_data(const Elsewhere& where, const char* path, char (&out)[sizeof(AreaMove::data)]) {
  const char* slash = std::strrchr(path, '/');
  const int length =
      std::snprintf(out, sizeof out, "%s/sluice-%ld-%u-%.60s", where.folder.data(), syscall(SYS_getpid),
                    made.fetch_add(1), slash == nullptr ? path : slash + 1);
  return length > 0 && static_cast<std::size_t>(length) < sizeof out;
}

// Whether nothing is at the path.
bool is_new(const char* path) {
  struct stat found {};
  return syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

// Makes the file there and the link here; null where it is better made here.
AreaMove* make_elsewhere(const Elsewhere& where, sluice_activity& activity, const sluice_next* next) {
  Area* area = this_area();
  char data[sizeof(AreaMove::data)];
  if (area == nullptr || area->over != 0 || !is_new(activity.path) || is_excepted(where, activity.path) ||
      !name_data(where, activity.path, data)) {
    return nullptr;
  }
  AreaMove* move = new_move(*area, activity.path, data);
  if (move == nullptr) {
    return nullptr;
  }
  sluice_activity there = activity;
  there.descriptor = AT_FDCWD;
  there.target = data;
  there.flags |= O_EXCL;
  const std::int64_t fd = next->act(next, &there);
  if (fd < 0) {
    end_move(*area, *move);
    return nullptr;
  }
  // The record first: whoever is killed after it has left a link that somebody brings home, or none.
  move->state.store(AreaMove::there, std::memory_order_release);
  if (!link_to(*move)) {
    end_move(*area, *move);
    syscall(SYS_unlinkat, AT_FDCWD, data, 0);
    syscall(SYS_close, static_cast<int>(fd));
    return nullptr;  // somebody was faster, or may not write there: as without us
  }
  area->moves_made.fetch_add(1, std::memory_order_relaxed);
  activity.error = 0;
  activity.result = fd;
  return move;
}

std::int64_t open_file(const Elsewhere& where, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  Area* area = this_area();
  if (activity.target == nullptr) {
    return next->act(next, &activity);
  }
  const bool writes = (activity.flags & O_ACCMODE) != O_RDONLY;
  const bool anew = (activity.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  AreaMove* move = area == nullptr ? nullptr : move_of(*area, activity.path);
  if (move != nullptr && anew) {
    activity.error = EEXIST;
    return activity.result = -1;
  }
  if (move != nullptr) {
    sluice_activity there = activity;
    there.descriptor = AT_FDCWD;
    there.target = move->data.data();
    there.flags &= ~(O_NOFOLLOW | O_CREAT);
    if (writes) {
      move->flags.fetch_and(~std::uint32_t{AreaMove::closed});
    }
    // Whoever brings it home says so first, and then looks whether it is open; we the other way round.
    if (next->act(next, &there) >= 0) {
      if (is_elsewhere(*move)) {
        *file_state = writes ? move : nullptr;
        activity.error = 0;
        return activity.result = there.result;
      }
      syscall(SYS_close, static_cast<int>(there.result));
    } else if (there.error != ENOENT) {
      activity.error = there.error;
      return activity.result = -1;
    }
    move = move_of(*area, activity.path);  // it has come home meanwhile, or that was tried
  }
  if (move == nullptr && (activity.flags & O_CREAT) != 0 && writes &&
      (activity.flags & O_TMPFILE) != O_TMPFILE) {
    *file_state = make_elsewhere(where, activity, next);
    if (*file_state != nullptr) {
      return activity.result;
    }
  }
  return next->act(next, &activity);
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

std::int64_t act_elsewhere(const Elsewhere& where, void** file_state, sluice_activity& activity,
                           const sluice_next* next) {
  if (activity.operation == SLUICE_OPEN) {
    return open_file(where, file_state, activity, next);
  }
  const std::int64_t result = next->act(next, &activity);
  auto* move = static_cast<AreaMove*>(*file_state);
  if (move != nullptr && activity.operation == SLUICE_SYNC) {
    move->flags.fetch_or(AreaMove::synced);
  } else if (move != nullptr) {
    *file_state = nullptr;
    close_file(*this_area(), *move);
  }
  return result;
}

}  // namespace sluice
