#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <optional>
#include <random>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/probes.h"
#include "profile/statistics.h"

namespace sluice {
namespace {

constexpr std::string_view prefix = ".sluice-profile-";
constexpr int files_a_round = 16;
constexpr int flushes_a_round = 2;
constexpr std::size_t most_samples = 4000;
enum Operation { creating, opening, flushing, renaming, unlinking, operations };
constexpr std::array<const char*, operations> names = {"create", "open", "fsync", "rename", "unlink"};

// PID-8hex of a folder, PID of a file: names that Folder and WorkFile give; the process behind them.
std::optional<int> owner_of(std::string_view name, bool folder) {
  if (!name.starts_with(prefix)) {
    return {};
  }
  name.remove_prefix(prefix.size());
  constexpr std::size_t tail = 9;
  if (folder) {
    if (name.size() <= tail || name[name.size() - tail] != '-' ||
        name.substr(name.size() - tail + 1).find_first_not_of("0123456789abcdef") != std::string_view::npos) {
      return {};
    }
    name.remove_suffix(tail);
  }
  const auto pid = parse_count(name);
  return pid && *pid > 0 && *pid < INT_MAX ? std::optional(static_cast<int>(*pid)) : std::nullopt;
}

bool is_alive(int pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

// Signals that would end the process wait until the folder is gone again.
class SignalsWait {
 public:
  SignalsWait() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&set_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] bool any() const {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
           sigismember(&pending, SIGHUP) == 1;
  }

 private:
  sigset_t set_ = {};
  sigset_t before_ = {};
};

// a0, b12: names that round() gives.
bool is_ours(std::string_view name) {
  return name.size() > 1 && (name[0] == 'a' || name[0] == 'b') &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// Only what round() made: whatever else is there keeps the folder.
void clear_folder(int folder) {
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy >= 0 ? fdopendir(copy) : nullptr;
  if (list == nullptr) {
    if (copy >= 0) {
      close(copy);
    }
    return;
  }
  while (const dirent* entry = readdir(list)) {
    if (is_ours(entry->d_name)) {
      unlinkat(folder, entry->d_name, 0);
    }
  }
  closedir(list);
}

// A folder of its own, locked as long as it is in use, removed at the end.
class Folder {
 public:
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  explicit Folder(const std::string& parent)
      : parent_(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~Folder() {
    if (fd_) {
      clear_folder(fd_.get());
      unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
    }
  }
  // Another profile may take a folder that is not locked yet for a leftover; then the next name.
  bool make() {
    constexpr int tries = 10;
    for (int i = 0; i < tries && parent_; ++i) {
      name_ = fmt::format("{}{}-{:08x}", prefix, getpid(), std::random_device()());
      if (mkdirat(parent_.get(), name_.c_str(), 0700) != 0) {
        return false;
      }
      fd_ = UniqueFd(openat(parent_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      struct stat found {};
      if (fd_ && (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
          fstat(fd_.get(), &found) == 0 && found.st_nlink > 0) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd parent_;
  std::string name_;
  UniqueFd fd_;
};

using Samples = std::array<std::vector<double>, operations>;

// Seconds of `act`, kept unless it fails.
template <class Act>
bool timed(std::vector<double>& samples, Act act) {
  const double start = steady_seconds();
  const bool well = act();
  samples.push_back(steady_seconds() - start);
  return well;
}

bool round(int folder, Samples& samples, Counted& counted) {
  const auto name = [](char kind, int i) { return fmt::format("{}{}", kind, i); };
  const auto open_close = [&](const std::string& file, int flags) {
    const int fd = openat(folder, file.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
    return fd >= 0 && close(fd) == 0;
  };
  bool well = true;
  for (int i = 0; i < files_a_round && well; ++i) {
    well = timed(samples[creating], [&] { return open_close(name('a', i), O_CREAT | O_EXCL); });
  }
  for (int i = 0; i < files_a_round && well; ++i) {
    well = timed(samples[opening], [&] { return open_close(name('a', i), 0); });
  }
  for (int i = 0; i < flushes_a_round && well; ++i) {
    const UniqueFd file(openat(folder, name('a', i).c_str(), O_RDWR | O_CLOEXEC));
    const std::array<char, 4096> block = {};
    well = file && write(file.get(), block.data(), block.size()) == static_cast<ssize_t>(block.size()) &&
           timed(samples[flushing], [&] { return sys().fsync(file.get()) == 0; });
  }
  for (int i = 0; i < files_a_round && well; ++i) {
    well = timed(samples[renaming],
                 [&] { return renameat(folder, name('a', i).c_str(), folder, name('b', i).c_str()) == 0; });
  }
  for (int i = 0; i < files_a_round && well; ++i) {
    well = timed(samples[unlinking], [&] { return unlinkat(folder, name('b', i).c_str(), 0) == 0; });
  }
  counted.requests += static_cast<std::uint64_t>(4 * files_a_round);
  return well;
}

bool sure(const Samples& samples, double bound) {
  return std::all_of(samples.begin(), samples.end(), [&](const auto& each) {
    return each.size() >= 8 && (summarize(each).error() <= bound || each.size() >= most_samples);
  });
}

}  // namespace

Result<std::vector<Wait>> time_metadata(const Bench& bench, double bound, double seconds) {
  remove_leftovers(bench.folder.path());
  const SignalsWait signals;
  Folder own(bench.folder.path());
  if (!own.make()) {
    return Errno().fail(fmt::format("cannot make a folder in {}", quote(bench.folder.shown)));
  }
  Samples samples;
  const double deadline = steady_seconds() + seconds;
  do {
    if (!round(own.fd(), samples, bench.counted)) {
      return Errno().fail(
          fmt::format("cannot create, rename and unlink files in {}", quote(bench.folder.shown)));
    }
  } while (!sure(samples, bound) && steady_seconds() < deadline && !signals.any());
  std::vector<Wait> out;
  for (std::size_t i = 0; i < operations; ++i) {
    const Summary summary = summarize(samples[i]);
    out.push_back({.name = names[i],
                   .one = {.size = 0,
                           .seconds = summary.mean,
                           .half = std::isfinite(summary.error()) ? summary.half : summary.mean,
                           .repetitions = summary.kept,
                           .outliers = summary.outliers}});
  }
  return out;
}

void remove_leftovers(const std::string& folder) {
  DIR* list = opendir(folder.c_str());
  if (list == nullptr) {
    return;
  }
  while (const dirent* entry = readdir(list)) {
    struct stat found {};
    if (fstatat(dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 || found.st_uid != geteuid()) {
      continue;
    }
    const bool is_folder = S_ISDIR(found.st_mode);
    const auto owner = owner_of(entry->d_name, is_folder);
    if (!owner || is_alive(*owner)) {
      continue;
    }
    if (!is_folder) {
      if (S_ISREG(found.st_mode)) {
        unlinkat(dirfd(list), entry->d_name, 0);
      }
      continue;
    }
    const UniqueFd fd(openat(dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      clear_folder(fd.get());
      unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR);
    }
  }
  closedir(list);
}

}  // namespace sluice
