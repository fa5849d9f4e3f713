#include "move/home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <vector>

#include "base/files.h"
#include "base/step.h"
#include "base/sys.h"
#include "base/text.h"
#include "move/lease.h"

namespace sluice {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;  // short enough to give way soon
constexpr useconds_t grace = 1000;                   // in which a lookup that has begun reaches the file

// Bytes of both at the same offset. The kernel does it where it can.
Status copy_range(int from, int to, off_t begin, off_t end, const GoOn& go_on) {
  std::vector<char> buffer;
  while (begin < end) {
    const std::size_t length = std::min<std::size_t>(piece, static_cast<std::size_t>(end - begin));
    if (!go_on(length)) {
      return fail(ECANCELED, "stopped");
    }
    off_t in = begin;
    off_t out = begin;
    ssize_t done = copy_file_range(from, &in, to, &out, length, 0);
    // Some file systems say 0 of what they cannot copy.
    if (done == 0 || (done < 0 && errno != EINTR && errno != ENOSPC && errno != EDQUOT)) {
      buffer.resize(piece);
      done = pread(from, buffer.data(), length, begin);
      done = done <= 0 ? done : pwrite(to, buffer.data(), static_cast<std::size_t>(done), begin);
    }
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done < 0) {
      return Errno().fail("cannot copy");
    }
    if (done == 0) {
      return {};  // it became shorter
    }
    begin += done;
  }
  return {};
}

// In one go, where it is not worth to look for holes.
bool copy_small(int from, int to, off_t size) {
  std::array<char, 65536> buffer;
  return size <= static_cast<off_t>(buffer.size()) &&
         pread(from, buffer.data(), static_cast<std::size_t>(size), 0) == size &&
         pwrite(to, buffer.data(), static_cast<std::size_t>(size), 0) == size;
}

Status copy_bytes(int from, int to, const struct stat& found, const GoOn& go_on) {
  const off_t size = found.st_size;
  const bool has_holes = found.st_blocks * 512 < size;
  if (size == 0 || (!has_holes && copy_small(from, to, size))) {
    return {};
  }
  if (ioctl(to, FICLONE, from) == 0) {
    return {};
  }
  if (ftruncate(to, size) != 0) {
    return Errno().fail("cannot copy");
  }
  for (off_t at = 0; at < size;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
      break;  // a hole to the end
    }
    const off_t begin = data < 0 ? at : data;
    const off_t hole = data < 0 ? size : lseek(from, begin, SEEK_HOLE);
    const off_t end = hole < 0 || hole > size ? size : hole;
    SLUICE_CHECK(copy_range(from, to, begin, end, go_on));
    at = end;
  }
  return {};
}

// Access lists are attributes, too. What a file system or user may not have is left out, as cp does.
void copy_attributes(int from, int to) {
  const ssize_t wanted = flistxattr(from, nullptr, 0);
  if (wanted <= 0) {
    return;
  }
  std::vector<char> names(static_cast<std::size_t>(wanted) + 4096);
  const ssize_t size = flistxattr(from, names.data(), names.size());
  std::vector<char> value(65536);
  for (ssize_t at = 0; at < size;) {
    const std::string name(names.data() + at);
    at += static_cast<ssize_t>(name.size()) + 1;
    const ssize_t length = fgetxattr(from, name.c_str(), value.data(), value.size());
    if (length >= 0) {
      fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(length), 0);
    }
  }
}

std::uint32_t random_number() {
  std::random_device device;
  return std::max(device(), 1U);
}

std::int64_t changed_at(const struct stat& found) {
  return std::int64_t{found.st_ctim.tv_sec} * 1000000000 + found.st_ctim.tv_nsec;
}

void note(Landing& landing, const struct stat& file, const struct stat& data) {
  landing.device = file.st_dev;
  landing.inode = file.st_ino;
  landing.changed = changed_at(data);
}

std::string link_target(const std::string& path) {
  std::array<char, 4096> out = {};
  const ssize_t length = readlink(path.c_str(), out.data(), out.size());
  return length > 0 ? std::string(out.data(), static_cast<std::size_t>(length)) : "";
}

// What an earlier try left in a folder, whatever name the file has now; "" where that is nothing.
std::string find_aside(const std::string& folder, const Landing& landing) {
  const std::string end = fmt::format(".sluice-{:08x}", landing.temporary);
  const auto names = landing.temporary == 0 ? Result<std::vector<std::string>>() : list_folder(folder);
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (name.starts_with('.') && name.ends_with(end)) {
      return folder + "/" + name;
    }
  }
  return "";
}

enum class Aside { nothing, copy, link, other };

