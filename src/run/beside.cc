#include "run/beside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/sys.h"

namespace sluice {
namespace {

std::string join(const std::string& folder, const std::string& name) {
  return folder + (folder.ends_with('/') ? "" : "/") + name;
}

// The same path in the nearest folder above that there is.
std::string in_a_folder(const std::string& path) {
  std::string folder = folder_of(path);
  struct stat found {};
  while (folder.size() > 1 && stat(folder.c_str(), &found) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    folder = folder_of(folder);
  }
  return join(folder, path.substr(path.rfind('/') + 1));
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
  constexpr std::size_t most = 220;  // bytes of a name, so that the rest fits into 255
  const std::size_t start = path.rfind('/') + 1;
  std::size_t size = path.size() - start;
  if (size > most) {
    for (size = most; (static_cast<unsigned char>(path[start + size]) & 0xC0) == 0x80; --size) {
    }
  }
  return path.substr(0, start + size) + ".sluice-recovered" + (again == 0 ? "" : fmt::format(".{}", again));
}

Result<std::string> put_beside(const std::string& path, std::uint64_t device,
                               const std::function<Status(int)>& fill) {
  constexpr int most_names = 1000;
  const std::string wanted = in_a_folder(path);
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
