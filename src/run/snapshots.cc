#include "run/snapshots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

Status Snapshots::take(const UniqueFd& fd, bool again) {
  struct stat found {};
  if (!fd) {
    return lacks(EMFILE, "a file");
  }
  if (fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return {};
  }
  const auto [place, fresh] = all_.try_emplace({found.st_dev, found.st_ino});
  if (!fresh && !again) {
    return {};
  }
  Snapshot& snapshot = place->second;
  const std::string self = fmt::format("/proc/self/fd/{}", fd.get());
  if (!snapshot.file) {
    snapshot.file = UniqueFd(open(self.c_str(), O_PATH | O_CLOEXEC));
  }
  SLUICE_TRY(const std::string path, read_link(self));
  const UniqueFd from = snapshot.file ? open_again(snapshot.file.get(), O_RDONLY) : UniqueFd();
  snapshot.copy = from ? scratch_beside(path) : UniqueFd();
  if (!snapshot.copy) {
    const int number = errno;
    all_.erase(place);
    return lacks(number, quote(path));
  }
  return copy_whole(from.get(), snapshot.copy.get(), go_on);
}

Status Snapshots::lacks(int number, const std::string& path) {
  return lacking_[number]++ == 0 ? Status(fail(number, fmt::format("cannot keep a copy of {}", path)))
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
