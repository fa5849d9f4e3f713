#include "run/combine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/step.h"
#include "base/text.h"
#include "pipeline/area.h"
#include "run/beside.h"
#include "run/part_log.h"
#include "run/part_source.h"

namespace sluice {
namespace {

using Outcome = Recovered::Outcome;

constexpr int patience = 1000;  // milliseconds, for somebody who writes to a part
constexpr std::int64_t a_moment = 2 * std::int64_t{1000000000};  // in which a write that has begun is done

// The parts of a whole, each with its lock.
class Locks {
 public:
  Locks(AreaParts& parts, std::uint32_t whole) {
    for (AreaPart& part : parts.parts) {
      const auto is_of = [&] {
        return (part.generation & 1) != 0 && part.whole == whole && (part.flags & AreaPart::retired) == 0;
      };
      if (!is_of()) {
        continue;
      }
      if (wait_for_lock(part.lock, gettid(), patience) != Locked::yes) {
        good_ = false;
        return;
      }
      if (is_of()) {
        all_.push_back(&part);
      } else {
        part.lock = 0;
      }
    }
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;
  ~Locks() {
    for (AreaPart* part : all_) {
      part->lock.store(0, std::memory_order_release);
    }
  }
  // False where somebody did not give one away.
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] const std::vector<AreaPart*>& all() const { return all_; }