// A copy, or the link that it has changed places with, is removed. Nobody else's.
Aside remove_aside(const std::string& path, const std::string& data, const Landing& landing) {
  struct stat found {};
  if (path.empty() || lstat(path.c_str(), &found) != 0) {
    return Aside::nothing;
  }
  const bool copy = found.st_dev == landing.device && found.st_ino == landing.inode;
  const Aside out = S_ISLNK(found.st_mode) && link_target(path) == data ? Aside::link
                    : S_ISREG(found.st_mode) && (copy || landing.inode == 0) && found.st_nlink == 1 &&
                            (copy || found.st_uid == geteuid())
                        ? Aside::copy
                        : Aside::other;
  if (out != Aside::other) {
    unlink(path.c_str());
  }
  return out;
}

bool is_file(const std::string& path, const struct stat& file) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && identity_of(found) == identity_of(file);
}

bool exchange(const std::string& one, const std::string& other) {
  return renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

// A file takes the place of a link to `data`: one that somebody removed meanwhile does not come back, and
// what somebody put in its place stays there; ESTALE then.
bool replace_link(const std::string& file, const std::string& link, const std::string& data) {
  if (!exchange(file, link)) {
    return errno == EINVAL && rename(file.c_str(), link.c_str()) == 0;
  }
  step("home: in its place, the link beside it");
  if (link_target(file) != data) {
    exchange(file, link);
    errno = ESTALE;
    return false;
  }
  unlink(file.c_str());
  return true;
}

// Who uses a file: a lease tells, and where there is none all processes are looked at.
class Watch {
 public:
  Watch(int fd, Lease::Against against) : fd_(fd), lease_(fd, against) { fstat(fd, &first_); }

  [[nodiscard]] bool busy() const { return lease_.busy(); }
  // As far as a lease tells, which takes no time.
  [[nodiscard]] bool undisturbed() const { return lease_.undisturbed(); }
  [[nodiscard]] bool alone() const { return lease_.alone(); }
  // Whether somebody has it open for writing, or has written to it; without a lease also for reading.
  [[nodiscard]] Result<bool> used(bool mapped) const {
    if (lease_.held()) {
      return !lease_.undisturbed();
    }
    struct stat now {};
    if (fstat(fd_, &now) != 0 || now.st_size != first_.st_size ||
        now.st_mtim.tv_sec != first_.st_mtim.tv_sec || now.st_mtim.tv_nsec != first_.st_mtim.tv_nsec) {
      return true;
    }
    const Users users = look_for_users({identity_of(now)}, mapped);
    if (!users.known.empty() || writes_itself(identity_of(now))) {
      return true;
    }
    if (users.hidden && now.st_uid != geteuid()) {
      return fail(
          "it is another user's, and whether somebody has it open cannot be told without CAP_LEASE or "
          "CAP_SYS_PTRACE");
    }
    return false;
  }
  [[nodiscard]] bool is_used() const {
    const auto known = used(true);
    return !known || *known;
  }

 private:
  int fd_;
  Lease lease_;
  struct stat first_ = {};
};

// The link takes the place of a file that was put in its own. Not where somebody is about to write to that.
bool restore_link(const std::string& data, const std::string& entry, const std::string& beside,
                  const struct stat& file, const Watch& home) {
  if (home.is_used() || symlink(data.c_str(), beside.c_str()) != 0) {
    return false;
  }
  bool restored = exchange(beside, entry);
  // That has come just now, or is another's.
  if (restored && (home.is_used() || !is_file(beside, file))) {
    exchange(beside, entry);
    restored = false;
  } else if (!restored) {
    restored = errno == EINVAL && rename(beside.c_str(), entry.c_str()) == 0;
  }
  unlink(beside.c_str());
  return restored;
}

Status sync_in_place(int file, int folder) {
  if (sys().fsync(file) != 0 || (sys().fsync(folder) != 0 && errno != EINVAL)) {  // some have no such folders
    return Errno().fail("cannot sync it");
  }
  return {};
}

}  // namespace

std::string aside_name(const std::string& name, std::uint32_t number) {
  return fmt::format(".{}.sluice-{:08x}", name.substr(0, most_of_name), number);
}

bool is_in_memory(const std::string& path) {
  struct statfs about {};
  const unsigned long kind = statfs(path.c_str(), &about) == 0 ? static_cast<unsigned long>(about.f_type) : 0;
  return kind == TMPFS_MAGIC || kind == RAMFS_MAGIC;
}

UniqueFd open_again(int fd, int flags) {
  const std::string self = fmt::format("/proc/self/fd/{}", fd);
  UniqueFd out(open(self.c_str(), flags | O_CLOEXEC));
  struct stat found {};
  if (!out && errno == EACCES && fstat(fd, &found) == 0 && found.st_uid == geteuid()) {
    const mode_t mode = found.st_mode & 07777U;
    const int refused = chmod(self.c_str(), mode | S_IRUSR | S_IWUSR);
    out = refused == 0 ? UniqueFd(open(self.c_str(), flags | O_CLOEXEC)) : UniqueFd();
    const int saved = errno;
    if (refused == 0) {
      chmod(self.c_str(), mode);
    }
    errno = saved;
  }
  return out;
}

