#include "tier/file_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"

namespace sluice::tier {

Result<std::unique_ptr<FileDevice>> FileDevice::open(Ring& ring, const std::string& path, bool look_only) {
  std::unique_ptr<FileDevice> out(new FileDevice(ring));
  // What it is comes first: a pipe would block, and O_EXCL without O_CREAT is for block devices alone.
  struct stat found {};
  if (sys().stat(path.c_str(), &found) != 0) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  out->block_device_ = S_ISBLK(found.st_mode);
  if (!out->block_device_ && !S_ISREG(found.st_mode)) {
    return bad_input(fmt::format("{} is neither a file nor a block device", quote(path)));
  }
  int flags = (look_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_DIRECT | O_NONBLOCK;
  flags |= out->block_device_ && !look_only ? O_EXCL : 0;
  out->fd_ = UniqueFd(sys().open(path.c_str(), flags, 0));
  if (!out->fd_ && errno == EINVAL) {
    out->cached_ = true;
    out->fd_ = UniqueFd(sys().open(path.c_str(), flags & ~O_DIRECT, 0));
  }
  if (!out->fd_) {
    const Errno error;
    return errno == EBUSY ? error.fail(fmt::format("{} is in use", quote(path)))
                                .advise("it is mounted, or part of something else; unmount it first")
                          : error.fail(fmt::format("cannot open {}", quote(path)));
  }
  const int fd = out->fd_.get();
  struct stat opened {};
  if (fstat(fd, &opened) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(path)));
  }
  if (opened.st_dev != found.st_dev || opened.st_ino != found.st_ino || opened.st_rdev != found.st_rdev) {
    return fail(fmt::format("{} was replaced just now", quote(path)), "try again");
  }
  if (!out->block_device_ && opened.st_uid != geteuid() && opened.st_uid != 0) {
    return fail(fmt::format("{} belongs to another user", quote(path)),
                "whoever owns a tier can read and change the whole volume");
  }
  if (!look_only && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Errno().fail(fmt::format("{} is in use by another server", quote(path)));
  }
  out->size_ = static_cast<std::uint64_t>(opened.st_size);
  if (out->block_device_) {
    unsigned sector = 0;
    if (sys().ioctl(fd, BLKGETSIZE64, &out->size_) != 0 || sys().ioctl(fd, BLKSSZGET, &sector) != 0) {
      return Errno().fail(fmt::format("cannot ask {} for its size", quote(path)));
    }
    if (sector > block_size) {
      return fail(fmt::format("{} has sectors of {}", quote(path), print_size(sector)),
                  "a tier needs sectors of at most 4K");
    }
  }
  out->target_.fd = fd;
  return out;
}

Status FileDevice::create(const std::string& path, std::uint64_t size) {
  const UniqueFd fd(sys().open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return Errno().fail(fmt::format("cannot create {}", quote(path)));
  }
  // posix_fallocate() would write where the file system cannot reserve.
  const bool reserved = fallocate(fd.get(), 0, 0, static_cast<off_t>(size)) == 0;
  if (!reserved && (errno != EOPNOTSUPP || ftruncate(fd.get(), static_cast<off_t>(size)) != 0)) {
    const Errno error;
    sys().unlink(path.c_str());
    return error.fail(fmt::format("cannot reserve {} in {}", print_size(size), quote(path)));
  }
  return {};
}

void FileDevice::submit(Io& io) {
  if (!backlog_.empty() || !ring_.submit(target_, io)) {
    backlog_.push(io);
  }
}

void FileDevice::poll() {
  ring_.poll();
  while (const Io* const first = backlog_.first()) {
    if (!ring_.submit(target_, *const_cast<Io*>(first))) {
      return;
    }
    backlog_.pop();
  }
}

std::uint64_t FileDevice::next_data(std::uint64_t offset) const {
  if (block_device_) {
    return offset;
  }
  const off_t found = lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  return found >= 0 ? static_cast<std::uint64_t>(found) : errno == ENXIO ? size_ : offset;
}

}  // namespace sluice::tier
