#include "pipeline/buffers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {

bool is_alive(const Buffer& buffer) {
  return buffer.process != 0 && process_start(buffer.process) == buffer.started;
}

FileStamp stamp_of(int fd, bool& good) {
  struct stat found {};
  good = syscall(SYS_fstat, fd, &found) == 0;
  return {
      .size = found.st_size, .changed = nanoseconds(found.st_mtim), .touched = nanoseconds(found.st_ctim)};
}

FileHandle handle_of(int fd, int& mount) {
  FileHandle out;
  constexpr std::uint32_t room = sizeof out.bytes - 8;
  std::memcpy(out.bytes.data(), &room, sizeof room);
  mount = -1;
  if (syscall(SYS_name_to_handle_at, fd, "", out.bytes.data(), &mount, AT_EMPTY_PATH) == 0) {
    return out;
  }
  struct statx found {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) == 0 &&
      (found.stx_mask & STATX_MNT_ID) != 0) {
    mount = static_cast<int>(found.stx_mnt_id);
  }
  return {};
}

}  // namespace sluice
