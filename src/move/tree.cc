#include "move/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <iterator>

#include "base/files.h"
#include "base/step.h"
#include "base/text.h"
#include "move/below.h"
#include "move/checksum.h"

namespace sluice {
namespace {

constexpr std::size_t most_leases = 10'000;
constexpr std::uint64_t slice = 65536;  // of a copy that has a limit: whoever waits for us waits no longer

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

// By its mark (chattr +i, +a), where the file system tells.
bool is_fixed(int folder, const std::string& name) {
  struct statx about {};
  return statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE, &about) == 0 &&
         (about.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
}

class Walk {
 public:
  Walk(int folder, const std::string& name, std::string path)
      : below_(folder, name), path_(std::move(path)) {}

  Status run() {
    todo_.emplace_back();
    while (!todo_.empty()) {
      const std::string path = std::move(todo_.back());
      todo_.pop_back();
      SLUICE_CHECK(add(path));
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
  Status add(const std::string& below) {
    const auto [folder, name] = below_.at(below);
    TreeEntry entry{.path = below, .about = {}, .fixed = is_fixed(folder, name)};
    const std::string shown = child(path_, below);
    if (folder < 0 || fstatat(folder, name.c_str(), &entry.about, AT_SYMLINK_NOFOLLOW) != 0) {
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
    const UniqueFd inside = below_.open(below);
    if (!inside) {
      return Errno().fail(fmt::format("cannot open folder {}", quote(shown)));
    }
    SLUICE_TRY(const auto names, names_in(inside.get()));
    std::transform(names.rbegin(), names.rend(), std::back_inserter(todo_),
                   [&](const std::string& one) { return child(below, one); });
    return {};
  }

  Below below_;
  std::vector<std::string> todo_;  // the next one last
  std::string path_;
  std::map<Identity, nlink_t> names_;
};

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Files that all copies of this process may keep open for their leases: half of what it may open, since it
// has others.
std::size_t lease_limit() {
  static const std::size_t out = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return std::size_t{0};
    }
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return std::min<std::size_t>(most_leases, limit.rlim_cur / 2);
  }();
  return out;
}

std::atomic<std::size_t> leases = 0;  // of all copies

bool take_lease() {
  if (++leases <= lease_limit()) {
    return true;
  }
  --leases;
  return false;
}

// Without leaving a trace in its time of access, where that is allowed.
UniqueFd open_quietly(int folder, const std::string& name) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd out(openat(folder, name.c_str(), flags | O_NOATIME));
  out = out || errno != EPERM ? std::move(out) : UniqueFd(openat(folder, name.c_str(), flags));
  if (!out && errno == EACCES) {
    const UniqueFd named(openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    out = named ? open_again(named.get(), O_RDONLY | O_NONBLOCK) : UniqueFd();
  }
  return out;
}

Status set_times(int fd, const struct stat& about) {
  const std::array<timespec, 2> times = {about.st_atim, about.st_mtim};
  return futimens(fd, times.data()) == 0 ? Status() : Errno().fail("cannot give it its times");
}

// Of a descriptor of any kind.
Attributes attributes_of(int fd) {
  const std::string self = fmt::format("/proc/self/fd/{}", fd);
  std::string names(65536, '\0');  // the kernel's limit, for a value as well
  std::string value(65536, '\0');
  const ssize_t size = listxattr(self.c_str(), names.data(), names.size());
  Attributes out;
  for (const std::string_view one :
       split(std::string_view(names).substr(0, size > 0 ? static_cast<std::size_t>(size) : 0), '\0')) {
    // Labels are the system's to give.
    if (one.starts_with("user.") || one.starts_with("system.posix_acl") || one == "security.capability") {
      const std::string name(one);
      const ssize_t length = getxattr(self.c_str(), name.c_str(), value.data(), value.size());
      out.emplace_back(name, value.substr(0, length > 0 ? static_cast<std::size_t>(length) : 0));
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
  const Attributes wanted = attributes_of(from);
  const Attributes have = attributes_of(to);
  Attributes differ;
  std::set_symmetric_difference(wanted.begin(), wanted.end(), have.begin(), have.end(),
                                std::back_inserter(differ));
  if (!differ.empty()) {
    return fail(EOPNOTSUPP, fmt::format("cannot give the copy of {} its attribute {}", quote(path),
                                        quote(differ.front().first)))
        .advise("nothing was moved; remove the attribute, or use a place that has such");
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

std::vector<std::string> users_of_entries(const Tree& tree,
                                          const std::function<bool(const TreeEntry&)>& which) {
  std::vector<Identity> all;
  for (const TreeEntry& entry : tree.entries) {
    if (which(entry)) {
      all.push_back(identity_of(entry.about));
    }
  }
  std::sort(all.begin(), all.end());
  return all.empty() ? std::vector<std::string>() : users_of(all);
}

bool is_same(const TreeEntry& entry, const struct stat& now) {
  const struct stat& then = entry.about;
  return identity_of(then) == identity_of(now) && then.st_size == now.st_size &&
         then.st_mode == now.st_mode && then.st_uid == now.st_uid && then.st_gid == now.st_gid &&
         same_time(then.st_mtim, now.st_mtim);
}

// A folder that may not be written is made writable first.
UniqueFd open_to_empty(Below& below, const std::string& path) {
  UniqueFd out = below.open(path);
  if (!out && errno == EACCES) {
    const auto [above, name] = below.at(path);
    const UniqueFd closed(openat(above, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    chmod(fmt::format("/proc/self/fd/{}", closed.get()).c_str(), 0700);
    out = below.open(path);
  }
  struct stat about {};
  if (out && fstat(out.get(), &about) == 0 && (about.st_mode & S_IRWXU) != S_IRWXU) {
    fchmod(out.get(), 0700);
  }
  return out;
}

// True where it is gone, false where it is a folder.
Result<bool> remove_name(int folder, const std::string& name) {
  if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) {
    step("remove: a name is gone");
    return true;
  }
  const Errno why;
  struct stat about {};
  if (fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
    return true;  // a file system that cannot be written says so first
  }
  return S_ISDIR(about.st_mode) ? Result<bool>(false)
                                : Result<bool>(why.fail(fmt::format("cannot remove {}", quote(name))));
}

}  // namespace

Result<Tree> look_at_tree(int folder, const std::string& name, const std::string& path, bool whole) {
  Walk walk(folder, name, path);
  SLUICE_CHECK(walk.run());
  if (whole) {
    SLUICE_CHECK(walk.check_names());
  }
  const UniqueFd top(openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  walk.out.attributes = attributes_of(top.get());
  walk.out.path = path;
  return std::move(walk.out);
}

bool is_unchanged(const Tree& before, const Tree& now) {
  const auto same = [](const TreeEntry& a, const TreeEntry& b) {
    return a.path == b.path && is_same(a, b.about) && a.about.st_nlink == b.about.st_nlink &&
           (a.path.empty() || same_time(a.about.st_ctim, b.about.st_ctim));
  };
  return before.attributes == now.attributes && std::equal(before.entries.begin(), before.entries.end(),
                                                           now.entries.begin(), now.entries.end(), same);
}

bool is_left_alone(const Tree& before, int folder, const std::string& name) {
  const auto now = look_at_tree(folder, name, name, false);
  return now && is_unchanged(before, *now) &&
         users_of_entries(before, [](const TreeEntry&) { return true; }).empty();
}

Status remove_tree(int folder, const std::string& name) {
  SLUICE_TRY(const bool gone, remove_name(folder, name));
  if (gone) {
    return {};
  }
  Below below(folder, name);
  std::vector<std::pair<std::string, bool>> todo = {
      {"", false}};  // folders, and whether they are empty by now
  while (!todo.empty()) {
    const auto [path, empty] = todo.back();
    if (empty) {
      const auto [above, last] = below.at(path);
      if (unlinkat(above, last.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return Errno().fail(fmt::format("cannot remove folder {}", quote(child(name, path))));
      }
      step("remove: a folder is gone");
      todo.pop_back();
      continue;
    }
    todo.back().second = true;
    const UniqueFd inside = open_to_empty(below, path);
    if (!inside) {
      return Errno().fail(fmt::format("cannot open folder {}", quote(child(name, path))));
    }
    SLUICE_TRY(const auto names, names_in(inside.get()));
    for (const std::string& one : names) {
      SLUICE_TRY(const bool is_gone, remove_name(inside.get(), one));
      if (!is_gone) {
        todo.emplace_back(child(path, one), false);
      }
    }
  }
  return {};
}

void TreeCopy::let_go() {
  leases -= held_.size();
  held_.clear();
}

bool TreeCopy::undisturbed() const {
  return std::all_of(held_.begin(), held_.end(),
                     [](const auto& one) { return one.second.lease.undisturbed(); });
}

bool TreeCopy::is_left(const Tree& tree, int folder, const std::string& name) const {
  if (!undisturbed()) {
    return false;  // at once: he waits, and meanwhile others come to the copy
  }
  const auto now = look_at_tree(folder, name, name, false);
  const auto is_watched = [&](const TreeEntry& entry) { return held_.count(identity_of(entry.about)) != 0; };
  return now && is_unchanged(tree, *now) &&
         users_of_entries(tree, [&](const TreeEntry& entry) { return !is_watched(entry); }).empty() &&
         undisturbed();
}

Result<bool> TreeCopy::remove_source(const Tree& tree, int folder, const std::string& name) {
  Below below(folder, name);
  bool all = true;
  for (auto entry = tree.entries.rbegin(); entry != tree.entries.rend(); ++entry) {
    const auto [above, last] = below.at(entry->path);
    struct stat now {};
    if (above < 0 || fstatat(above, last.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) {
        continue;
      }
      return Errno().fail(fmt::format("cannot look at {}", quote(child(name, entry->path))));
    }
    const bool is_folder = S_ISDIR(entry->about.st_mode);
    const auto held = held_.find(identity_of(entry->about));
    const bool had_its_name = !entry->path.empty() && entry->about.st_nlink == 1;
    if (is_folder
            ? identity_of(now) != identity_of(entry->about)
            : !is_same(*entry, now) || (had_its_name && !same_time(entry->about.st_ctim, now.st_ctim)) ||
                  (held != held_.end() && !held->second.lease.undisturbed())) {
      all = false;
      continue;
    }
    // Network file systems give what is open another name instead, and then its folder is not empty.
    leases -= held_.erase(identity_of(entry->about));
    const int flags = is_folder ? AT_REMOVEDIR : 0;
    int gone = unlinkat(above, last.c_str(), flags);
    if (gone != 0 && errno == EACCES && !entry->path.empty() && fchmod(above, 0700) == 0) {
      gone = unlinkat(above, last.c_str(), flags);
    }
    const bool filled = gone != 0 && is_folder && (errno == ENOTEMPTY || errno == EEXIST);
    if (gone != 0 && !filled && errno != ENOENT) {
      return Errno().fail(fmt::format("cannot remove {}", quote(child(name, entry->path))));
    }
    all = all && !filled;
    step(is_folder ? "remove: a folder is gone" : "remove: a name is gone");
  }
  return all;
}

Status TreeCopy::copy_file(TreeEntry& entry, int from, int to, const std::string& from_name,
                           const std::string& to_name) {
  UniqueFd source = open_quietly(from, from_name);
  if (!source) {
    return Errno().fail(fmt::format("cannot open {}", quote(child(root_from_, entry.path))));
  }
  struct stat found {};
  if (fstat(source.get(), &found) != 0 || identity_of(found) != identity_of(entry.about)) {
    return fail(ECANCELED, "another file has come in its place");
  }
  entry.about = found;  // to open it may have taken a change of its mode, to and fro
  const Lease lease(source.get(), Lease::Against::everybody);
  Held held{.file = std::move(source), .lease = lease};
  const auto users = lease.held() ? std::vector<std::string>() : users_of({identity_of(found)}, true);
  if (lease.busy() || !users.empty()) {
    return in_use(child(root_from_, entry.path), users);
  }
  const auto go_on = [&](std::uint64_t bytes) {
    bool good = true;
    for (; good && bytes > 0; bytes -= std::min(bytes, slice)) {
      good = go_on_(std::min(bytes, slice)) && held.lease.undisturbed();
    }
    return good;
  };
  const UniqueFd copy(openat(to, to_name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!copy) {
    return Errno().fail(fmt::format("cannot make {}", quote(child(root_to_, entry.path))));
  }
  drop_inherited(copy.get());
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
  if (lease.held() && take_lease()) {
    held_.emplace(identity_of(found), std::move(held));
  }
  return {};
}

Status TreeCopy::run(Tree& tree, int from, const std::string& from_name, int to, const std::string& to_name) {
  root_from_ = tree.path;
  root_to_ = to_name;
  let_go();
  for (const TreeEntry& entry : tree.entries) {
    if (entry.fixed) {
      return fail(EPERM, fmt::format("{} is marked as immutable or append-only",
                                     quote(child(root_from_, entry.path))))
          .advise("nothing was moved; `chattr -i -a` takes the mark away");
    }
  }
  const bool folder = S_ISDIR(tree.entries.front().about.st_mode);
  if (folder) {
    if (const auto users = users_of_entries(tree, [](const TreeEntry&) { return true; }); !users.empty()) {
      return in_use(root_from_, users);
    }
  }
  Below sources(from, from_name);
  Below copies(to, to_name);
  Below firsts(to, to_name);
  std::map<Identity, const TreeEntry*> names;  // of files that have several: the first
  for (TreeEntry& entry : tree.entries) {
    if (!go_on_(0) || (LeaseSignals::told() && !undisturbed())) {
      return fail(ECANCELED, "somebody came to write");
    }
    const auto [source, source_name] = sources.at(entry.path);
    const auto [copy, copy_name] = copies.at(entry.path);
    if (source < 0 || copy < 0) {
      return Errno().fail(fmt::format("cannot open the folder of {}", quote(child(root_from_, entry.path))));
    }
    if (S_ISDIR(entry.about.st_mode)) {
      if (mkdirat(copy, copy_name.c_str(), 0700) != 0) {
        return Errno().fail(fmt::format("cannot make folder {}", quote(child(to_name, entry.path))));
      }
      drop_inherited(copies.open(entry.path).get());
      step("copy: folder made");
    } else if (S_ISLNK(entry.about.st_mode)) {
      SLUICE_CHECK(copy_link(entry, source, source_name, copy, copy_name));
    } else if (const auto known = names.find(identity_of(entry.about)); known != names.end()) {
      entry.about = known->second->about;
      const auto [first, first_name] = firsts.at(known->second->path);
      if (linkat(first, first_name.c_str(), copy, copy_name.c_str(), 0) != 0) {
        return Errno().fail(fmt::format("cannot link {}", quote(child(to_name, entry.path))));
      }
    } else {
      SLUICE_CHECK(copy_file(entry, source, copy, source_name, copy_name));
      if (entry.about.st_nlink > 1) {
        names.emplace(identity_of(entry.about), &entry);
      }
    }
  }
  // Folders last, from the innermost: what is made in them changes their times, and they may be read-only.
  for (auto entry = tree.entries.rbegin(); entry != tree.entries.rend(); ++entry) {
    if (!S_ISDIR(entry->about.st_mode)) {
      continue;
    }
    const UniqueFd source = sources.open(entry->path);
    const UniqueFd copy = copies.open(entry->path);
    if (!source || !copy) {
      return Errno().fail(fmt::format("cannot open folder {}", quote(child(root_from_, entry->path))));
    }
    SLUICE_CHECK(copy_facts(source.get(), copy.get()));
    SLUICE_CHECK(check_facts(source.get(), copy.get(), child(root_from_, entry->path)));
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
