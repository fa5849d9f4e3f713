#include "profile/workfile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr std::uint64_t piece = std::uint64_t{1} << 20;
constexpr std::uint64_t largest_piece = 16 * piece;
constexpr std::uint64_t page = 4096;

Error cannot(const Errno& number, std::string_view what, const std::string& folder) {
  Error out = number.fail(fmt::format("cannot {} in {}", what, quote(folder)));
  const std::string_view advice = out.number == ENOSPC || out.number == EDQUOT ? "make room there first"
                                  : out.number == EROFS                        ? "the place is read-only"
                                  : out.number == EACCES || out.number == EPERM
                                      ? "choose a folder of it that you may write to"
                                  : out.number == EIO ? "the device reports errors; see the kernel's log"
                                                      : "";
  return advice.empty() ? out : std::move(out).advise(advice);
}

// Nameless from the start, or at least from the next moment on.
UniqueFd open_nameless(const std::string& folder, int flags) {
  UniqueFd out(sys().open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600));
  if (out || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)) {
    return out;
  }
  const std::string path = fmt::format("{}/.sluice-profile-{}", folder, getpid());
  out = UniqueFd(sys().open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | flags, 0600));
  if (out) {
    sys().unlink(path.c_str());
  }
  return out;
}

// Another open file description of it: flags, read-ahead and position are its own.
UniqueFd reopen(const UniqueFd& file, int flags) {
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  return UniqueFd(sys().open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0));
}

// What the kernel says of direct I/O to this file; where it says nothing, whole pages are safe.
std::uint64_t alignment_of(int fd) {
  struct statx found {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) == 0 &&
      (found.stx_mask & STATX_DIOALIGN) != 0 && found.stx_dio_offset_align > 0) {
    return std::max<std::uint64_t>({found.stx_dio_offset_align, found.stx_dio_mem_align, 512});
  }
  return page;
}

}  // namespace

void WorkFile::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

Result<WorkFolder> WorkFolder::open(const std::string& path, std::uint64_t keep) {
  WorkFolder out{.fd = UniqueFd(sys().open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)),
                 .shown = path,
                 .keep = keep};
  if (!out.fd) {
    return cannot(Errno(), "list files", path);
  }
  return out;
}

std::string WorkFolder::path() const {
  return fmt::format("/proc/self/fd/{}", fd.get());
}

bool WorkFolder::has_room(std::uint64_t bytes) const {
  struct statvfs found {};
  return fstatvfs(fd.get(), &found) != 0 ||
         static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize >= keep + bytes;
}

bool WorkFolder::is_there() const {
  struct stat then {};
  struct stat now {};
  return fstat(fd.get(), &then) == 0 && stat(shown.c_str(), &now) == 0 && then.st_dev == now.st_dev &&
         then.st_ino == now.st_ino;
}

Result<WorkFile> WorkFile::create(const WorkFolder& folder) {
  WorkFile out;
  out.folder_ = &folder;
  out.fd_ = open_nameless(folder.path(), O_DIRECT);
  if (!out.fd_ && errno == EINVAL) {
    out.fd_ = open_nameless(folder.path(), 0);
    out.why_cached_ = "its file system knows no direct I/O";
  }
  if (!out.fd_) {
    return cannot(Errno(), "create a file", folder.shown);
  }
  out.alignment_ = out.is_direct() ? alignment_of(out.fd_.get()) : 512;
  out.cached_ = reopen(out.fd_, 0);
  if (!out.cached_) {
    return cannot(Errno(), "open a nameless file again (is /proc mounted?)", folder.shown);
  }
  return out;
}

Result<WorkFile> WorkFile::again() const {
  WorkFile out;
  out.folder_ = folder_;
  out.why_cached_ = why_cached_;
  out.alignment_ = alignment_;
  out.size_ = size_;
  out.fd_ = reopen(fd_, is_direct() ? O_DIRECT : 0);
  out.cached_ = reopen(fd_, 0);
  if (!out.fd_ || !out.cached_) {
    return cannot(Errno(), "open a nameless file again", folder_->shown);
  }
  return out;
}

