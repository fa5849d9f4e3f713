#include "run/combine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/step.h"
#include "base/text.h"
#include "pipeline/area.h"
#include "pipeline/write_at.h"
#include "run/part_log.h"

namespace sluice {
namespace {

using Outcome = Recovered::Outcome;

constexpr std::size_t at_once = std::size_t{8} << 20;  // bytes, written by one call
constexpr int patience = 1000;                         // milliseconds, for somebody who writes to a part
constexpr std::int64_t a_moment = 2 * std::int64_t{1000000000};  // in which a write that has begun is done

// A part, as whoever brings it together has it.
struct Source {
  std::string data;
  UniqueFd fd;
  std::vector<Piece> pieces;
};

Source open_source(std::string data) {
  UniqueFd fd(open(data.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return {.data = std::move(data), .fd = std::move(fd), .pieces = {}};
}

Combined combine_sources(const std::vector<Source>& sources) {
  std::vector<std::vector<Piece>> pieces;
  for (const Source& source : sources) {
    pieces.push_back(source.pieces);
  }
  return combine_pieces(pieces);
}

Status read_all(const Source& from, char* bytes, std::size_t length, std::uint64_t offset) {
  while (length > 0) {
    const ssize_t done = pread(from.fd.get(), bytes, length, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      const int number = done == 0 ? EIO : errno;
      return fail(number, fmt::format("cannot read {}", quote(from.data)));
    }
    bytes += done;
    offset += static_cast<std::uint64_t>(done);
    length -= static_cast<std::size_t>(done);
  }
  return {};
}

// Extents that lie side by side are written together, whoever wrote them: that is what parts are for.
Status write_extents(const Combined& combined, const std::vector<Source>& sources, int fd,
                     const std::function<void()>& begins) {
  std::vector<char> buffer(at_once);
  std::size_t filled = 0;
  std::uint64_t base = 0;
  const auto flush = [&]() -> Status {
    begins();
    const std::size_t length = std::exchange(filled, 0);
    const int error = write_at(fd, buffer.data(), length, base);
    return error == 0 ? Status() : fail(error, "cannot write it");
  };
  for (const auto& [begin, extent] : combined.extents) {
    for (std::uint64_t at = begin; at < extent.end;) {
      if (base + filled != at || filled == at_once) {
        SLUICE_CHECK(flush());
        base = at;
      }
      const auto length =
          static_cast<std::size_t>(std::min<std::uint64_t>(extent.end - at, at_once - filled));
      SLUICE_CHECK(read_all(sources[extent.part], buffer.data() + filled, length, at));
      filled += length;
      at += length;
    }
  }
  return flush();
}

// A part that has lost bytes is found before anything is written.
Status check_sources(const Combined& combined, const std::vector<Source>& sources) {
  for (const auto& [begin, extent] : combined.extents) {
    const Source& source = sources[extent.part];
    struct stat found {};
    if (!source.fd || fstat(source.fd.get(), &found) != 0) {
      return Errno().fail(fmt::format("cannot read {}", quote(source.data)));
    }
    if (static_cast<std::uint64_t>(found.st_size) < extent.end) {
      return fail(EIO, fmt::format("{} ends at {}, and should have bytes up to {}", quote(source.data),
                                   found.st_size, extent.end));
    }
  }
  return {};
}

// Makes a file end there at least. Others may make it longer at any moment, so nothing that could make it
// shorter, where the file system has something else.
Status reach(int fd, std::uint64_t size) {
  struct stat found {};
  if (fstat(fd, &found) == 0 && (static_cast<std::uint64_t>(found.st_size) >= size ||
                                 fallocate(fd, 0, static_cast<off_t>(size) - 1, 1) == 0 ||
                                 ftruncate(fd, static_cast<off_t>(size)) == 0)) {
    return {};
  }
  return Errno().fail("cannot give it its size");
}

// Writes it into a file that is the one it belongs to, or new and empty.
Status write_combined(const Combined& combined, const std::vector<Source>& sources, int fd,
                      const std::function<void()>& begins) {
  SLUICE_CHECK(check_sources(combined, sources));
  struct stat found {};
  begins();
  if (combined.kept != Combined::all &&
      (fstat(fd, &found) != 0 || (static_cast<std::uint64_t>(found.st_size) > combined.kept &&
                                  ftruncate(fd, static_cast<off_t>(combined.kept)) != 0))) {
    return Errno().fail("cannot make it shorter");
  }
  step("parts: about to be written");
  SLUICE_CHECK(write_extents(combined, sources, fd, begins));
  step("parts: written");
  return reach(fd, combined.reach);
}

Result<std::string> read_log(const Source& log) {
  struct stat found {};
  if (!log.fd || fstat(log.fd.get(), &found) != 0) {
    return Errno().fail(fmt::format("cannot read {}", quote(log.data)));
  }
  std::string out(static_cast<std::size_t>(found.st_size), '\0');
  SLUICE_CHECK(read_all(log, out.data(), out.size(), 0));
  return out;
}

// Others could put something there that writes to files in our name.
bool is_ours(const Source& source) {
  struct stat found {};
  return source.fd && fstat(source.fd.get(), &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_uid == geteuid();
}
Status check_ours(const Source& source) {
  return is_ours(source) ? Status() : fail(EPERM, fmt::format("{} is somebody else's", quote(source.data)));
}

// With what is noted of it, in its log and in memory.
Result<Source> source_of(const AreaPart& part) {
  Source out = open_source(part.data.data());
  if (!out.fd && (part.count > 0 || part.logged > 0)) {
    return Errno().fail(fmt::format("cannot open {}", quote(out.data)));
  }
  if (out.fd) {
    SLUICE_CHECK(check_ours(out));
  }
  if (part.logged > log_head_bytes) {
    const Source file = open_source(log_path(part).data());
    SLUICE_TRY(const std::string bytes, read_log(file));
    SLUICE_CHECK(check_ours(file));
    SLUICE_TRY(PartLog log, parse_part_log(bytes));
    if (log.pieces.size() < (part.logged - log_head_bytes) / sizeof(LogPiece)) {
      return fail(log.damage.empty() ? "its log is cut off" : log.damage);
    }
    out.pieces = std::move(log.pieces);
  }
  const std::uint32_t count = std::min<std::uint32_t>(part.count, AreaPart::most_pieces);
  out.pieces.insert(out.pieces.end(), part.pieces.begin(), part.pieces.begin() + count);
  return out;
}

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
  return fd >= 0 && fstat(fd, &found) == 0 && found.st_ino == whole.inode &&
         (whole.handle.empty() ? found.st_dev == whole.device : handle_of(fd, mount) == whole.handle);
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
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    struct stat found {};
    if (lstat(entry.path().c_str(), &found) == 0 && found.st_ino == whole.inode && S_ISREG(found.st_mode)) {
      path = entry.path().string();
      return open_at(path, whole);
    }
  }
  if (!failed) {
    return {};
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(folder), failed)) {
    if (UniqueFd out = open_at(entry.path().string() + name, whole); out) {
      path = entry.path().string() + name;
      return out;
    }
  }
  return {};
}

// Whether nobody but us wrote to it since. Who was killed in the middle of that had begun a moment before.
bool is_unchanged(const AreaWhole& whole, const FileStamp& found, bool in_the_middle) {
  return (found.size == whole.stamp.size && found.changed == whole.stamp.changed) ||
         (in_the_middle && whole.began != 0 && found.changed >= whole.stamp.changed &&
          found.changed <= whole.began + a_moment);
}

// The pieces alone, in a new file beside it.
Recovered to_beside(std::uint64_t device, const std::vector<Source>& sources, Recovered out,
                    std::string why) {
  out.why = std::move(why);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = beside_name(out.path, i);
    const UniqueFd fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd && errno == EEXIST) {
      continue;
    }
    Status put = !fd ? Errno().fail("cannot make it")
                 : device != 0 && !is_on(fd.get(), device)
                     ? fail("its file system is not there; mount it")
                     : write_combined(combine_sources(sources), sources, fd.get(), [] {});
    if (put && fsync(fd.get()) != 0) {
      put = Errno().fail("cannot sync it");
    }
    if (!put) {
      if (fd) {
        unlink(name.c_str());
      }
      out.why += fmt::format(", and it cannot be put beside it: {}", put.error().text());
      return out;
    }
    out.put = name;
    out.outcome = Outcome::beside;
    return out;
  }
  return out;
}

