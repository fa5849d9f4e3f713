#include "run/own_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::string_view prefix = "sluice-elsewhere-";

// Whether nobody but its owner can rename what we make in it.
bool is_trusted(const struct stat& folder) {
  const bool ours = folder.st_uid == 0 || folder.st_uid == geteuid();
  return ours && ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (folder.st_mode & S_ISVTX) != 0);
}

}  // namespace

std::string own_folder_name() {
  return fmt::format("{}{}-{:08x}", prefix, getpid(), std::random_device{}());
}

void remove_own_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && std::string_view(path).substr(slash + 1).starts_with(prefix)) {
    rmdir(path.c_str());
  }
}

Result<OwnFolder> OwnFolder::make(const std::string& path) {
  const std::string above = folder_of(path);
  struct stat found {};
  if (sys().stat(above.c_str(), &found) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(above)));
  }
  if (!is_trusted(found)) {
    return bad_input(fmt::format("others may rename what is in {}", quote(above)),
                     "name a folder of yours on it in sluice.toml, or set its sticky bit");
  }
  if (sys().mkdir(path.c_str(), 0700) != 0) {
    return Errno().fail(fmt::format("cannot make {}", quote(path)));
  }
  return OwnFolder(path);
}

OwnFolder::OwnFolder(OwnFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

OwnFolder::~OwnFolder() {
  if (!path_.empty()) {
    rmdir(path_.c_str());
  }
}

}  // namespace sluice