Status WorkFile::reserve_buffer(std::uint64_t length) {
  if (length <= buffer_size_) {
    return {};
  }
  const std::uint64_t size = (length + piece - 1) / piece * piece;
  std::unique_ptr<std::byte[], Free> fresh(static_cast<std::byte*>(std::aligned_alloc(page, size)));
  if (!fresh) {
    return fail(ENOMEM, "no memory for requests of that size");
  }
  // Not zeros, and nothing that repeats: some devices compress and compare.
  std::mt19937_64 random(length);
  for (std::uint64_t i = 0; i + sizeof(std::uint64_t) <= size; i += sizeof(std::uint64_t)) {
    const std::uint64_t value = random();
    std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof value, fresh.get() + i);
  }
  buffer_ = std::move(fresh);
  buffer_size_ = size;
  return {};
}

Result<double> WorkFile::timed(int fd, bool write, std::uint64_t offset, std::uint64_t length) {
  SLUICE_CHECK(reserve_buffer(length));
  double start = steady_seconds();
  bool tried = false;
  for (std::uint64_t done = 0; done < length;) {
    const auto at = static_cast<off_t>(offset + done);
    const ssize_t moved = write ? sys().pwrite(fd, buffer_.get() + done, length - done, at)
                                : sys().pread(fd, buffer_.get() + done, length - done, at);
    if (moved < 0 && errno == EINTR) {
      continue;
    }
    // A file system that copies on write frees what was overwritten when it commits, and not before.
    if (moved < 0 && errno == ENOSPC && !tried && syncfs(fd) == 0) {
      tried = true;
      start = steady_seconds();
      continue;
    }
    if (moved <= 0) {
      return moved == 0 ? fail(EIO, fmt::format("the file in {} ended early", quote(folder_->shown)))
                        : cannot(Errno(), write ? "write" : "read", folder_->shown);
    }
    done += static_cast<std::uint64_t>(moved);
  }
  return steady_seconds() - start;
}

std::uint64_t WorkFile::readahead() const {
  constexpr std::uint64_t usual = std::uint64_t{4} << 20;  // of btrfs, whose devices have no number there
  struct stat found {};
  if (fstat(fd_.get(), &found) != 0) {
    return usual;
  }
  const auto text = read_file(
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(found.st_dev), minor(found.st_dev)), 64);
  const auto kilobytes = text ? parse_count(trim(*text)) : Result<std::uint64_t>(usual / 1024);
  return kilobytes.value_or(usual / 1024) * 1024;
}

Error WorkFile::trouble(int number, bool write) const {
  errno = number;
  return cannot(Errno(), write ? "write" : "read", folder_->shown);
}

Result<double> WorkFile::direct(bool write, std::uint64_t offset, std::uint64_t length) {
  return timed(fd_.get(), write, offset, length);
}

Result<double> WorkFile::cached(bool write, std::uint64_t offset, std::uint64_t length) {
  return timed(cached_.get(), write, offset, length);
}

Result<double> WorkFile::append(std::uint64_t length) {
  SLUICE_TRY(const double seconds, cached(true, size_, length));
  size_ += length;
  return seconds;
}

Result<double> WorkFile::sync(bool data_alone) {
  const double start = steady_seconds();
  if ((data_alone ? fdatasync(cached_.get()) : sys().fsync(cached_.get())) != 0) {
    return cannot(Errno(), "sync a file", folder_->shown);
  }
  return steady_seconds() - start;
}

Status WorkFile::drop_cache() {
  SLUICE_TRY([[maybe_unused]] const double seconds, sync(true));
  posix_fadvise(cached_.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

Status WorkFile::empty() {
  if (ftruncate(cached_.get(), 0) != 0) {
    return cannot(Errno(), "empty a file", folder_->shown);
  }
  size_ = 0;
  return {};
}

Status WorkFile::grow(std::uint64_t size, const std::function<bool()>& go_on) {
  std::uint64_t step = piece;
  size = size / alignment_ * alignment_;
  while (size_ < size && go_on()) {
    const std::uint64_t length = std::min(step, size - size_);
    if (!has_room(length)) {
      break;
    }
    SLUICE_TRY(const double seconds, direct(true, size_, length));
    size_ += length;
    // Where every request takes long, few large ones do it sooner.
    const bool slow = seconds * 1e8 > static_cast<double>(length);  // less than 100 MB/s
    step = slow && step < largest_piece ? 2 * step : step;
  }
  return {};
}

}  // namespace sluice
