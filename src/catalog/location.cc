#include "catalog/location.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/trust.h"

namespace sluice {
namespace {

constexpr std::string_view kElsewhere = "give a path that this user can write in SLUICE_CATALOG";

// SQLite's unix VFS takes no longer paths, and "-journal" is added to ours.
constexpr std::size_t kLongestPath = 500;

constexpr auto kNetworkFileSystems = std::to_array<std::uint32_t>({
    0x00006969,  // NFS
    0x0000517B,  // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x0BD00BD0,  // Lustre
    0x00C36400,  // Ceph
    0x65735546,  // FUSE: GlusterFS, sshfs, CVMFS, virtiofs, ...
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x5346414F,  // AFS
    0x6B414653,  // kernel AFS
    0x73757245,  // Coda
    0x01021997,  // 9p
    0x20030528,  // OrangeFS
    0x01161970,  // GFS2
    0x7461636F,  // OCFS2
    0xAAD7AAEA,  // PanFS
    0xBEEFDEAD,  // StorNext
    0x61636673,  // ACFS
    0x786F4256,  // VirtualBox shared folder
    0xBACBACBC,  // VMware shared folder
});

Result<bool> on_network(const std::string& folder) {
  struct statfs about = {};
  if (statfs(folder.c_str(), &about) != 0) {
    return Errno().fail(fmt::format("cannot look at folder {} of the catalog", quote(folder)));
  }
  return is_network_file_system(static_cast<std::uint32_t>(about.f_type));
}

Result<std::string> host_name() {
  std::array<char, HOST_NAME_MAX + 1> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return fail(
        "cannot name the catalog: it is on a network file system, where each host has its own, and this host "
        "has no name",
        "set the host's name, or give a path on a local file system in SLUICE_CATALOG");
  }
  std::string out(name.data());
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

bool exists(const std::string& path) {
  struct stat about = {};
  return sys().stat(path.c_str(), &about) == 0;
}

// What a catalog says is done: files are moved, replaced and removed. Its -wal and -journal lie beside it, so
// that nobody else may write to the folder, with the sticky bit or without.
Status check_ours(const std::string& path) {
  auto trusted = check_trusted(path);
  Status out = trusted ? Status() : Status(std::move(trusted).error());
  const std::string folder = folder_of(path);
  struct stat about = {};
  if (out && sys().stat(folder.c_str(), &about) == 0 && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    out = fail(EPERM, fmt::format("others can write to {}", quote(folder)));
  }
  if (out) {
    return out;
  }
  return std::move(out)
      .error()
      .within(fmt::format("will not use catalog {}", quote(path)))
      .advise("give a path that only this user can write in SLUICE_CATALOG");
}

}  // namespace

bool is_network_file_system(std::uint32_t f_type) {
  return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), f_type) !=
         kNetworkFileSystems.end();
}

std::string per_host_path(std::string_view path, std::string_view host) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  const bool has_stem = dot != std::string_view::npos && dot > name;
  return fmt::format("{}-{}.db", has_stem ? path.substr(0, dot) : path, host);
}

Result<std::string> resolve_links(const std::string& path) {
  auto found = follow_links(path);
  if (found) {
    return found;
  }
  return std::move(found).error().within(fmt::format("catalog {}", quote(path))).advise(kElsewhere);
}

Result<std::optional<CatalogFile>> locate_catalog(const std::string& location, Catalog::Mode mode) {
  if (location.find('\0') != std::string::npos) {
    return bad_input(fmt::format("catalog path {} holds a NUL byte", quote(location)),
                     "give a path without it");
  }
  // Not normalized as text: "link/.." is not where the link is.
  const bool whole = location.starts_with('/');
  const std::string typed = whole ? location : current_folder() + "/" + location;
  SLUICE_TRY(std::string path, resolve_links(typed));
  SLUICE_CHECK(check_ours(typed));
  const std::string folder = folder_of(path);
  if (!exists(folder)) {
    if (mode == Catalog::Mode::read && errno == ENOENT) {
      return std::optional<CatalogFile>();
    }
    if (Status made = make_folders(folder); !made) {
      return std::move(made)
          .error()
          .within(fmt::format("cannot create catalog {}", quote(path)))
          .advise(kElsewhere);
    }
  }
  SLUICE_TRY(const bool network, on_network(folder));
  if (network) {
    SLUICE_TRY(const std::string host, host_name());
    SLUICE_TRY(path, resolve_links(per_host_path(path, host)));
  }
  SLUICE_CHECK(check_ours(path));
  if (path.size() > kLongestPath) {
    return fail(ENAMETOOLONG, fmt::format("cannot open catalog {}, its path is longer than {} bytes",
                                          quote(path), kLongestPath))
        .advise("give a shorter path in SLUICE_CATALOG");
  }
  return std::optional<CatalogFile>(CatalogFile{.path = std::move(path), .network = network});
}

Status create_file(const std::string& path) {
  const UniqueFd fd(sys().open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd && errno != EEXIST) {
    return Errno().fail(fmt::format("cannot create catalog {}", quote(path))).advise(kElsewhere);
  }
  return {};
}

Status sync_folders_of(const std::string& path) {
  std::string folder = path;
  do {
    folder = folder_of(folder);
    const UniqueFd fd(sys().open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
    if (!fd && (errno == EACCES || errno == EPERM)) {
      continue;  // a folder that may be passed but not read was not made by us
    }
    // Some file systems cannot sync a folder, and say so with one of these.
    if (!fd || (sys().fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)) {
      return Errno().fail(fmt::format("cannot sync folder {} of the catalog", quote(folder)));
    }
  } while (folder != "/");
  return {};
}

Result<std::string> default_catalog_path() {
  const std::string state = environment("XDG_STATE_HOME");
  if (state.starts_with('/')) {
    return state + "/sluice/catalog.db";
  }
  const std::string home = environment("HOME");
  if (home.starts_with('/')) {
    return home + "/.local/state/sluice/catalog.db";
  }
  return fail("cannot tell where the catalog is: neither XDG_STATE_HOME nor HOME is an absolute path",
              "set HOME, or give a path in SLUICE_CATALOG");
}

}  // namespace sluice
