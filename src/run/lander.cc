#include "run/lander.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <tuple>

#include "base/clock.h"
#include "base/files.h"
#include "pipeline/passing.h"
#include "run/beside.h"
#include "run/own_thread.h"

namespace sluice {
namespace {

using Outcome = Recovered::Outcome;

constexpr rlim_t most_folders = 4096;        // that are held open
constexpr std::int64_t age = 5'000'000'000;  // nanoseconds, as long as ext4 keeps its journal open
constexpr int patience = 1000;               // milliseconds for somebody who has a lock

constexpr std::size_t most_helpers = 2;
constexpr std::size_t enough = 256;  // files for one

// All that are not home. Nobody else frees them.
std::vector<Pending*> pending_of(Area& area) {
  std::vector<Pending*> out;
  for_each_pending(area, [&](Pending& file) {
    if (file.state != Pending::making) {
      out.push_back(&file);
    }
  });
  return out;
}

Recovered about(const Pending& file) {
  Recovered out;
  out.path = std::string(file.path(), file.path_size);
  out.bytes = file.length;
  return out;
}

constexpr const char* changed_folder = "its folder is not there any more, or is another";

// A folder of our own beside the one that a file was made in, or above where that is gone as well; the same
// for all of them. Not on another file system: the right one may be mounted later.
UniqueFd make_beside(const std::string& path, const Pending& file, std::string& made) {
  const std::string above = nearest_folder(path);
  struct stat found {};
  const UniqueFd parent(open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent) {
    return {};
  }
  if (!is_filesystem_of(file, parent.get())) {
    errno = ENOENT;
    return {};
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  made = beside_name(fmt::format("{}/{}", above == "/" ? "" : above, name), 0);
  if (mkdir(made.c_str(), 0700) != 0 && errno != EEXIST) {
    return {};
  }
  UniqueFd out(open(made.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (out && fstat(out.get(), &found) == 0 && found.st_uid != geteuid()) {
    errno = EEXIST;
    return {};
  }
  return out;
}

// Descriptors are for others, too: who wants a file, and who has one open.
std::size_t folders_to_hold() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_cur / 4, most_folders) : 0;
}

}  // namespace

bool is_pending_left(Area& area) {
  return !pending_of(area).empty();
}

std::vector<Recovered> list_pending(Area& area) {
  std::vector<Recovered> out;
  for (const Pending* file : pending_of(area)) {
    if (is_left(*file)) {
      out.push_back(about(*file));
      out.back().why = "nobody has tried yet";
    }
  }
  return out;
}

std::vector<Recovered> list_open_pending(Area& area) {
  std::vector<Recovered> out;
  for (const Pending* file : pending_of(area)) {
    if (!is_left(*file)) {
      out.push_back(about(*file));
      out.back().outcome = Outcome::lives;
      out.back().why = fmt::format("process {} runs and has it open in memory", file->process);
    }
  }
  return out;
}

Lander::Lander(Area& area) : area_(area), most_folders_(folders_to_hold()) {
  begin_process();  // whose mask and numbers count
}

void Lander::know(UniqueFd folder) {
  struct stat found {};
  const std::lock_guard guard(mutex_);
  if (folders_.size() >= most_folders_ && refused_++ % (most_folders_ / 4 + 1) == 0) {
    std::erase_if(folders_, [](const auto& one) {
      struct stat known {};
      return fstat(one.second.get(), &known) != 0 || known.st_nlink == 0;
    });
    area_.folder_changes.fetch_add(1);
  }
  if (folders_.size() >= most_folders_) {
    area_.folders_unheld = 1;
  }
  if (folder && fstat(folder.get(), &found) == 0 && folders_.size() < most_folders_) {
    folders_.try_emplace({.device = found.st_dev, .inode = found.st_ino}, std::move(folder));
  }
}

// By what it is, then by its path, then among those beside it. Nobody may say that it is gone but who had it
// open: its files come into a new one beside it then.
Lander::Folder Lander::folder_of(const Pending& file) {
  {
    const std::lock_guard guard(mutex_);
    if (const auto known = folders_.find({.device = file.device, .inode = file.inode});
        known != folders_.end()) {
      struct stat found {};
      if (fstat(known->second.get(), &found) == 0 && found.st_nlink == 0) {
        return {.fd = {}, .instead = "", .gone = true, .why = "its folder was removed"};
      }
      return {.fd = UniqueFd(fcntl(known->second.get(), F_DUPFD_CLOEXEC, 0)),
              .instead = "",
              .gone = false,
              .why = std::strerror(errno)};
    }
  }
  Folder out{.fd = UniqueFd(open_folder(file)), .instead = "", .gone = false, .why = std::strerror(errno)};
  if (out.fd || (errno != ENOENT && errno != ENOTDIR)) {
    return out;
  }
  out.fd = make_beside(sluice::folder_of({file.path(), file.path_size}), file, out.instead);
  out.why = out.fd ? changed_folder : std::strerror(errno);
  return out;
}

// REQUIRES: its lock. With `keep` it stays open for the process that has it so.
Recovered Lander::land_one(Pending& file, bool keep, bool tell) {
  Recovered out = about(file);
  const Folder folder = folder_of(file);
  if (!folder.fd) {
    out.outcome = folder.gone ? Outcome::dropped : Outcome::failed;
    out.why = folder.why;
    if (folder.gone) {
      end_pending(area_, file);
    }
    return out;
  }
  const PutDown put = put_down(area_, file, folder.fd.get());
  if ((tell || put.error != 0 || put.beside) && folder.instead.empty()) {  // its folder may have another name
    const std::string now = name_of(folder.fd.get(), sluice::folder_of(out.path));
    out.path = fmt::format("{}/{}", now == "/" ? "" : now, file.own_name());
  }
  file.refused = put.error;
  if (put.error != 0) {
    out.why = std::strerror(put.error);
    return out;
  }
  UniqueFd fd(put.fd);
  out.outcome = Outcome::made;
  if (put.beside || !folder.instead.empty()) {
    out.outcome = Outcome::beside;
    out.why = put.beside ? "somebody else has made a file of this name" : folder.why;
    out.put = fmt::format("{}/{}", folder.instead.empty() ? sluice::folder_of(out.path) : folder.instead,
                          put.beside ? std::string_view(put.name.data()) : file.own_name());
  }
  if (!keep) {
    end_pending(area_, file);
    return out;
  }
  if (file.flocked != 0) {
    flock(fd.get(), static_cast<int>(file.flocked) | LOCK_NB);
  }
  struct stat found {};
  fstat(fd.get(), &found);
  file.own_device = found.st_dev;
  file.own_inode = found.st_ino;
  file.state.store(Pending::lent);
  const std::lock_guard guard(mutex_);
  lent_[number_of(area_, file)] = std::move(fd);
  return out;
}

void Lander::lend(std::uint32_t number) {
  Pending* file = find_pending(area_, number);
  if (file == nullptr) {
    return;
  }
  if (file->asked != 0) {
    land_one(*file, !is_left(*file), false);
  }
  file->asked = 0;
  let_go(file->lock);
}

void Lander::give(std::uint32_t number, const UniqueFd& socket) {
  UniqueFd fd;
  {
    const std::lock_guard guard(mutex_);
    if (auto lent = lent_.extract(number); !lent.empty()) {
      fd = std::move(lent.mapped());
    }
  }
  char byte = 0;
  iovec part{.iov_base = &byte, .iov_len = 1};
  PassedFd room;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd) {
    pass(header, room, fd.get());
  }
  [[maybe_unused]] const ssize_t sent = sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::vector<Recovered> Lander::land(Which which, bool tell_all) {
  // By a copy of what they are sorted by: the program goes on changing them.
  std::vector<std::tuple<FolderId, std::int64_t, Pending*>> files;
  for (Pending* file : pending_of(area_)) {
    files.emplace_back(FolderId{.device = file->device, .inode = file->inode}, file->changed, file);
  }
  std::sort(files.begin(), files.end());
  const std::int64_t oldest = nanoseconds_of(CLOCK_REALTIME) - age;
  std::vector<Recovered> out;
  std::mutex telling;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      Pending& file = *std::get<Pending*>(files[i]);
      if (which == Which::old && std::get<std::int64_t>(files[i]) > oldest) {
        continue;
      }
      if (hold_lock(file.lock, patience) != Locked::yes) {
        if (which == Which::all) {
          Recovered one = about(file);
          one.why = "a process is in the middle of a call";
          const std::lock_guard guard(telling);
          out.push_back(std::move(one));
        }
        continue;
      }
      const bool left = is_left(file);
      if (left || (which == Which::all && file.state == Pending::open)) {
        Recovered one = land_one(file, !left, tell_all);
        if (tell_all || one.outcome != Outcome::made) {
          const std::lock_guard guard(telling);
          out.push_back(std::move(one));
        }
      } else if (file.state == Pending::lent && process_start(file.process) != file.started) {
        const std::lock_guard guard(mutex_);
        lent_.erase(number_of(area_, file));
        end_pending(area_, file);
      }
      let_go(file.lock);
    }
  };
  // Several at once: most of the time is that of the storage.
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(most_helpers, files.size() / enough); ++i) {
    helpers.emplace_back([&] {
      block_signals();
      work();
    });
  }
  work();
  helpers.clear();
  free_pending_blocks(area_);
  return out;
}

}  // namespace sluice
