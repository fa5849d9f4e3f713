#include "run/snapshots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"
#include "move/home.h"

namespace sluice {
namespace {

// Where there is room for a copy: beside the file, or in memory.
UniqueFd scratch_beside(const std::string& path) {
  UniqueFd out(open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  return out ? std::move(out) : UniqueFd(memfd_create("sluice", MFD_CLOEXEC));
}

bool go_on(std::uint64_t /*bytes*/) {
  return true;
}

}  // namespace

// By its bytes: a mapping may change them and no time.
bool Snapshots::is_as_it_stood(const Snapshot& snapshot) {
  struct stat now {};
  struct stat before {};
  const UniqueFd file = open_again(snapshot.file.get(), O_RDONLY);
  if (!file || fstat(file.get(), &now) != 0 || fstat(snapshot.copy.get(), &before) != 0 ||
      now.st_size != before.st_size || now.st_mode != before.st_mode) {
    return false;
  }
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<char> one(piece);
  std::vector<char> other(piece);
  for (off_t at = 0; at < now.st_size;) {
    const ssize_t got = pread(file.get(), one.data(), piece, at);
    if (got <= 0 || pread(snapshot.copy.get(), other.data(), static_cast<std::size_t>(got), at) != got ||
        std::memcmp(one.data(), other.data(), static_cast<std::size_t>(got)) != 0) {
      return false;
    }
    at += got;
  }
  return true;
}

Status Snapshots::take(const UniqueFd& fd, bool again) {
  struct stat found {};
  if (!fd) {
    return lacks(EMFILE, "a file");
  }
  if (fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return {};
  }
  const auto known = all_.find({found.st_dev, found.st_ino});
  if ((known != all_.end()) != again) {
    return {};  // it is known already, or nobody of the run has opened it for writing
  }
  const std::string self = fmt::format("/proc/self/fd/{}", fd.get());
  SLUICE_TRY(const std::string path, read_link(self));
  Snapshot fresh;
  fresh.file = UniqueFd(open(self.c_str(), O_PATH | O_CLOEXEC));
  const UniqueFd from = fresh.file ? open_again(fresh.file.get(), O_RDONLY) : UniqueFd();
  fresh.copy = from ? scratch_beside(path) : UniqueFd();
  Status taken = fresh.copy ? copy_whole(from.get(), fresh.copy.get(), go_on)
                            : Status(Errno().fail(fmt::format("cannot keep a copy of {}", quote(path))));
  if (taken) {
    all_.insert_or_assign({found.st_dev, found.st_ino}, std::move(fresh));
    return {};
  }
  // Half a copy, or one of before, is not what a power cut would leave: the file stays as it is.
  if (known != all_.end()) {
    all_.erase(known);
  }
  return lacks(taken.error().number, quote(path));
}

Status Snapshots::take_all(const UniqueFd& of) {
  Status out;
  struct stat wanted {};
  const bool one_alone = of && fstat(of.get(), &wanted) == 0;
  std::vector<UniqueFd> open_ones;
  for (const auto& [identity, snapshot] : all_) {
    if (!one_alone || identity.first == wanted.st_dev) {
      open_ones.push_back(open_again(snapshot.file.get(), O_RDONLY));
    }
  }
  for (const UniqueFd& one : open_ones) {
    if (Status taken = one ? take(one, true) : Status(); !taken) {
      out = std::move(taken);
    }
  }
  return out;
}

Status Snapshots::lacks(int number, const std::string& path) {
  return lacking_[number]++ == 0
             ? Status(
                   fail(number, fmt::format("cannot keep a copy of {}, which stays as it is written", path)))
             : Status();
}

std::vector<std::string> Snapshots::put_back() {
  std::vector<std::string> out;
  for (const auto& [number, count] : lacking_) {
    if (count > 1) {
      out.push_back(fail(number, fmt::format("cannot keep copies of {} more files", count - 1)).text());
    }
  }
  for (auto& [identity, snapshot] : all_) {
    if (is_as_it_stood(snapshot)) {
      continue;
    }
    const UniqueFd to = open_again(snapshot.file.get(), O_RDWR);
    if (!to || ftruncate(to.get(), 0) != 0) {
      out.push_back(Errno().fail("cannot put a file back").text());
    } else if (const Status done = copy_whole(snapshot.copy.get(), to.get(), go_on); !done) {
      out.push_back(done.error().text());
    }
  }
  all_.clear();
  return out;
}

}  // namespace sluice
