#include "run/beside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/sys.h"
#include "pipeline/pending.h"

namespace sluice {
namespace {

std::string join(const std::string& folder, const std::string& name) {
  return folder + (folder.ends_with('/') ? "" : "/") + name;
}

Status fill_new(int fd, std::uint64_t device, const std::function<Status(int)>& fill) {
  struct stat found {};
  if (fstat(fd, &found) != 0 || (device != 0 && found.st_dev != device)) {
    return fail("its file system is not there", "mount it");
  }
  SLUICE_CHECK(fill(fd));
  return fsync(fd) == 0 ? Status() : Errno().fail("cannot sync it");
}

}  // namespace

std::string name_of(int fd, const std::string& before) {
  std::error_code failed;
  const auto now = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), failed);
  return failed || now.native().ends_with(" (deleted)") ? before : now.native();
}

std::string nearest_folder(const std::string& path) {
  std::string out = folder_of(path);
  struct stat found {};
  while (out.size() > 1 && stat(out.c_str(), &found) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    out = folder_of(out);
  }
  return out;
}

Result<std::string> find_in(const std::string& folder, const std::function<bool(const std::string&)>& is) {
  SLUICE_TRY(const auto names, list_folder(folder));
  for (const std::string& name : names) {
    std::string path = join(folder, name);
    if (is(path)) {
      return path;
    }
  }
  return std::string();
}

std::string beside_name(const std::string& path, int again) {
  const std::size_t start = path.rfind('/') + 1;
  const std::size_t size = beside_length(std::string_view(path).substr(start));
  return path.substr(0, start + size) + ".sluice-recovered" + (again == 0 ? "" : fmt::format(".{}", again));
}

Result<std::string> put_beside(const std::string& path, std::uint64_t device,
                               const std::function<Status(int)>& fill) {
  constexpr int most_names = 1000;
  const std::string wanted = join(nearest_folder(path), path.substr(path.rfind('/') + 1));
  for (int i = 0; i < most_names; ++i) {
    std::string name = beside_name(wanted, i);
    const UniqueFd fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd && errno == EEXIST) {
      continue;
    }
    if (!fd) {
      return Errno().fail("cannot make it");
    }
    if (Status put = fill_new(fd.get(), device, fill); !put) {
      unlink(name.c_str());
      return put.error();
    }
    return name;
  }
  return fail(EEXIST, "cannot make it");
}

}  // namespace sluice