// As if the program had written it there: the time is that of the last write, or what somebody set since.
timespec time_of(const AreaWhole& whole, const std::vector<Source>& sources, const struct stat& before) {
  timespec last = before.st_mtim;
  if (is_changed_since(whole, nanoseconds(before.st_mtim), nanoseconds(before.st_ctim))) {
    set_nanoseconds(last, whole.changed);
  } else if (whole.changed == 0 && nanoseconds(last) == whole.stamp.changed) {  // from logs
    for (const Source& source : sources) {
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
Recovered gather(AreaWhole& whole, const std::vector<Source>& sources, UniqueFd fd, When when,
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
  Status put = write_combined(combine_sources(sources), sources, fd.get(),
                              [&] { whole.began = nanoseconds_of(CLOCK_REALTIME); });
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
  std::vector<Source> sources;
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

bool is_log(const Source& source) {
  std::array<char, sizeof(LogHead::magic)> begin = {};
  return is_ours(source) && pread(source.fd.get(), begin.data(), begin.size(), 0) == std::ssize(begin) &&
         is_part_log({begin.data(), begin.size()});
}

// A whole and its parts, of which only the logs are left.
struct Logged {
  AreaWhole whole;
  std::vector<Source> sources;
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
  Source& source = whole.sources.emplace_back(open_source(std::move(data)));
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
  for (const Source& source : one.sources) {
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

Combined combine_pieces(const std::vector<std::vector<Piece>>& parts) {
  Combined out;
  std::vector<std::pair<Piece, std::size_t>> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Piece& piece : parts[i]) {
      all.emplace_back(piece, i);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.order < b.first.order; });
  // What begins before an offset and reaches beyond it becomes two.
  const auto split = [&](std::uint64_t at) {
    auto next = out.extents.lower_bound(at);
    if (next != out.extents.begin()) {
      auto& [begin, extent] = *std::prev(next);
      if (extent.end > at) {
        out.extents.emplace_hint(next, at, extent);
        extent.end = at;
      }
    }
    return out.extents.lower_bound(at);
  };
  for (const auto& [piece, part] : all) {
    if (piece.length == Piece::cut) {
      out.extents.erase(split(piece.offset), out.extents.end());
      out.kept = std::min(out.kept, piece.offset);
      out.reach = piece.offset;
      continue;
    }
    const std::uint64_t end = piece.offset + piece.length;
    out.reach = std::max(out.reach, end);
    if (piece.length != Piece::grown) {
      const auto last = split(end);
      out.extents.erase(split(piece.offset), last);
      out.extents[piece.offset] = {.end = end, .part = part};
    }
  }
  return out;
}

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
    const Source source = open_source(fmt::format("{}/{}", folder, name));
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
