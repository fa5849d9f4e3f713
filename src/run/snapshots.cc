#include "run/snapshots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool go_on() {
  return true;
}

}  // namespace

Status Snapshots::take(const UniqueFd& fd, bool again) {
  struct stat found {};
  if (!fd || fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return {};
  }
  const auto [place, fresh] = all_.try_emplace({found.st_dev, found.st_ino});
  if (!fresh && !again) {
    return {};
  }
  Snapshot& snapshot = place->second;
  const std::string self = fmt::format("/proc/self/fd/{}", fd.get());
  if (!snapshot.file) {  // the program's may be for writing only
    snapshot.file = UniqueFd(open(self.c_str(), O_RDWR | O_CLOEXEC));
  }
  SLUICE_TRY(const std::string path, read_link(self));
  snapshot.copy = scratch_beside(path);
  if (!snapshot.file || !snapshot.copy) {
    auto failed = Errno().fail(fmt::format("cannot keep a copy of {}", quote(path)));
    all_.erase(place);
    return failed;
  }
  return copy_whole(snapshot.file.get(), snapshot.copy.get(), go_on);
}

std::vector<std::string> Snapshots::put_back() {
  std::vector<std::string> out;
  for (auto& [identity, snapshot] : all_) {
    if (ftruncate(snapshot.file.get(), 0) != 0) {
      out.push_back(Errno().fail("cannot put a file back").text());
    } else if (const Status done = copy_whole(snapshot.copy.get(), snapshot.file.get(), go_on); !done) {
      out.push_back(done.error().text());
    }
  }
  all_.clear();
  return out;
}

}  // namespace sluice
