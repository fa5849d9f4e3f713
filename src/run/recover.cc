#include "run/recover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"
#include "move/home.h"
#include "pipeline/tell.h"
#include "pipeline/write_at.h"
#include "run/beside.h"
#include "run/combine.h"
#include "run/lander.h"
#include "run/mover.h"
#include "run/own_folder.h"
#include "run/shared.h"

namespace sluice {
namespace {

using Outcome = Recovered::Outcome;

constexpr std::int64_t a_tick = 10000000;     // nanoseconds, by which the kernel's time may be behind
constexpr std::int64_t a_moment = 100000000;  // in which a write that is about to be has changed it

// Whether the file holds these bytes there already: whoever was killed while it wrote them had written them.
bool is_there(int fd, const std::byte* bytes, std::uint64_t length, std::uint64_t offset) {
  std::vector<std::byte> found(length);
  std::uint64_t done = 0;
  while (done < length) {
    const ssize_t got = pread(fd, found.data() + done, length - done, static_cast<off_t>(offset + done));
    if (got <= 0) {
      return false;
    }
    done += static_cast<std::uint64_t>(got);
  }
  return std::memcmp(found.data(), bytes, length) == 0;
}

// Whether whoever was killed was about to write the bytes just then, where the file ended, and what is there
// of them by now are these: the kernel changes the time first. Nothing of anybody else can be written over.
bool is_begun(int fd, const Buffer& buffer, const std::byte* bytes, std::uint64_t length) {
  struct stat found {};
  if (fstat(fd, &found) != 0) {
    return false;
  }
  const std::int64_t since = nanoseconds(found.st_mtim) - buffer.began;
  if (buffer.began == 0 || since < -a_tick || since > a_moment) {
    return false;
  }
  const auto size = static_cast<std::uint64_t>(found.st_size);
  const auto before = static_cast<std::uint64_t>(buffer.stamp.size);
  return buffer.base >= before && size >= before && size <= buffer.base + length &&
         (size <= buffer.base ? size == before : is_there(fd, bytes, size - buffer.base, buffer.base));
}

// Whether a descriptor is the file of the record: the same inode, and the same handle, where the file system
// gives those. A device may have another number when it is mounted again: without a handle, a file of the
// same number, size and times is the same.
bool is_same(int fd, const Buffer& buffer, const BlockHead& head) {
  struct stat found {};
  if (fstat(fd, &found) != 0 || found.st_ino != buffer.inode) {
    return false;
  }
  int mount = 0;
  return head.handle.empty() ? found.st_dev == buffer.device || is_unchanged(fd, buffer)
                             : handle_of(fd, mount) == head.handle;
}

// Numbers of devices are given again: where a file system says what it is, that counts.
bool is_filesystem_of(int fd, const Buffer& buffer, const BlockHead& head) {
  struct stat found {};
  return head.filesystem != 0 ? filesystem_of(fd) == head.filesystem
                              : fstat(fd, &found) == 0 && found.st_dev == buffer.device;
}

// Errno is EWOULDBLOCK where somebody has it leased.
UniqueFd open_same(const std::string& path, const Buffer& buffer, const BlockHead& head) {
  UniqueFd out(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!out) {
    out = UniqueFd(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  }
  if (out && !is_same(out.get(), buffer, head)) {
    out = UniqueFd();
    errno = ENOENT;
  }
  return out;
}

// By its handle, which only root may use. `gone` where there is no such file any more.
UniqueFd open_handle(const std::string& path, const Buffer& buffer, const BlockHead& head, bool& gone) {
  if (head.handle.empty()) {
    return {};
  }
  FileHandle handle = head.handle;
  const UniqueFd mount(open(nearest_folder(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat found {};
  if (!mount || !is_filesystem_of(mount.get(), buffer, head)) {
    return {};
  }
  UniqueFd out(open_by_handle_at(mount.get(), reinterpret_cast<file_handle*>(handle.bytes.data()),
                                 O_RDWR | O_CLOEXEC | O_NONBLOCK));
  const bool stale = !out && errno == ESTALE;
  gone = (stale && (lstat(path.c_str(), &found) != 0 || found.st_ino != buffer.inode)) ||
         (out && fstat(out.get(), &found) == 0 && found.st_nlink == 0);
  return out && is_same(out.get(), buffer, head) ? std::move(out) : UniqueFd();
}

// Under another name in the same folder, or where a folder of its path is called otherwise.
UniqueFd open_renamed(const std::string& path, const Buffer& buffer, const BlockHead& head) {
  const std::string folder = nearest_folder(path);
  const std::size_t below = path.find('/', folder.size() + 1);  // what was in the folder that is gone
  const bool moved = folder != folder_of(path) && below != std::string::npos;
  UniqueFd out;
  // Where it cannot be looked into, nothing is found.
  [[maybe_unused]] const auto found = find_in(folder, [&](std::string entry) {
    entry += moved ? path.substr(below) : "";
    struct stat is {};
    if (lstat(entry.c_str(), &is) == 0 && S_ISREG(is.st_mode) && is.st_ino == buffer.inode) {
      out = open_same(entry, buffer, head);
    }
    return static_cast<bool>(out);
  });
  return out;
}

void empty(Area& area, Buffer& buffer) {
  area.count_flush(buffer);
  buffer.length.store(0, std::memory_order_release);
}

// On the file system that the file is on, where that was found: on `device`.
Recovered to_beside(Area& area, Buffer& buffer, Recovered out, std::string why, std::uint64_t device) {
  const auto name = put_beside(out.path, device, [&](int fd) -> Status {
    if (device == 0 && !is_filesystem_of(fd, buffer, area.head_of(buffer))) {
      return fail("its file system is not there", "mount it");
    }
    const int error = write_at(fd, area.bytes_of(buffer), out.bytes, 0);
    return error == 0 ? Status() : fail(error, "cannot write it");
  });
  out.why = std::move(why);
  if (!name) {
    out.why += fmt::format(", and beside it is no place: {}", name.error().text());
    return out;
  }
  out.put = *name;
  out.outcome = Outcome::beside;
  empty(area, buffer);
  return out;
}

Recovered dropped(Buffer& buffer, Recovered out) {
  out.outcome = Outcome::dropped;
  out.why = "the file was removed";
  buffer.length.store(0, std::memory_order_release);  // that is no write
  return out;
}

// With `ours` nobody else has changed the file; who lives may read and write it whether it has a name or not.
Recovered to_file(Area& area, Buffer& buffer, Recovered out, int fd, bool ours, bool alive) {
  buffer.began = nanoseconds_of(CLOCK_REALTIME);
  const int error = write_at(fd, area.bytes_of(buffer), out.bytes, out.offset);
  if (error != 0) {
    struct stat found {};
    if (!alive && fstat(fd, &found) == 0 && found.st_nlink == 0) {
      buffer.began = 0;
      return dropped(buffer, std::move(out));
    }
    out.why = std::strerror(error);
    // What was written before it failed is no change of somebody else's either.
    const FileStamp before = buffer.stamp;
    if (!ours || !stamp_file(buffer, fd)) {
      buffer.stamp = before;
    }
    buffer.began = 0;
    return out;
  }
  buffer.began = 0;
  out.outcome = Outcome::written;
  empty(area, buffer);
  return out;
}

std::uint64_t size_of(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

// What is kept back by processes that run, or by those that no longer do.
std::vector<Buffer*> kept_in(Area& area, bool alive) {
  std::vector<Buffer*> out;
  for (Buffer& buffer : area.all_buffers()) {
    if ((buffer.generation & 1) != 0 && buffer.block != 0 && buffer.block <= area.block_count &&
        buffer.length > 0 && buffer.length <= block_bytes && is_alive(buffer) == alive) {
      out.push_back(&buffer);
    }
  }
  return out;
}

// Files that are in parts.
void tell_parted(Area& area, std::vector<Recovered>& out) {
  auto& parts = *area.at<AreaParts>(area.parts);
  for (std::uint32_t i = 0; area.parts != 0 && i < parts.top && i < parts.wholes.size(); ++i) {
    if (is_parted(parts.wholes[i])) {
      out.push_back({.outcome = Outcome::failed,
                     .path = parts.wholes[i].path.data(),
                     .put = "",
                     .offset = 0,
                     .bytes = parts.wholes[i].size,
                     .why = "nobody has tried yet"});
    }
  }
}

// What processes that run keep back, and see to.
void tell_living(Area& area, std::vector<Recovered>& out) {
  for (const Buffer* buffer : kept_in(area, true)) {
    out.push_back({.outcome = Outcome::lives,
                   .path = area.head_of(*buffer).path.data(),
                   .put = "",
                   .offset = buffer->base,
                   .bytes = buffer->length,
                   .why = fmt::format("process {} runs and writes them itself", buffer->process)});
  }
  for (auto& living : {list_open_pending(area), list_open_parts(area)}) {
    out.insert(out.end(), living.begin(), living.end());
  }
}

// The lock of an area whose run is over. Where another command has it, which recovers what is in it: after
// that.
bool take_area(int fd, std::size_t size, bool wait) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    return true;
  }
  void* memory =
      wait && size >= sizeof(Area) ? mmap(nullptr, sizeof(Area), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (memory == MAP_FAILED) {
    return false;
  }
  const auto& area = *static_cast<const Area*>(memory);
  const bool over = area.magic == area_magic && area.version == area_version &&
                    area.process_space == process_space() && !keeper_lives(area);
  munmap(memory, sizeof(Area));
  return over && flock(fd, LOCK_EX) == 0;
}

// Whether a file in a folder where everybody may make some was made by a run of ours: it was never anybody
// else's to write, and is nothing else under another name.
bool is_own_record(int fd) {
  struct stat found {};
  return fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
         found.st_nlink == 1 && (found.st_mode & 07777) == 0600;
}

}  // namespace

bool is_needed(Area& area) {
  const std::span<Buffer> all = area.all_buffers();
  const std::span<AreaMove> moves = area.all_moves();
  const auto pending = [](const AreaMove& move) {
    return !is_placed(move) &&
           (is_elsewhere(move) || move.state == AreaMove::landing || is_left_beside(move));
  };
  const auto* parts = area.at<AreaParts>(area.parts);
  return (area.parts != 0 && parts->live != 0) || is_pending_left(area) ||
         std::any_of(moves.begin(), moves.end(), pending) ||
         std::any_of(all.begin(), all.end(), [](const Buffer& buffer) {
           return (buffer.generation & 1) != 0 && buffer.block != 0 && buffer.length > 0;
         });
}

Recovered put_down(Area& area, Buffer& buffer, int fd, bool alive) {
  BlockHead& head = area.head_of(buffer);
  head.path.back() = 0;
  Recovered out;
  out.path = head.path.data();
  out.offset = buffer.base;
  out.bytes = buffer.length;
  // Nobody else could open it without our knowing; only who forced the lease may have changed it. At the
  // level `close` others may change it whenever they want to: who lives would have written what it has all
  // the same.
  const bool leased = fd >= 0 && is_lease_kept(fd, buffer);
  if (leased || (fd >= 0 && alive && buffer.level == Level::close)) {
    return to_file(area, buffer, std::move(out), fd, leased || is_unchanged(fd, buffer), alive);
  }
  bool gone = false;
  UniqueFd file = fd >= 0 ? open_again(fd, O_RDWR) : open_same(out.path, buffer, head);
  const bool busy = !file && errno == EWOULDBLOCK;
  if (!file && fd >= 0) {
    file = UniqueFd(dup(fd));
  }
  if (!file && !busy) {
    file = open_handle(out.path, buffer, head, gone);
  }
  if (!file && !busy && !gone) {
    file = open_renamed(out.path, buffer, head);
  }
  struct stat found {};
  const bool nameless = file && fstat(file.get(), &found) == 0 && found.st_nlink == 0;
  if (nameless && alive) {
    return to_file(area, buffer, std::move(out), file.get(), is_unchanged(file.get(), buffer), alive);
  }
  if (gone || nameless) {
    return dropped(buffer, std::move(out));
  }
  if (!file && busy) {
    out.why = "another process has it open and leased; try again when that has ended";
    return out;
  }
  if (!file) {
    // One without a name when it was opened may have got one since.
    constexpr std::string_view removed = " (deleted)";
    if (out.path.ends_with(removed)) {
      out.path.resize(out.path.size() - removed.size());
    }
    return to_beside(area, buffer, std::move(out),
                     "the file is not there any more, is another, or may not be written", 0);
  }
  out.path = name_of(file.get(), out.path);  // its folder may have another one
  if (is_unchanged(file.get(), buffer) || is_begun(file.get(), buffer, area.bytes_of(buffer), out.bytes)) {
    return to_file(area, buffer, std::move(out), file.get(), true, alive);
  }
  if (is_there(file.get(), area.bytes_of(buffer), out.bytes, out.offset)) {
    out.outcome = Outcome::there;
    empty(area, buffer);
    return out;
  }
  return to_beside(area, buffer, std::move(out), "the file was changed since", found.st_dev);
}

std::string describe(const Recovered& one) {
  const std::string what =
      fmt::format("{} of {} at offset {}", human_size(one.bytes), quote(one.path), one.offset);
  switch (one.outcome) {
    case Outcome::written:
      return fmt::format("wrote {}, which a program that ended had kept back", what);
    case Outcome::made:
      return fmt::format("made {}, which had been left in memory", quote(one.path));
    case Outcome::there:
      return fmt::format("{} are in the file already", what);
    case Outcome::beside:
      return fmt::format("{}: {}; the bytes are in {}", one.bytes == 0 ? quote(one.path) : what, one.why,
                         quote(one.put));
    case Outcome::dropped:
    case Outcome::lives:
      return fmt::format("{}: {}", one.bytes == 0 ? quote(one.path) : what, one.why);
    case Outcome::moved:
      return fmt::format("brought {} home{}{}", quote(one.path), one.why.empty() ? "" : ", but ", one.why);
    case Outcome::stays:
      return fmt::format(
          "{} is not a link to its data any more, because somebody replaced or moved it; the data stays "
          "in {}: put it where it belongs, or remove it",
          quote(one.path), quote(one.put));
    case Outcome::lost:
      return fmt::format("{} is lost{}{}: {}", one.bytes == 0 ? quote(one.path) : what,
                         one.put.empty() ? "" : ", which was in ", one.put.empty() ? "" : quote(one.put),
                         one.why);
    case Outcome::failed:
      break;
  }
  if (!one.put.empty()) {
    return fmt::format("{} is still in {}: {}; `sluice recover` tries again, and forgets it with --give-up",
                       quote(one.path), quote(one.put), one.why);
  }
  if (one.bytes == 0) {
    return fmt::format("{}: {}; `sluice recover` tries again, and forgets it with --give-up", quote(one.path),
                       one.why);
  }
  return fmt::format("{} could not be written: {}; they are kept, `sluice recover` tries again", what,
                     one.why);
}

std::vector<std::string> describe(const std::vector<Recovered>& all) {
  constexpr std::size_t many = 4;
  std::map<std::tuple<Outcome, std::string, std::string>, std::vector<const Recovered*>> alike;
  for (const Recovered& one : all) {
    alike[{one.outcome, folder_of(one.path), one.why}].push_back(&one);
  }
  std::vector<std::string> out;
  for (const Recovered& one : all) {
    const auto found = alike.find({one.outcome, folder_of(one.path), one.why});
    if (found == alike.end()) {
      continue;  // told already
    }
    if (const std::size_t more = found->second.size(); more >= many) {
      out.push_back(fmt::format("{}; and so it is with {} more in {}", describe(one), more - 1,
                                quote(folder_of(one.path))));
      alike.erase(found);
    } else {
      out.push_back(describe(one));
    }
  }
  return out;
}

Json recovered_json(const Recovered& one) {
  constexpr std::array names = {"written", "made",  "there", "beside", "dropped",
                                "moved",   "stays", "lives", "lost",   "failed"};
  return {{"outcome", names[static_cast<std::size_t>(one.outcome)]},
          {"path", one.path},
          {"put", one.put},
          {"offset", one.offset},
          {"bytes", one.bytes},
          {"why", one.why}};
}

std::string describe_leftovers() {
  std::vector<Recovered> all = recover_leftovers(Leftovers::looked_at);
  std::erase_if(all, [](const Recovered& one) { return one.outcome == Outcome::lives; });
  if (all.empty()) {
    return "";
  }
  const std::string more = all.size() == 1 ? "" : fmt::format(", and {} more", all.size() - 1);
  return fmt::format("a run that ended left something of {}{}; `sluice recover` writes it",
                     quote(all.front().path), more);
}

std::vector<Recovered> recover_leftovers(Leftovers how) {
  const bool look_only = how == Leftovers::looked_at;
  const bool wait = how == Leftovers::all || how == Leftovers::given_up;
  std::vector<Recovered> out;
  for (const std::string& path : leftover_areas()) {
    const UniqueFd fd(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat found {};
    if (!fd || !is_own_record(fd.get()) || fstat(fd.get(), &found) != 0 ||
        !take_area(fd.get(), static_cast<std::size_t>(found.st_size), wait) || !is_own_record(fd.get()) ||
        fstat(fd.get(), &found) != 0) {
      continue;  // somebody's, or the run lives
    }
    const auto size = static_cast<std::size_t>(found.st_size);
    void* memory = size < sizeof(Area) ? MAP_FAILED
                                       : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    // One of another version of Sluice is for that.
    bool needed = memory != MAP_FAILED && static_cast<const Area*>(memory)->magic == area_magic &&
                  static_cast<const Area*>(memory)->version != area_version;
    if (needed && how != Leftovers::recovered) {
      out.push_back(
          {.outcome = how == Leftovers::given_up ? Outcome::lost : Outcome::failed,
           .path = path,
           .put = "",
           .offset = 0,
           .bytes = 0,
           .why = "what another version of Sluice left is in it, and only that one can bring it to where "
                  "it belongs"});
      needed = how != Leftovers::given_up;
    }
    if (memory != MAP_FAILED && is_area(memory, size)) {
      auto& area = *static_cast<Area*>(memory);
      if (area.buffers != 0 && area.process_space != process_space()) {
        munmap(memory, size);
        if (how != Leftovers::recovered) {
          out.push_back({.outcome = Outcome::lives,
                         .path = path,
                         .put = "",
                         .offset = 0,
                         .bytes = size,
                         .why =
                             "its processes have numbers of their own, as in a container, and whether they "
                             "run can only be told there"});
        }
        continue;
      }
      const std::size_t before = out.size();
      if (!look_only) {
        area.over = 1;  // a program that lives keeps nothing back any more: nobody would look after it
      }
      for (Buffer* buffer : kept_in(area, false)) {
        if (look_only) {
          out.push_back({.outcome = Outcome::failed,
                         .path = area.head_of(*buffer).path.data(),
                         .put = "",
                         .offset = buffer->base,
                         .bytes = buffer->length,
                         .why = "nobody has tried yet"});
          continue;
        }
        if (lock_buffer(*buffer, gettid(), 1000) == Locked::yes) {
          out.push_back(put_down(area, *buffer, -1, false));
          unlock_buffer(*buffer);
        }
      }
      for (const AreaMove& move : look_only ? area.all_moves() : std::span<AreaMove>()) {
        if (is_elsewhere(move) && !is_placed(move)) {
          out.push_back({.outcome = Outcome::failed,
                         .path = move.path.data(),
                         .put = move.data.data(),
                         .offset = 0,
                         .bytes = size_of(move.data.data()),
                         .why = "nobody has tried yet"});
        }
      }
      if (look_only) {
        tell_parted(area, out);
        std::vector<Recovered> pending = list_pending(area);
        out.insert(out.end(), pending.begin(), pending.end());
      } else {
        for (auto& done : {combine_parts(
                               area, [](auto, auto) -> UniqueFd* { return nullptr; }, When::left, true),
                           bring_home(area, true, true), Lander(area).land(Lander::Which::closed, true)}) {
          out.insert(out.end(), done.begin(), done.end());
        }
        for (const Recovered& one : out) {
          remove_own_folder(folder_of(one.put));
        }
      }
      if (look_only || wait) {
        tell_living(area, out);
      }
      const auto begin = out.begin() + static_cast<std::ptrdiff_t>(before);
      const bool lives =
          std::any_of(begin, out.end(), [](const Recovered& one) { return one.outcome == Outcome::lives; });
      needed = is_needed(area);
      if (needed && !lives && how == Leftovers::given_up) {
        std::for_each(begin, out.end(), [](Recovered& one) {
          one.outcome = one.outcome == Outcome::failed ? Outcome::lost : one.outcome;
        });
        needed = false;
      }
    }
    if (memory != MAP_FAILED) {
      munmap(memory, size);
    }
    if (!needed) {
      unlink(path.c_str());
    }
  }
  return out;
}

}  // namespace sluice
