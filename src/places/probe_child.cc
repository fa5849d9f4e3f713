#include "places/probe_child.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <linux/quota.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "base/sys.h"
#ifdef SLUICE_HAVE_BLKID
#include <blkid.h>
#endif

namespace sluice {
namespace {

// Since Linux 6.9; older headers lack it.
struct FsUuid {
  std::uint8_t length;
  std::uint8_t bytes[16];
};
constexpr unsigned long get_fs_uuid = _IOR(0x15, 0, FsUuid);
static_assert(get_fs_uuid == 0x80111500);

// "/proc/self/fd/12" without the library: nothing that allocates may be called here.
struct FdPath {
  char text[32];
  explicit FdPath(int fd) {
    std::memcpy(text, "/proc/self/fd/", 15);
    char* end = text + 14;
    char digits[12];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + fd % 10);
      fd /= 10;
    } while (fd > 0);
    while (count > 0) {
      *end++ = digits[--count];
    }
    *end = '\0';
  }
};

// Opens a folder for reading, or where that is denied only as a name. A path longer than the kernel takes at
// once is walked piece by piece.
int open_folder(const char* path) {
  char piece[PATH_MAX];
  UniqueFd at;
  while (std::strlen(path) >= PATH_MAX) {
    const char* cut = path + PATH_MAX - 1;
    while (cut > path && *cut != '/') {
      --cut;
    }
    if (cut == path) {
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(piece, path, static_cast<std::size_t>(cut - path));
    piece[cut - path] = '\0';
    const int next = openat(at ? at.get() : AT_FDCWD, piece, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (next < 0) {
      return -1;
    }
    at = UniqueFd(next);
    path = cut + 1;
  }
  for (const int kind : {O_RDONLY | O_NONBLOCK, O_PATH}) {
    const int flags = kind | O_DIRECTORY | O_CLOEXEC;
    const int fd = at ? openat(at.get(), path, flags) : sys().open(path, flags, 0);
    if (fd >= 0 || (errno != EACCES && errno != EPERM)) {
      return fd;
    }
  }
  return -1;
}

void ask_quota(int fd, int type, std::uint32_t id, ProbeSlot::Limit& out) {
  if_dqblk quota{};
  if (syscall(SYS_quotactl_fd, fd, QCMD(Q_GETQUOTA, type), id, &quota) != 0 ||
      (quota.dqb_valid & QIF_BLIMITS) == 0) {
    return;
  }
  const std::uint64_t limit = quota.dqb_bhardlimit != 0 ? quota.dqb_bhardlimit : quota.dqb_bsoftlimit;
  if (limit != 0) {
    constexpr std::uint64_t quota_block = 1024;
    out = {.known = true, .id = id, .limit = limit * quota_block, .used = quota.dqb_curspace};
  }
}

void ask_space(const char* path, ProbeSlot& slot) {
  struct statvfs space {};
  if (sys().statvfs(path, &space) != 0) {
    slot.fault = errno;
    return;
  }
  slot.transfer = space.f_bsize;
  slot.block = space.f_frsize != 0 ? space.f_frsize : space.f_bsize;
  slot.blocks = space.f_blocks;
  slot.available = space.f_bavail;
  slot.read_only = (space.f_flag & ST_RDONLY) != 0;
}

// What only a descriptor opened for reading tells.
void ask_identity_and_quota(int fd, ProbeSlot& slot) {
  FsUuid uuid{};
  if (sys().ioctl(fd, get_fs_uuid, &uuid) == 0 && uuid.length == sizeof slot.uuid) {
    std::memcpy(slot.uuid, uuid.bytes, sizeof slot.uuid);
    // Images are sometimes made with a UUID of zeros, which tells nothing.
    slot.has_uuid =
        std::any_of(slot.uuid, slot.uuid + sizeof slot.uuid, [](unsigned char c) { return c != 0; });
  }
  ask_quota(fd, USRQUOTA, geteuid(), slot.limits[0]);
  ask_quota(fd, GRPQUOTA, getegid(), slot.limits[1]);
  fsxattr attributes{};
  if (sys().ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 && attributes.fsx_projid != 0) {
    ask_quota(fd, PRJQUOTA, attributes.fsx_projid, slot.limits[2]);
  }
}

// The first writable one. Looks only at folders on the same mount: a link that leads to another one, which
// may hang, is not followed.
std::int32_t ask_folders(int mount, const Question& question) {
  const std::size_t count = std::min(question.folders.size(), most_probe_folders);
  for (std::size_t i = 0; i < count; ++i) {
    const char* below = question.folders[i].c_str() + (question.folder == "/" ? 0 : question.folder.size());
    while (*below == '/') {
      ++below;
    }
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_NO_XDEV;
    const UniqueFd fd(
        static_cast<int>(syscall(SYS_openat2, mount, *below == '\0' ? "." : below, &how, sizeof how)));
    if (fd && sys().access(FdPath(fd.get()).text, W_OK | X_OK) == 0) {
      return static_cast<std::int32_t>(i) + 1;
    }
  }
  return 0;
}

void ask_mount(const Question& question, ProbeSlot& slot) {
  slot.is_folder = true;
  const UniqueFd fd(open_folder(question.folder.c_str()));
  if (!fd) {
    slot.fault = errno;
    slot.is_folder = errno != ENOTDIR;
    return;
  }
  // Through the descriptor a path of any length can be asked; the path itself is quicker.
  const FdPath through(fd.get());
  const char* path = question.folder.size() < PATH_MAX ? question.folder.c_str() : through.text;
  ask_space(path, slot);
  if (slot.fault == 0) {
    slot.writable = sys().access(path, W_OK | X_OK) == 0;
    slot.usable = slot.writable ? 0 : ask_folders(fd.get(), question);
    ask_identity_and_quota(fd.get(), slot);
  }
}

void ask_device(const Question& question, ProbeSlot& slot) {
#ifdef SLUICE_HAVE_BLKID
  struct stat status {};
  if (question.device.empty() || sys().stat(question.device.c_str(), &status) != 0 ||
      !S_ISBLK(status.st_mode) || status.st_rdev != question.device_number) {
    return;
  }
  blkid_probe probe = blkid_new_probe_from_filename(question.device.c_str());
  if (probe == nullptr) {
    return;
  }
  const char* uuid = nullptr;
  blkid_probe_enable_superblocks(probe, 1);
  blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_UUID);
  if (blkid_do_safeprobe(probe) == 0 && blkid_probe_lookup_value(probe, "UUID", &uuid, nullptr) == 0 &&
      std::strlen(uuid) < sizeof slot.text_uuid && std::strspn(uuid, "0-") != std::strlen(uuid)) {
    std::memcpy(slot.text_uuid, uuid, std::strlen(uuid) + 1);
    slot.has_text_uuid.store(true, std::memory_order_release);
  }
  blkid_free_probe(probe);
#else
  static_cast<void>(question);
  static_cast<void>(slot);
#endif
}

}  // namespace

void run_probe_child(ProbeBoard& board, std::span<ProbeSlot> slots, std::span<const Question> questions) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A child that gets stuck must not hold the caller's pipes and locks.
  syscall(SYS_close_range, 0U, ~0U, 0U);
  const std::int32_t self = getpid();
  for (std::uint32_t i = 0; (i = board.next.fetch_add(1)) < slots.size();) {
    slots[i].taker = self;
    slots[i].stage = ProbeStage::taken;
    ask_mount(questions[i], slots[i]);
    slots[i].stage = ProbeStage::answered;
    board.answered.fetch_add(1);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    ProbeSlot& slot = slots[i];
    if (slot.stage == ProbeStage::answered && slot.fault == 0 && !slot.has_uuid &&
        !slot.device_taken.exchange(true)) {
      ask_device(questions[i], slot);
    }
  }
  board.ended.fetch_add(1);
  syscall(SYS_futex, &board.ended, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace sluice
