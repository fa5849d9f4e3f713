#include "replay/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "replay/contents.h"

namespace sluice {
namespace {

constexpr const char* mark = "/.made-by-sluice";  // in a folder that may be removed with all that is in it
constexpr std::size_t longest_part = 200;
constexpr std::size_t longest_path = 2000;  // in the folder; what leads to it comes on top

// A part of a path as a name that means nothing to the kernel, and is not too long.
std::string safe_part(std::string_view part) {
  if (part == "." || part == "..") {
    return fmt::format("%{}", part);
  }
  if (part.size() <= longest_part) {
    return std::string(part);
  }
  return fmt::format("{}%{:016x}", part.substr(0, longest_part - 20), XXH64(part.data(), part.size(), 0));
}

std::string mirrored(const ReplayName& name, const std::string& path) {
  std::string out = fmt::format("{}", name.number);
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty()) {
      out += '/' + safe_part(part);
    }
  }
  return out;
}

Status remove_all(const std::string& path) {
  std::error_code trouble;
  std::filesystem::remove_all(path, trouble);
  return trouble ? fail(trouble.value(), fmt::format("cannot remove {}", quote(path))) : Status();
}

// A descriptor that holds the folder; none where somebody else does.
UniqueFd lock(const std::string& path) {
  UniqueFd out(sys().open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
  struct stat about {};
  if (out && flock(out.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    out.reset();
  }
  // Whoever removes it had the lock.
  return out && fstat(out.get(), &about) == 0 && about.st_nlink > 0 ? std::move(out) : UniqueFd();
}

void remove_left_behind(const std::string& where, std::string_view prefix) {
  const auto names = list_folder(where);
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const std::string path = fmt::format("{}/{}", where, name);
    struct stat about {};
    if (!name.starts_with(prefix) || lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) ||
        about.st_uid != geteuid() || sys().access((path + mark).c_str(), F_OK) != 0) {
      continue;
    }
    if (const UniqueFd held = lock(path)) {
      if (const Status removed = remove_all(path); removed) {
        log::warn("{} was left behind by one that was killed; it is removed", quote(path));
      }
    }
  }
}

Status fill(int fd, const std::string& path, std::uint64_t bytes, const char* contents,
            const std::function<bool(std::uint64_t)>& wrote) {
  for (std::uint64_t at = 0; at < bytes;) {
    // Another beginning each time, so that no two blocks are alike.
    const std::size_t from = at / contents_bytes * 4096 % (contents_bytes / 2);
    const std::size_t size = std::min<std::uint64_t>(contents_bytes - from, bytes - at);
    const ssize_t done = sys().pwrite(fd, contents + from, size, static_cast<off_t>(at));
    if (done < 0 && errno != EINTR) {
      return Errno().fail(fmt::format("cannot make {} of {}", human_size(bytes), quote(path)));
    }
    at += done > 0 ? static_cast<std::uint64_t>(done) : 0;
    if (!wrote(done > 0 ? static_cast<std::uint64_t>(done) : 0)) {
      return fail(EINTR, "preparing the files");
    }
  }
  return {};
}

void drop_caches() {
  const UniqueFd fd(sys().open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC, 0));
  if (!fd || sys().write(fd.get(), "3", 1) != 1) {
    log::info("replay: only the prepared files are out of the page cache; to drop all of it takes root");
  }
}

}  // namespace