 private:
  std::vector<AreaPart*> all_;
  bool good_ = true;
};

// Whether somebody has made a part of it since its parts were locked. REQUIRES: the table's lock.
bool has_more(const AreaParts& parts, const AreaWhole& whole, const std::vector<AreaPart*>& known) {
  const auto row = static_cast<std::uint32_t>(&whole - parts.wholes.data());
  const auto found = std::count_if(parts.parts.begin(), parts.parts.end(), [&](const AreaPart& part) {
    return (part.generation & 1) != 0 && part.whole == row && (part.flags & AreaPart::retired) == 0;
  });
  return static_cast<std::size_t>(found) != known.size();
}

bool is_file(int fd, const AreaWhole& whole) {
  struct stat found {};
  int mount = 0;
  bool good = false;
  return fd >= 0 && fstat(fd, &found) == 0 && found.st_ino == whole.inode &&
         (whole.handle.empty() ? found.st_dev == whole.device || (stamp_of(fd, good) == whole.stamp && good)
                               : handle_of(fd, mount) == whole.handle);
}

UniqueFd open_at(const std::string& path, const AreaWhole& whole) {
  UniqueFd out(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return is_file(out.get(), whole) ? std::move(out) : UniqueFd();
}

// The file itself, by its path, under another name in the same folder, or in that folder under another name;
// `path` is where. None where it is not there.
UniqueFd open_whole(const AreaWhole& whole, std::string& path) {
  if (UniqueFd out = open_at(path, whole); out) {
    return out;
  }
  const std::string folder = folder_of(path);
  const std::string name = path.substr(path.rfind('/'));
  UniqueFd out;
  auto found = find_in(folder, [&](const std::string& entry) {
    struct stat is {};
    if (lstat(entry.c_str(), &is) == 0 && is.st_ino == whole.inode && S_ISREG(is.st_mode)) {
      out = open_at(entry, whole);
    }
    return static_cast<bool>(out);
  });
  const bool elsewhere = !found;
  if (elsewhere) {
    found = find_in(folder_of(folder), [&](const std::string& entry) {
      out = open_at(entry + name, whole);
      return static_cast<bool>(out);
    });
  }
  if (out) {
    path = *found + (elsewhere ? name : "");
  }
  return out;
}

// Whether nobody but us wrote to it since. Who was killed in the middle of that had begun a moment before.
bool is_unchanged(const AreaWhole& whole, const FileStamp& found, bool in_the_middle) {
  return (found.size == whole.stamp.size && found.changed == whole.stamp.changed) ||
         (in_the_middle && whole.began != 0 && found.changed >= whole.stamp.changed &&
          found.changed <= whole.began + a_moment);
}

// The pieces alone, in a new file beside it.
Recovered to_beside(std::uint64_t device, const std::vector<PartSource>& sources, Recovered out,
                    std::string why) {
  const auto name = put_beside(out.path, device, [&](int fd) { return write_sources(sources, fd, [] {}); });
  out.why = std::move(why);
  if (!name) {
    out.why += fmt::format(", and beside it is no place: {}", name.error().text());
    return out;
  }
  out.put = *name;
  out.outcome = Outcome::beside;
  return out;
}

// As if the program had written it there: the time is that of the last write, or what somebody set since.
timespec time_of(const AreaWhole& whole, const std::vector<PartSource>& sources, const struct stat& before) {
  timespec last = before.st_mtim;
  if (is_changed_since(whole, nanoseconds(before.st_mtim), nanoseconds(before.st_ctim))) {
    set_nanoseconds(last, whole.changed);
  } else if (whole.changed == 0 && nanoseconds(last) == whole.stamp.changed) {  // from logs
    for (const PartSource& source : sources) {
      struct stat found {};
      if (!source.pieces.empty() && source.fd && fstat(source.fd.get(), &found) == 0 &&
          nanoseconds(found.st_mtim) > nanoseconds(last)) {
        last = found.st_mtim;
      }
    }
  }
  return last;
}

// Whether nobody but us has a file open that has no name any more. While the program runs it may share our
// open file, and read it by /proc.
bool is_nobodys(int fd, When when) {
  return when != When::runs && fcntl(fd, F_SETLEASE, F_WRLCK) == 0 && fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

// `moved`, `beside` and `dropped` are done, and `failed` is not.
Recovered gather(AreaWhole& whole, const std::vector<PartSource>& sources, UniqueFd fd, When when,
                 bool in_the_middle) {
  Recovered out;
  out.path = whole.path.data();
  out.put = sources.empty() ? "" : folder_of(sources.front().data);
  if (!is_file(fd.get(), whole)) {
    fd = whole.removed != 0 ? UniqueFd() : open_whole(whole, out.path);
  }
  if (!fd && whole.removed != 0) {
    out.outcome = Outcome::dropped;
    out.why = "the file was removed";
    return out;
  }
  if (!fd) {
    return to_beside(whole.device, sources, std::move(out),
                     "the file is not there any more, or is another, or may not be written");
  }
  struct stat before {};
  bool good = false;
  fstat(fd.get(), &before);
  if (before.st_nlink == 0 && is_nobodys(fd.get(), when)) {
    out.outcome = Outcome::dropped;
    out.why = "the file was removed";
    return out;
  }
  if (when == When::left && !is_unchanged(whole, stamp_of(fd.get(), good), in_the_middle)) {
    return to_beside(before.st_dev, sources, std::move(out), "the file was changed since");
  }
  const std::array<timespec, 2> times = {timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                                         time_of(whole, sources, before)};
  // What the program sees meanwhile is what it will see.
  whole.changed = nanoseconds(times[1]);
  whole.settled = 1;
  Status put = write_sources(sources, fd.get(), [&] { whole.began = nanoseconds_of(CLOCK_REALTIME); });
  if (put) {
    futimens(fd.get(), times.data());
  }
  if (put && whole.synced != 0 && fsync(fd.get()) != 0) {
    put = Errno().fail("cannot sync it");
  }
  whole.stamp = stamp_of(fd.get(), good);
  if (!put) {
    whole.settled = 0;
    whole.error = put.error().number == 0 ? EIO : put.error().number;
    out.why = put.error().text();
    return out;
  }
  out.outcome = Outcome::moved;
  return out;
}

// REQUIRES: the parts' locks.
Recovered gather_parts(AreaWhole& whole, const std::vector<AreaPart*>& parts, UniqueFd fd, When when,
                       bool in_the_middle) {
  std::vector<PartSource> sources;
  for (const AreaPart* part : parts) {
    auto source = source_of(*part);
    if (!source) {
      Recovered out;
      out.path = whole.path.data();
      out.put = folder_of(part->data.data());
      out.why = source.error().text();
      return out;
    }
    sources.push_back(std::move(*source));
  }
  return gather(whole, sources, std::move(fd), when, in_the_middle);
}

// What is left of its parts goes, and whoever still has one writes to the file. REQUIRES: the parts' locks,
// and it is together.
void clear(AreaParts& parts, AreaWhole& whole, const std::vector<AreaPart*>& all) {
  for (AreaPart* part : all) {
    unlink(part->data.data());
    unlink(log_path(*part).data());
    part->flags.fetch_or(AreaPart::retired);
    if ((part->flags & AreaPart::closed) != 0) {
      part->generation.fetch_add(1);
    }
  }
  const PartLock lock(parts.lock);
  whole.state.store(AreaWhole::unused, std::memory_order_release);
  parts.live.fetch_sub(1);
}

// All is in the file: from here on it counts, and its parts do not, whoever is killed. False where somebody
// has made a part of it meanwhile: then all of them still count. REQUIRES: the parts' locks.
bool commit(AreaParts& parts, AreaWhole& whole, const std::vector<AreaPart*>& all, UniqueFd* held) {
  const PartLock lock(parts.lock);
  if (has_more(parts, whole, all)) {
    whole.settled = 0;
    whole.state = AreaWhole::parted;
    return false;
  }
  if (held != nullptr) {
    *held = UniqueFd();
  }
  bool open = whole.wanted != 0;
  for (const AreaPart* part : all) {
    open = open || (part->flags & AreaPart::closed) == 0;
  }
  if (open) {
    note_native(parts, whole.device, whole.inode);
  }
  parts.gathered.fetch_add(1);
  whole.state.store(AreaWhole::together, std::memory_order_release);
  whole.generation.fetch_add(1);
  return true;
}

bool lives(const AreaPart& part) {
  return (part.flags & AreaPart::closed) == 0 && part.process != 0 &&
         process_start(part.process) == part.started;
}

// Whether its time has come.
bool is_due(const AreaParts& parts, std::uint32_t index, When when) {
  const AreaWhole& whole = parts.wholes[index];
  if (whole.state == AreaWhole::unused ||
      (when == When::runs && (whole.state != AreaWhole::parted || whole.known == 0))) {
    return false;
  }
  if (when == When::ended || whole.wanted != 0) {
    return true;
  }
  for (const AreaPart& part : parts.parts) {
    // One that is retired is of the file that had the row before.
    if ((part.generation & 1) != 0 && (part.flags & AreaPart::retired) == 0 && part.whole == index &&
        (when == When::left ? lives(part) : (part.flags & AreaPart::closed) == 0)) {
      return false;
    }
  }
  return when == When::left || whole.error == 0;  // what failed is tried again at the end
}

bool is_log(const PartSource& source) {
  std::array<char, sizeof(LogHead::magic)> begin = {};
  return is_ours(source) && pread(source.fd.get(), begin.data(), begin.size(), 0) == std::ssize(begin) &&
         is_part_log({begin.data(), begin.size()});
}

// A whole and its parts, of which only the logs are left.
struct Logged {
  AreaWhole whole;
  std::vector<PartSource> sources;
  std::set<std::string> damaged;  // parts whose logs are, in the end
  std::string damage;             // of one of them
  std::string lost;               // why nothing can be done
};

void add_part(Logged& whole, std::string data, PartLog log) {
  struct stat found {};
  whole.whole.path = log.head.path;
  whole.whole.inode = log.head.inode;
  whole.whole.stamp = log.head.stamp;
  whole.whole.synced = 1;
  whole.whole.device =
      stat(log.head.path.data(), &found) == 0 ? found.st_dev : 0;  // another since the machine started
  if (!log.damage.empty()) {
    whole.damaged.insert(data);
    whole.damage = std::move(log.damage);
  }
  PartSource& source = whole.sources.emplace_back(open_source(std::move(data)));
  source.pieces = std::move(log.pieces);
  if (!is_ours(source)) {
    whole.lost = fmt::format("{} is not there any more, or is somebody else's, and its log is there",
                             quote(source.data));
  }
}

// Nothing goes that is not in the file: of a log that is damaged the rest stays, under a name that is no
// log's.
Recovered gather_logged(Logged& one) {
  if (!one.lost.empty()) {
    return {.path = one.whole.path.data(), .put = folder_of(one.sources.front().data), .why = one.lost};
  }
  Recovered out = gather(one.whole, one.sources, UniqueFd(), When::left, false);
  if (!one.damage.empty()) {
    out.why += (out.why.empty() ? "" : ", and ") + one.damage;
  }
  for (const PartSource& source : one.sources) {
    if (out.outcome == Outcome::failed) {
      break;
    }
    const std::string log = source.data + ".log";
    if (one.damaged.contains(source.data) && rename(log.c_str(), (log + ".damaged").c_str()) == 0) {
      out.why += fmt::format("; see {}", quote(log + ".damaged"));
      continue;
    }
    unlink(source.data.c_str());
    unlink(log.c_str());
  }
  return out;
}

}  // namespace

std::vector<Recovered> list_open_parts(Area& area) {
  std::vector<Recovered> out;
  const auto* parts = area.parts == 0 ? nullptr : area.at<AreaParts>(area.parts);
  for (std::size_t i = 0; parts != nullptr && i < parts->parts.size(); ++i) {
    const AreaPart& part = parts->parts[i];
    if ((part.generation & 1) != 0 && part.whole < parts->wholes.size() && lives(part)) {
      const AreaWhole& whole = parts->wholes[part.whole];
      out.push_back({.outcome = Outcome::lives,
                     .path = whole.path.data(),
                     .put = "",
                     .offset = 0,
                     .bytes = whole.size,
                     .why = fmt::format("process {} runs and has a part of it open; call this again when it "
                                        "has ended",
                                        part.process)});
    }
  }
  return out;
}

std::vector<Recovered> combine_parts(Area& area, const HeldWhole& held, When when, bool tell_all) {
  std::vector<Recovered> told;
  if (area.parts == 0) {
    return told;
  }
  auto& parts = *area.at<AreaParts>(area.parts);
  const pid_t self = getpid();
  const std::uint64_t since = area.process_space == process_space() ? process_start(self) : 0;
  for (std::uint32_t i = 0; i < parts.top && i < parts.wholes.size(); ++i) {
    AreaWhole& whole = parts.wholes[i];
    bool in_the_middle = false;
    bool done = false;  // and whoever did it was killed
    {
      const PartLock lock(parts.lock);
      if (!is_due(parts, i, when)) {
        continue;
      }
      in_the_middle = whole.state == AreaWhole::gathering;
      done = whole.state == AreaWhole::together;
      if (!done) {
        whole.gatherer = self;
        whole.gathering_since = since;
        whole.state = AreaWhole::gathering;
      }
    }
    const Locks locks(parts, i);
    if (done) {
      // All or none: a part that is left over would count for whoever gets the row next.
      if (locks.good()) {
        clear(parts, whole, locks.all());
      }
      continue;
    }
    Recovered one;
    one.path = whole.path.data();
    one.why = "somebody is writing to it";
    UniqueFd* own = held(i, whole.generation);
    if (locks.good()) {
      UniqueFd fd(own == nullptr ? -1 : fcntl(own->get(), F_DUPFD_CLOEXEC, 0));
      one = gather_parts(whole, locks.all(), std::move(fd), when, in_the_middle);
      whole.error = one.outcome == Outcome::failed && whole.error == 0 ? EIO : whole.error.load();
    }
    if (one.outcome == Outcome::failed) {
      whole.state = AreaWhole::parted;
      if (locks.good()) {
        whole.wanted = 0;
        whole.failures.fetch_add(1);
      }
    } else if (commit(parts, whole, locks.all(), own)) {
      step("parts: together");
      clear(parts, whole, locks.all());
    } else {
      one.outcome = Outcome::failed;
      one.why = "somebody has begun to write to it";
    }
    const bool quiet = one.outcome == Outcome::moved || one.outcome == Outcome::dropped;
    if (quiet ? tell_all : one.outcome != Outcome::failed || when != When::runs) {
      told.push_back(std::move(one));
    }
  }
  return told;
}

std::vector<Recovered> combine_logs(const std::string& folder, bool look_only) {
  constexpr std::string_view ending = ".log";
  std::vector<Recovered> out;
  std::map<std::string, Logged> wholes;  // by what logs of one file have alike
  for (const std::string& name : list_folder(folder).value_or(std::vector<std::string>())) {
    const PartSource source = open_source(fmt::format("{}/{}", folder, name));
    if (!name.ends_with(ending) || !is_log(source)) {
      continue;
    }
    std::string data = source.data.substr(0, source.data.size() - ending.size());
    const auto bytes = read_log(source);
    auto log = bytes ? parse_part_log(*bytes) : Result<PartLog>(bytes.error());
    if (!log) {
      out.push_back({.path = std::move(data), .put = folder, .why = log.error().text()});
    } else if (access(log->head.run.data(), F_OK) != 0) {  // else its run still has it
      const LogHead& head = log->head;
      Logged& one = wholes[fmt::format("{} {} {}", head.run.data(), head.whole, head.generation)];
      add_part(one, std::move(data), std::move(*log));
    }
  }
  for (auto& [name, one] : wholes) {
    out.push_back(look_only
                      ? Recovered{.path = one.whole.path.data(), .put = "", .why = "nobody has tried yet"}
                      : gather_logged(one));
  }
  return out;
}

}  // namespace sluice
