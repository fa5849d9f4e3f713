// New files are made in another folder, and their path is a link to them until the program has closed them;
// then the keeper brings them home (run/keeper.h). Files that exist stay where they are.
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
#include "pipeline/parameters.h"
#include "pipeline/tell.h"

namespace sluice {
namespace {

constexpr std::size_t most_exceptions = 8;
constexpr std::size_t longest = 4096;

struct Elsewhere {
  std::array<char, 1024> folder = {};
  std::array<std::array<char, 128>, most_exceptions> except = {};
  std::size_t exceptions = 0;
};

std::array<Elsewhere, 64> all;
std::atomic<std::size_t> used = 0;
std::atomic<unsigned> made = 0;

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  const std::size_t index = used.fetch_add(1);
  if (index >= all.size()) {
    return parameters.refuse("too many of them");
  }
  Elsewhere& out = all[index];
  while (parameters.next()) {
    if (parameters.name == "to" && parameters.value.starts_with('/') &&
        parameters.value.size() < out.folder.size()) {
      std::memcpy(out.folder.data(), parameters.value.data(), parameters.value.size());
    } else if (parameters.name == "except" && out.exceptions < most_exceptions &&
               parameters.value.size() < out.except[0].size()) {
      std::memcpy(out.except[out.exceptions++].data(), parameters.value.data(), parameters.value.size());
    } else {
      return parameters.refuse("rewrite has to=/FOLDER, which is absolute, and except=GLOB of file names");
    }
  }
  struct stat found {};
  if (syscall(SYS_newfstatat, AT_FDCWD, out.folder.data(), &found, 0) != 0 || !S_ISDIR(found.st_mode)) {
    parameters.name = "to";
    parameters.value = out.folder.data();
    return parameters.refuse("there is no such folder; make it first");
  }
  *state = &out;
  return 0;
}

bool is_excepted(const Elsewhere& elsewhere, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (std::size_t i = 0; i < elsewhere.exceptions; ++i) {
    if (fnmatch(elsewhere.except[i].data(), name, 0) == 0) {
      return true;
    }
  }
  return false;
}

// A name of its own there, which ends as the file's does, so that people see what it is.
bool name_target(const Elsewhere& elsewhere, const char* path, char (&out)[longest]) {
  const char* slash = std::strrchr(path, '/');
  const int length =
      std::snprintf(out, sizeof out, "%s/sluice-%ld-%u-%.200s", elsewhere.folder.data(), syscall(SYS_getpid),
                    made.fetch_add(1), slash == nullptr ? path : slash + 1);
  return length > 0 && static_cast<std::size_t>(length) < sizeof out;
}

// Makes the file there and the link here. False where it is better made here.
bool make_elsewhere(const Elsewhere& elsewhere, sluice_activity& activity, const sluice_next* next) {
  Area* area = this_area();
  struct stat found {};
  char target[longest];
  if (area == nullptr || area->over != 0 ||
      syscall(SYS_newfstatat, AT_FDCWD, activity.path, &found, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT ||
      is_excepted(elsewhere, activity.path) || !name_target(elsewhere, activity.path, target)) {
    return false;
  }
  AreaMove* move = area->new_move();
  const std::uint32_t path_text = move == nullptr ? 0 : area->keep_text(activity.path);
  const std::uint32_t target_text = path_text == 0 ? 0 : area->keep_text(target);
  if (target_text == 0) {
    return false;
  }
  sluice_activity there = activity;
  there.descriptor = AT_FDCWD;
  there.target = target;
  there.flags |= O_EXCL;
  const std::int64_t fd = next->act(next, &there);
  if (fd < 0) {
    return false;
  }
  // The record first: whoever is killed after it has left a link that somebody brings home, or none.
  move->path.store(path_text);
  move->target = target_text;
  move->state.store(AreaMove::elsewhere, std::memory_order_release);
  if (syscall(SYS_symlinkat, target, AT_FDCWD, activity.path) != 0) {
    move->state.store(AreaMove::home);
    syscall(SYS_unlinkat, AT_FDCWD, target, 0);
    syscall(SYS_close, static_cast<int>(fd));
    return false;  // somebody was faster, or may not write there: as without us
  }
  activity.error = 0;
  activity.result = fd;
  return true;
}

std::int64_t open_file(const Elsewhere& elsewhere, void** file_state, sluice_activity& activity,
                       const sluice_next* next) {
  Area* area = this_area();
  if (activity.target == nullptr) {
    return next->act(next, &activity);
  }
  const bool writes = (activity.flags & O_ACCMODE) != O_RDONLY;
  const bool anew = (activity.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  AreaMove* move = area == nullptr ? nullptr : area->move_of(activity.path);
  if (move != nullptr && !anew) {
    sluice_activity there = activity;
    there.descriptor = AT_FDCWD;
    there.target = area->text_at(move->target);
    there.flags &= ~(O_NOFOLLOW | O_CREAT);
    if (next->act(next, &there) >= 0) {
      *file_state = writes ? move : nullptr;
      activity.error = 0;
      return activity.result = there.result;
    }
    move = nullptr;  // it has come home meanwhile
  }
  if (move == nullptr && (activity.flags & O_CREAT) != 0 && writes &&
      (activity.flags & O_TMPFILE) != O_TMPFILE && make_elsewhere(elsewhere, activity, next)) {
    *file_state = area->move_of(activity.path);
    return activity.result;
  }
  return next->act(next, &activity);
}

std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  if (activity->operation == SLUICE_OPEN) {
    return open_file(*static_cast<const Elsewhere*>(state), file_state, *activity, next);
  }
  const std::int64_t result = next->act(next, activity);
  auto* move = static_cast<AreaMove*>(*file_state);
  *file_state = nullptr;
  Area* area = this_area();
  std::uint32_t elsewhere = AreaMove::elsewhere;
  if (move != nullptr && area != nullptr) {
    move->state.compare_exchange_strong(elsewhere, AreaMove::closed);
    tell_keeper(*area, {.kind = KeeperMessage::home, .buffer = 0, .generation = 0, .process = 0}, -1);
  }
  return result;
}

}  // namespace

extern const sluice_stage stage_rewrite = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "rewrite",
    .summary = "makes new files in another folder, and brings them home when they are closed",
    .scope = "file",
    .interference = "calls",
    .state = "buffers",
    .semantics = "relaxed",
    .parameters = "to= the folder, absolute\nexcept= names of files that stay, a glob; several times",
    .operations = SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_CLOSE),
    .aside = 0,
    .start = start,
    .act = act,
};

}  // namespace sluice
