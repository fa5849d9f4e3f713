#include "move/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/files.h"
#include "base/step.h"
#include "base/text.h"
#include "move/checksum.h"

namespace sluice {
namespace {

constexpr std::size_t spare_files = 64;  // that may be open beside those with leases
constexpr std::size_t most_files = 10'000;

std::string child(const std::string& path, const std::string& name) {
  return path.empty() ? name : name.empty() ? path : path + "/" + name;
}

// A folder below another, name by name, so that no link is followed. "" = itself.
UniqueFd open_below(int folder, const std::string& path) {
  UniqueFd at(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const std::string_view part : split(path, '/')) {
    if (at && !part.empty()) {
      at = UniqueFd(
          openat(at.get(), std::string(part).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
  }
  return at;
}

Result<std::vector<std::string>> names_in(int folder) {
  return list_folder(fmt::format("/proc/self/fd/{}", folder));
}

// Bytes that are not in holes.
std::uint64_t data_in(int folder, const std::string& name, const struct stat& about) {
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (static_cast<std::uint64_t>(about.st_blocks) * 512 >= size) {
    return size;
  }
  const UniqueFd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::uint64_t out = 0;
  for (off_t at = 0; file && at < about.st_size;) {
    const off_t data = lseek(file.get(), at, SEEK_DATA);
    if (data < 0) {
      return errno == ENXIO ? out : size;
    }
    const off_t hole = lseek(file.get(), data, SEEK_HOLE);
    at = hole < 0 ? about.st_size : hole;
    out += static_cast<std::uint64_t>(at - data);
  }
  return file ? out : size;
}

class Walk {
 public:
  explicit Walk(std::string path) : path_(std::move(path)) {}

  Status add(int folder, const std::string& name, const std::string& below) {
    TreeEntry entry{.path = below, .about = {}};
    const std::string shown = child(path_, below);
    if (fstatat(folder, name.c_str(), &entry.about, AT_SYMLINK_NOFOLLOW) != 0) {
      return Errno().fail(fmt::format("cannot look at {}", quote(shown)));
    }
    const struct stat about = entry.about;
    if (!out.entries.empty() && about.st_dev != out.entries.front().about.st_dev) {
      return fail(EXDEV, fmt::format("{} is another file system", quote(shown))).advise("unmount it first");
    }
    if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode) && !S_ISLNK(about.st_mode)) {
      return fail(fmt::format("{} is a device, pipe or socket, which is not moved", quote(shown)),
                  "move it away, or place what is beside it one by one");
    }
    out.entries.push_back(std::move(entry));
    if (S_ISREG(about.st_mode)) {
      out.size += static_cast<std::uint64_t>(about.st_size);
      if (about.st_nlink < 2 || names_[identity_of(about)]++ == 0) {
        out.room += data_in(folder, name, about);
      }
    }
    if (!S_ISDIR(about.st_mode)) {
      return {};
    }
    const UniqueFd inside(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside) {
      return Errno().fail(fmt::format("cannot open folder {}", quote(shown)));
    }
    SLUICE_TRY(const auto names, names_in(inside.get()));
    for (const std::string& one : names) {
      SLUICE_CHECK(add(inside.get(), one, child(below, one)));
    }
    return {};
  }

  Status check_names() const {
    for (const TreeEntry& entry : out.entries) {
      const auto found = names_.find(identity_of(entry.about));
      if (found != names_.end() && found->second != entry.about.st_nlink) {
        return fail(fmt::format("{} has further names (hard links) elsewhere, which would keep the old data",
                                quote(child(path_, entry.path))),
                    "copy it, and use the copy");
      }
    }
    return {};
  }

  Tree out;

 private:
  std::string path_;
  std::map<Identity, nlink_t> names_;
};

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

std::size_t open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 0;
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(most_files, limit.rlim_cur > spare_files ? limit.rlim_cur - spare_files : 0);
}

// Without leaving a trace in its time of access, where that is allowed.
UniqueFd open_quietly(int folder, const std::string& name) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd out(openat(folder, name.c_str(), flags | O_NOATIME));
  return out || errno != EPERM ? std::move(out) : UniqueFd(openat(folder, name.c_str(), flags));
}

Status set_times(int fd, const struct stat& about) {
  const std::array<timespec, 2> times = {about.st_atim, about.st_mtim};
  return futimens(fd, times.data()) == 0 ? Status() : Errno().fail("cannot give it its times");
}

std::vector<std::string> attributes_of(int fd) {
  std::string names(65536, '\0');  // the kernel's limit for a list
  const ssize_t size = flistxattr(fd, names.data(), names.size());
  std::vector<std::string> out;
  for (const std::string_view name :
       split(std::string_view(names).substr(0, size > 0 ? static_cast<std::size_t>(size) : 0), '\0')) {
    // Labels are the system's to give.
    if (name.starts_with("user.") || name.starts_with("system.posix_acl") || name == "security.capability") {
      out.emplace_back(name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// What copy_facts() leaves out without a word would be lost when the source goes.
Status check_facts(int from, int to, const std::string& path) {
  struct stat source {};
  struct stat copy {};
  if (fstat(from, &source) != 0 || fstat(to, &copy) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(path)));
  }
  if (source.st_uid != copy.st_uid || source.st_gid != copy.st_gid) {
    return fail(EPERM, fmt::format("cannot give the copy of {} its owner, {}:{}", quote(path), source.st_uid,
                                   source.st_gid))
        .advise("nothing was moved; its owner can");
  }
  const std::vector<std::string> have = attributes_of(to);
  for (const std::string& name : attributes_of(from)) {
    if (!std::binary_search(have.begin(), have.end(), name)) {
      return fail(EOPNOTSUPP,
                  fmt::format("cannot give the copy of {} its attribute {}", quote(path), quote(name)))
          .advise("nothing was moved; remove the attribute, or use a place that has such");
    }
  }
  return {};
}

Status copy_link(const TreeEntry& entry, int from, const std::string& from_name, int to,
                 const std::string& to_name) {
  std::string text(static_cast<std::size_t>(entry.about.st_size) + 1, '\0');
  const ssize_t length = readlinkat(from, from_name.c_str(), text.data(), text.size());
  if (length < 0) {
    return Errno().fail(fmt::format("cannot read link {}", quote(entry.path)));
  }
  text.resize(static_cast<std::size_t>(length));
  const std::array<timespec, 2> times = {entry.about.st_atim, entry.about.st_mtim};
  if (symlinkat(text.c_str(), to, to_name.c_str()) != 0 ||
      (fchownat(to, to_name.c_str(), entry.about.st_uid, entry.about.st_gid, AT_SYMLINK_NOFOLLOW) != 0 &&
       errno != EPERM) ||
      utimensat(to, to_name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
    return Errno().fail(fmt::format("cannot copy link {}", quote(entry.path)));
  }
  return {};
}

Error in_use(const std::string& path, const std::vector<std::string>& users) {
  return fail(EBUSY,
              fmt::format(
                  "{} is in use by {}", quote(path),
                  users.empty()
                      ? "a process that this user cannot see, or by one of this command's own descriptors"
                      : join(users, ", ")))
      .advise("try again when it has ended");
}

}  // namespace

Result<Tree> look_at_tree(int folder, const std::string& name, const std::string& path, bool whole) {
  Walk walk(path);
  SLUICE_CHECK(walk.add(folder, name, ""));
  if (whole) {
    SLUICE_CHECK(walk.check_names());
  }
  return std::move(walk.out);
}

bool is_unchanged(const Tree& before, const Tree& now) {
  const auto same = [&](const TreeEntry& a, const TreeEntry& b) {
    return a.path == b.path && identity_of(a.about) == identity_of(b.about) &&
           a.about.st_size == b.about.st_size && a.about.st_mode == b.about.st_mode &&
           same_time(a.about.st_mtim, b.about.st_mtim) &&
           (a.path.empty() || same_time(a.about.st_ctim, b.about.st_ctim));
  };
  return std::equal(before.entries.begin(), before.entries.end(), now.entries.begin(), now.entries.end(),
                    same);
}

Status remove_tree(int folder, const std::string& name) {
  if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) {
    step("remove: a name is gone");
    return {};
  }
  UniqueFd inside(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside && errno == EACCES) {
    const UniqueFd closed(openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    chmod(fmt::format("/proc/self/fd/{}", closed.get()).c_str(), 0700);
    inside = UniqueFd(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!inside) {
    return Errno().fail(fmt::format("cannot remove {}", quote(name)));
  }
  struct stat about {};
  if (fstat(inside.get(), &about) == 0 && (about.st_mode & S_IRWXU) != S_IRWXU) {
    fchmod(inside.get(), 0700);
  }
  SLUICE_TRY(const auto names, names_in(inside.get()));
  for (const std::string& one : names) {
    SLUICE_CHECK(remove_tree(inside.get(), one));
  }
  if (unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot remove folder {}", quote(name)));
  }
  step("remove: a folder is gone");
  return {};
}

bool TreeCopy::undisturbed() const {
  return std::all_of(held_.begin(), held_.end(), [](const Held& one) { return one.lease.undisturbed(); });
}

Status TreeCopy::copy_file(const TreeEntry& entry, int from, int to, const std::string& from_name,
                           const std::string& to_name) {
  UniqueFd source = open_quietly(from, from_name);
  if (!source) {
    return Errno().fail(fmt::format("cannot open {}", quote(child(root_from_, entry.path))));
  }
  struct stat found {};
  if (fstat(source.get(), &found) != 0 || identity_of(found) != identity_of(entry.about)) {
    return fail(ECANCELED, "another file has come in its place");
  }
  const Lease lease(source.get(), Lease::Against::everybody);
  Held held{.file = std::move(source), .lease = lease};
  const auto users = lease.held() ? std::vector<std::string>() : users_of({identity_of(found)});
  if (lease.busy() || !users.empty()) {
    return in_use(child(root_from_, entry.path), users);
  }
  const auto go_on = [&](std::uint64_t bytes) { return go_on_(bytes) && held.lease.undisturbed(); };
  const UniqueFd copy(openat(to, to_name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!copy) {
    return Errno().fail(fmt::format("cannot make {}", quote(child(root_to_, entry.path))));
  }
  step("copy: file made");
  SLUICE_CHECK(copy_whole(held.file.get(), copy.get(), go_on));
  SLUICE_CHECK(check_facts(held.file.get(), copy.get(), child(root_from_, entry.path)));
  if (fsync(copy.get()) != 0) {
    return Errno().fail(fmt::format("cannot sync {}", quote(child(root_to_, entry.path))));
  }
  step("copy: file synced");
  // From the device and not from memory, where that can be had.
  posix_fadvise(copy.get(), 0, 0, POSIX_FADV_DONTNEED);
  const auto watch = [&](std::uint64_t) { return go_on_(0) && held.lease.undisturbed(); };
  SLUICE_TRY(const std::string before, checksum_of(held.file.get(), watch));
  SLUICE_TRY(const std::string after, checksum_of(copy.get(), watch));
  if (!held.lease.undisturbed()) {
    return fail(ECANCELED, "somebody came to write");
  }
  if (before != after) {
    return fail(EIO, fmt::format("{} reads back as {} instead of {}", quote(child(root_to_, entry.path)),
                                 after, before))
        .advise("the data was left where it was; look at the kernel's log for errors of the device");
  }
  checksum_ = before;
  SLUICE_CHECK(set_times(copy.get(), found));  // reading may have changed one
  static const std::size_t limit = open_file_limit();
  if (held_.size() < limit) {
    held_.push_back(std::move(held));
  }
  return {};
}

Status TreeCopy::run(const Tree& tree, int from, const std::string& from_name, int to,
                     const std::string& to_name) {
  root_from_ = from_name;
  root_to_ = to_name;
  held_.clear();
  names_.clear();
  const bool folder = S_ISDIR(tree.entries.front().about.st_mode);
  if (folder) {
    std::vector<Identity> all;
    for (const TreeEntry& entry : tree.entries) {
      all.push_back(identity_of(entry.about));
    }
    std::sort(all.begin(), all.end());
    if (const auto users = users_of(all); !users.empty()) {
      return in_use(from_name, users);
    }
  }
  const auto place = [&](int root, const std::string& root_name, const std::string& path) {
    // The folder that has the entry, and its name there.
    if (path.empty()) {
      return std::pair(open_below(root, ""), root_name);
    }
    const std::size_t slash = path.rfind('/');
    const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
    return std::pair(open_below(root, child(root_name, above)), path.substr(slash + 1));
  };
  for (const TreeEntry& entry : tree.entries) {
    if (!go_on_(0) || !undisturbed()) {
      return fail(ECANCELED, "somebody came to write");
    }
    const auto [source, source_name] = place(from, from_name, entry.path);
    const auto [copy, copy_name] = place(to, to_name, entry.path);
    if (!source || !copy) {
      return Errno().fail(fmt::format("cannot open the folder of {}", quote(child(from_name, entry.path))));
    }
    if (S_ISDIR(entry.about.st_mode)) {
      if (mkdirat(copy.get(), copy_name.c_str(), 0700) != 0) {
        return Errno().fail(fmt::format("cannot make folder {}", quote(child(to_name, entry.path))));
      }
      step("copy: folder made");
    } else if (S_ISLNK(entry.about.st_mode)) {
      SLUICE_CHECK(copy_link(entry, source.get(), source_name, copy.get(), copy_name));
    } else if (const auto known = names_.find(identity_of(entry.about)); known != names_.end()) {
      const auto [first, first_name] = place(to, to_name, known->second);
      if (linkat(first.get(), first_name.c_str(), copy.get(), copy_name.c_str(), 0) != 0) {
        return Errno().fail(fmt::format("cannot link {}", quote(child(to_name, entry.path))));
      }
    } else {
      SLUICE_CHECK(copy_file(entry, source.get(), copy.get(), source_name, copy_name));
      if (entry.about.st_nlink > 1) {
        names_.emplace(identity_of(entry.about), entry.path);
      }
    }
  }
  // Folders last, from the innermost: what is made in them changes their times, and they may be read-only.
  for (auto entry = tree.entries.rbegin(); entry != tree.entries.rend(); ++entry) {
    if (!S_ISDIR(entry->about.st_mode)) {
      continue;
    }
    const UniqueFd source = open_below(from, child(from_name, entry->path));
    const UniqueFd copy = open_below(to, child(to_name, entry->path));
    if (!source || !copy) {
      return Errno().fail(fmt::format("cannot open folder {}", quote(child(from_name, entry->path))));
    }
    SLUICE_CHECK(copy_facts(source.get(), copy.get()));
    SLUICE_CHECK(check_facts(source.get(), copy.get(), child(from_name, entry->path)));
    SLUICE_CHECK(set_times(copy.get(), entry->about));
    if (fsync(copy.get()) != 0) {
      return Errno().fail(fmt::format("cannot sync folder {}", quote(child(to_name, entry->path))));
    }
  }
  if (fsync(to) != 0) {
    return Errno().fail("cannot sync the folder of the copy");
  }
  step("copy: all synced");
  if (folder) {
    checksum_.clear();
  }
  return undisturbed() ? Status() : fail(ECANCELED, "somebody came to write");
}

}  // namespace sluice