Status copy_whole(int from, int to, const GoOn& go_on) {
  struct stat found {};
  if (fstat(from, &found) != 0) {
    return Errno().fail("cannot look at the file");
  }
  SLUICE_CHECK(copy_bytes(from, to, found, go_on));
  return copy_facts(from, to);
}

Status copy_facts(int from, int to) {
  struct stat found {};
  if (fstat(from, &found) != 0) {
    return Errno().fail("cannot look at it");
  }
  const std::array<timespec, 2> times = {found.st_atim, found.st_mtim};
  struct stat made {};
  const bool owned = fstat(to, &made) == 0 && made.st_uid == found.st_uid && made.st_gid == found.st_gid;
  if (!owned && fchown(to, found.st_uid, found.st_gid) != 0 && errno != EPERM) {
    return Errno().fail("cannot give it its owner");
  }
  copy_attributes(from, to);  // after the owner, whose change takes capabilities away
  if (fchmod(to, found.st_mode & 07777U) != 0 || futimens(to, times.data()) != 0) {
    return Errno().fail("cannot give it its mode and times");
  }
  return {};
}

void drop_inherited(int fd) {
  fremovexattr(fd, "system.posix_acl_access");
  fremovexattr(fd, "system.posix_acl_default");
}

void remove_left(const std::string& data, const std::string& link, Landing& landing) {
  if (remove_aside(find_aside(folder_of(link), landing), data, landing) != Aside::other) {
    landing.temporary = 0;
  }
}