Result<Scratch> Scratch::make(const std::string& where, std::string_view prefix) {
  // As the kernel calls it: rules for what is in it have to match that.
  std::error_code trouble;
  const std::filesystem::path real = std::filesystem::canonical(where, trouble);
  const std::string whole = trouble ? absolute(where, current_folder()) : real.string();
  struct stat about {};
  if (sys().stat(whole.c_str(), &about) != 0) {
    return Errno()
        .fail(fmt::format("cannot replay in {}", quote(where)))
        .advise("--to names a folder that is there");
  }
  if (!S_ISDIR(about.st_mode)) {
    return fail(ENOTDIR, fmt::format("cannot replay in {}", quote(where))).advise("--to names a folder");
  }
  remove_left_behind(whole, prefix);
  for (int tries = 0; tries < 100; ++tries) {
    std::string path = fmt::format("{}/{}XXXXXX", whole == "/" ? "" : whole, prefix);
    if (mkdtemp(path.data()) == nullptr) {
      return Errno()
          .fail(fmt::format("cannot make a folder in {}", quote(where)))
          .advise("--to names one that can be written to");
    }
    UniqueFd held = lock(path);
    const UniqueFd marked(
        held ? sys().open((path + mark).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1);
    if (marked) {
      return Scratch(std::move(path), std::move(held));
    }
    if (held) {
      const Errno why;
      rmdir(path.c_str());
      return why.fail(fmt::format("cannot make a file in {}", quote(where)))
          .advise("--to names a folder where there is room");
    }
  }
  return fail(fmt::format("cannot keep a folder in {}", quote(where)));
}

Scratch::~Scratch() {
  if (lock_ && !keep_) {
    if (const Status removed = remove(); !removed) {
      log::warn("replay: {}", removed.error().text());
    }
  }
}

std::string Scratch::keep() {
  keep_ = true;
  sys().unlink((path_ + mark).c_str());
  const std::size_t name = path_.rfind('/') + 1;
  const std::string shown = path_.substr(0, name) + path_.substr(name + 1);
  if (sys().rename(path_.c_str(), shown.c_str()) == 0) {
    path_ = shown;
  }
  return path_;
}

Status Scratch::remove() {
  SLUICE_CHECK(remove_all(path_));
  lock_.reset();
  return {};
}

std::string Scratch::name_of(const TraceScan& scan, std::uint32_t name, const TraceReader& trace) {
  const ReplayName& one = scan.names[name];
  return !one.flat       ? mirrored(one, trace.path(one.path))
         : one.is_folder ? "flat"
                         : fmt::format("flat/{}", name);
}

Status Scratch::check_room(const TraceScan& scan) const {
  struct statvfs about {};
  if (sys().statvfs(path_.c_str(), &about) != 0) {
    return Errno().fail(fmt::format("cannot tell how much room there is in {}", quote(path_)));
  }
  const std::uint64_t need = scan.room();
  std::uint64_t free = std::uint64_t{about.f_bavail} * about.f_frsize;
  // What was removed, by the replay before for one, may be free only when that is safe.
  if (need > free && syncfs(lock_.get()) == 0 && sys().statvfs(path_.c_str(), &about) == 0) {
    free = std::uint64_t{about.f_bavail} * about.f_frsize;
  }
  if (need > free) {
    return fail(ENOSPC, fmt::format("the replay needs {} and {} has {}", human_size(need),
                                    quote(folder_of(path_)), human_size(free)));
  }
  if (about.f_files > 0 && scan.files.size() > about.f_favail) {
    return fail(ENOSPC, fmt::format("the replay needs {} files and {} has room for {}", scan.files.size(),
                                    quote(folder_of(path_)), about.f_favail));
  }
  return {};
}

Result<std::uint64_t> Scratch::prepare(TraceScan& scan, const TraceReader& trace, bool cold,
                                       const std::function<bool(std::uint64_t, std::uint64_t)>& go_on) const {
  SLUICE_CHECK(check_room(scan));
  // A name that another one needs as a folder, that two paths have, or that is too long, is not used.
  std::unordered_set<std::string> names;
  std::unordered_set<std::string> folders = {"flat"};
  for (std::uint32_t i = 1; i < scan.names.size(); ++i) {
    ReplayName& one = scan.names[i];
    std::string name = mirrored(one, trace.path(one.path));
    one.flat = name.size() > longest_path || path_.size() + name.size() > 4000 ||
               name.find('/') == std::string::npos || name.find('\0') != std::string::npos ||
               (!one.is_folder && !names.insert(name).second);
    name += one.is_folder ? "/" : "";
    if (!one.flat) {
      for (std::size_t at = name.rfind('/');
           at != std::string::npos && folders.insert(name.substr(0, at)).second;
           at = name.rfind('/', at - 1)) {
      }
    }
  }
  names.clear();
  for (const std::string& folder : folders) {
    SLUICE_CHECK(make_folders(fmt::format("{}/{}", path_, folder)));
  }
  for (ReplayName& one : scan.names) {
    one.flat = one.flat || (!one.is_folder && folders.count(mirrored(one, trace.path(one.path))) != 0);
  }
  std::uint64_t all = 0;
  for (const ReplayFile& file : scan.files) {
    all += file.initial;
  }
  folders.clear();
  const std::unique_ptr<char, decltype(&free)> contents(
      static_cast<char*>(aligned_alloc(4096, contents_bytes)), free);
  make_contents(contents.get(), contents_bytes);
  std::uint64_t done = 0;
  for (const ReplayFile& file : scan.files) {
    if (!file.prepared) {
      continue;
    }
    const std::string path = fmt::format("{}/{}", path_, name_of(scan, file.name, trace));
    const UniqueFd fd(sys().open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) {
      return Errno().fail(fmt::format("cannot make {}", quote(path)));
    }
    SLUICE_CHECK(fill(fd.get(), path, file.initial, contents.get(), [&](std::uint64_t bytes) {
      done += bytes;
      return go_on(done, all);
    }));
    if (cold && sys().fsync(fd.get()) == 0) {
      posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
    if (!go_on(done, all)) {
      return fail(EINTR, "preparing the files");
    }
  }
  // So that nothing of this is written while the time is taken.
  if (syncfs(lock_.get()) != 0) {
    return Errno().fail(fmt::format("cannot sync {}", quote(path_)));
  }
  if (cold) {
    drop_caches();
  }
  return done;
}

}  // namespace sluice
