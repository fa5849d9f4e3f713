#include "placing/sides.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/files.h"
#include "base/log.h"
#include "base/step.h"
#include "base/text.h"
#include "move/checksum.h"
#include "move/lease.h"
#include "move/tree.h"
#include "placing/transfer.h"

namespace sluice {
namespace {

constexpr int most_kept = 100;

std::string beside(const Spot& spot, const std::string& name) {
  return fmt::format("{}/{}", folder_of(spot.path), name);
}

Error in_use(const std::string& path, const std::vector<std::string>& users) {
  return fail(EBUSY, fmt::format("{} is in use{}{}", quote(path), users.empty() ? "" : " by process ",
                                 join(users, ", ")))
      .advise("nothing was removed; try again when it is closed");
}

enum class Side { unchanged, newer, other };

Result<Side> look_at_file(const PlacementRow& row, const Spot& spot, const std::string& name) {
  const LeaseSignals untold;
  const UniqueFd file(
      openat(spot.folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0) {
    return Errno().fail(fmt::format("cannot open {}", quote(beside(spot, name))));
  }
  if (const Lease lease(file.get(), Lease::Against::everybody); lease.busy()) {
    return in_use(beside(spot, name), users_of({identity_of(about)}, true));
  }
  const int time = compare_time(row, about);
  if (time != 0 || static_cast<std::uint64_t>(about.st_size) != row.size) {
    return time > 0 ? Side::newer : Side::other;
  }
  SLUICE_TRY(const std::string checksum, checksum_of(file.get(), [](std::uint64_t) { return true; }));
  return checksum == row.checksum ? Side::unchanged : Side::other;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Whether it is in the copy as it is. Of a folder what is in it counts: we may have begun to remove that.
bool is_in(const std::map<std::string, struct stat>& copy, const TreeEntry& entry) {
  const auto found = copy.find(entry.path);
  if (found == copy.end()) {
    return false;
  }
  const struct stat& a = entry.about;
  const struct stat& b = found->second;
  return S_ISDIR(a.st_mode) ? S_ISDIR(b.st_mode)
                            : a.st_mode == b.st_mode && a.st_uid == b.st_uid && a.st_gid == b.st_gid &&
                                  a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim);
}

}  // namespace

Result<OldFate> fate_of_old(const PlacementRow& row, const Spot& old, const std::string& old_name,
                            const Spot& copy, const std::string& copy_name) {
  SLUICE_TRY(const Tree was, look_at_tree(old.folder.get(), old_name, beside(old, old_name), false));
  std::vector<Identity> all;
  for (const TreeEntry& entry : was.entries) {
    all.push_back(identity_of(entry.about));
  }
  std::sort(all.begin(), all.end());
  if (const auto users = users_of(all, true); !users.empty()) {
    return in_use(beside(old, old_name), users);
  }
  SLUICE_TRY(const auto other, copy.look(copy_name));
  if (S_ISREG(was.entries.front().about.st_mode)) {
    SLUICE_TRY(const Side side, look_at_file(row, old, old_name));
    if (side == Side::unchanged) {
      return OldFate::remove;
    }
    if (side == Side::other || !other || !S_ISREG(other->st_mode)) {
      return OldFate::keep;
    }
    SLUICE_TRY(const Side copied, look_at_file(row, copy, copy_name));
    return copied == Side::unchanged ? OldFate::take : OldFate::keep;
  }
  if (!other) {
    return OldFate::keep;
  }
  SLUICE_TRY(const Tree is, look_at_tree(copy.folder.get(), copy_name, beside(copy, copy_name), false));
  std::map<std::string, struct stat> copied;
  for (const TreeEntry& entry : is.entries) {
    copied.emplace(entry.path, entry.about);
  }
  return std::all_of(was.entries.begin(), was.entries.end(),
                     [&](const TreeEntry& entry) { return is_in(copied, entry); })
             ? OldFate::remove
             : OldFate::keep;
}

Status keep_old(const PlacementRow& row, const Spot& old, const std::string& old_name,
                const std::string& name) {
  // Room for what comes behind it.
  const std::string first = name.substr(0, 230) + std::string(kept_end);
  for (int i = 1; i <= most_kept; ++i) {
    const std::string kept = i == 1 ? first : fmt::format("{}-{}", first, i);
    if (renameat2(old.folder.get(), old_name.c_str(), old.folder.get(), kept.c_str(), RENAME_NOREPLACE) ==
        0) {
      step("mend: kept");
      log::warn("{} was changed while it was moved, and that is not in the copy: it is kept as {}",
                quote(row.path), quote(beside(old, kept)));
      return old.sync_folder();
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return Errno().fail(fmt::format("cannot keep {}", quote(beside(old, old_name))));
}

}  // namespace sluice