Result<Moved> end_landing(const std::string& data, const std::string& link, Landing& landing) {
  struct stat left {};
  const bool is_left = lstat(data.c_str(), &left) == 0;
  const bool surely_not = !is_left && errno == ENOENT;
  // On one file system they changed places.
  if (is_left && S_ISLNK(left.st_mode) && link_target(data) == data) {
    return unlink(data.c_str()) == 0 ? Moved::done : Moved::kept;
  }
  if (link.empty()) {
    return Moved::kept;
  }
  struct stat found {};
  const bool in_place = landing.inode != 0 && lstat(link.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
                        found.st_dev == landing.device && found.st_ino == landing.inode;
  const std::string aside = find_aside(folder_of(link), landing);
  const Aside removed = remove_aside(aside, data, landing);
  // Somebody had put that in the link's place.
  if (removed == Aside::other && in_place && exchange(aside, link)) {
    unlink(aside.c_str());
    return Moved::kept;
  }
  landing.temporary = removed == Aside::other ? landing.temporary : 0;
  if (landing.inode == 0 || !(in_place || landing.landed != 0 || removed == Aside::link)) {
    return Moved::kept;
  }
  if (!is_left) {
    return surely_not ? Moved::done : Moved::kept;
  }
  const LeaseSignals untold;
  const UniqueFd named(open(data.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const UniqueFd from = named ? open_again(named.get(), O_RDONLY | O_NONBLOCK) : UniqueFd();
  if (!from || fstat(from.get(), &left) != 0) {
    return Moved::kept;
  }
  const Watch watch(from.get(), Lease::Against::writers);
  if (watch.busy() || watch.is_used()) {
    return Moved::busy;
  }
  if (changed_at(left) != landing.changed) {
    return Moved::kept;
  }
  const UniqueFd folder(open(folder_of(link).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || syncfs(folder.get()) != 0) {  // whatever name it has by now
    return Errno().fail("cannot sync it");
  }
  return unlink(data.c_str()) == 0 ? Moved::done : Moved::kept;
}

Result<Moved> move_home(const std::string& data, const std::string& link, bool sync, Lease::Against against,
                        Landing& landing, const Commit& commit) {
  const LeaseSignals untold;  // until the lease is given back
  const UniqueFd named(open(data.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const UniqueFd from = named ? open_again(named.get(), O_RDONLY) : UniqueFd();
  struct stat there {};
  if (!from || fstat(from.get(), &there) != 0) {
    return Errno().fail("cannot open it");
  }
  // By its descriptor: the folder may get another name meanwhile.
  const UniqueFd folder(open(folder_of(link).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name = link.substr(link.rfind('/') + 1);
  const std::string here = fmt::format("/proc/self/fd/{}/", folder.get());
  const std::string entry = here + name;
  if (!folder || link_target(entry) != data) {
    return Moved::kept;
  }
  remove_aside(find_aside(here, landing), data, landing);
  landing.temporary = 0;
  landing.landed = 0;
  // On the same file system it is the same file under its own name, unless that is mounted twice, or counted
  // for another project.
  struct stat above {};
  if (fstat(folder.get(), &above) == 0 && above.st_dev == there.st_dev) {
    note(landing, there, there);
    if (!commit.begin()) {
      return Moved::kept;
    }
    step("home: about to be renamed");
    if (replace_link(data, entry, data)) {
      return Moved::done;
    }
    if (errno == ESTALE) {
      return Moved::kept;
    }
    commit.take_back();
  }
  const Watch watch(from.get(), against);
  if (watch.busy()) {
    return Moved::busy;
  }
  SLUICE_TRY(const bool in_use, watch.used(false));
  if (in_use) {
    return Moved::busy;
  }
  const std::uint32_t number = random_number();
  const std::string temporary = here + aside_name(name, number);
  // Without a name, so that nobody finds it, and nothing is left of it where we are killed.
  UniqueFd to(open(here.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const bool nameless = static_cast<bool>(to);
  if (!nameless) {
    landing.inode = 0;
    landing.temporary = number;
    to = UniqueFd(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  const UniqueFd made_now = to ? open_again(to.get(), O_RDONLY) : UniqueFd();
  if (!made_now) {
    return Errno().fail(fmt::format("cannot write in {}", quote(folder_of(link))));
  }
  const auto unname = [&] {
    if (landing.temporary != 0) {
      unlink(temporary.c_str());
    }
    landing.temporary = 0;
  };
  drop_inherited(to.get());
  step("home: copy made");
  struct stat before = there;
  const bool safe = sync || !is_in_memory(data);
  Status copied = copy_whole(from.get(), to.get(), [&](std::uint64_t) { return watch.undisturbed(); });
  if (copied && safe && sys().fsync(to.get()) != 0) {
    copied = Errno().fail("cannot sync it");
  }
  // No lease tells of a mode, an owner or a time that was changed meanwhile.
  const auto copy_again = [&](int into) {
    const struct stat known = before;
    // Two changes may have one time; a mode and an owner are looked at for themselves.
    const bool changed = fstat(from.get(), &before) == 0 &&
                         (changed_at(before) != changed_at(known) || before.st_mode != known.st_mode ||
                          before.st_uid != known.st_uid || before.st_gid != known.st_gid);
    landing.changed = changed_at(before);
    return changed ? copy_facts(from.get(), into) : Status();
  };
  if (copied) {
    copied = copy_again(to.get());
  }
  struct stat made {};
  if (copied && (fstat(to.get(), &made) != 0 || fstat(from.get(), &there) != 0)) {
    copied = Errno().fail("cannot look at it");
  }
  note(landing, made, before);
  to = UniqueFd();  // a program that is open for writing cannot be run
  bool written = !watch.undisturbed();
  const bool ours = copied && !written && link_target(entry) == data && commit.begin();
  // Another may have been put in its place, by who knows where it is. Who reads may say something of it, or
  // lock it, by its descriptor.
  written = written || !is_file(data, there) ||
            (ours && ((against == Lease::Against::everybody && !watch.alone()) || watch.is_used()));
  if (ours) {
    copied = copy_again(made_now.get());
  }
  const Watch home(made_now.get(), Lease::Against::writers);  // who wants to write there waits
  step("home: copied");
  if (!copied || written || !ours) {
    unname();
    if (!copied && !written) {
      return std::move(copied).error();
    }
    return written ? Moved::busy : Moved::kept;
  }
  landing.temporary = number;
  const std::string self = fmt::format("/proc/self/fd/{}", made_now.get());
  if ((nameless && linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) ||
      !replace_link(temporary, entry, data)) {
    const int refused = errno;
    unname();
    if (refused == ESTALE) {
      return Moved::kept;
    }
    return fail(refused, "cannot put it in its place");
  }
  landing.landed = 1;
  landing.temporary = 0;
  step("home: in its place");
  // Whoever looked the link up before, and waits for the lease now, will write to the old file: then that is
  // the file again.
  usleep(grace);
  Status kept_safe = copy_again(made_now.get());
  if (kept_safe && safe) {
    kept_safe = sync_in_place(made_now.get(), folder.get());
  }
  if (!kept_safe || watch.is_used() || !is_file(data, there)) {
    landing.landed = 0;
    if (restore_link(data, entry, temporary, made, home)) {
      return kept_safe ? Result<Moved>(Moved::busy) : Result<Moved>(std::move(kept_safe).error());
    }
    return fail("it was opened in both places while it was moved, and has two versions");
  }
  unlink(data.c_str());
  step("home: data gone");
  return Moved::done;
}

}  // namespace sluice
