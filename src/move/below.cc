#include "move/below.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"

namespace sluice {
namespace {

constexpr std::size_t longest = 4000;  // what the kernel takes at once, and a name more fits

}  // namespace

std::string child(const std::string& path, const std::string& name) {
  return path.empty() ? name : name.empty() ? path : path + "/" + name;
}

UniqueFd open_below(int folder, std::string_view path) {
  UniqueFd at(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  while (at && !path.empty()) {
    const std::size_t end = path.size() > longest ? path.rfind('/', longest) : path.size();
    const std::string piece(path.substr(0, end));
    at = UniqueFd(static_cast<int>(syscall(SYS_openat2, at.get(), piece.c_str(), &how, sizeof how)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at;
}

Result<std::vector<std::string>> names_in(int folder) {
  return list_folder(fmt::format("/proc/self/fd/{}", folder));
}

std::pair<int, std::string> Below::at(const std::string& path) {
  if (path.empty()) {
    return {root_, name_};
  }
  const std::size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
  if (!folder_ || above != last_) {
    folder_ = open(above);
    last_ = above;
  }
  return {folder_ ? folder_.get() : -1, path.substr(slash + 1)};
}

}  // namespace sluice
