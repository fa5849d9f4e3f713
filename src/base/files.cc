#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/sys.h"
#include "base/text.h"
#include "base/trust.h"

namespace sluice {

Status write_all(int fd, std::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t done = sys().write(fd, data.data(), data.size());
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done < 0) {
      return Errno().fail(fmt::format("cannot write {}", quote(path)));
    }
    data.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(sys().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (!fd) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  // Files in /proc and /sys have no size of their own: read until the end.
  std::string out;
  char buffer[16384];
  for (;;) {
    const ssize_t got = sys().read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Errno().fail(fmt::format("cannot read {}", quote(path)));
    }
    if (got == 0) {
      return out;
    }
    out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > limit) {
      return fail(EFBIG, fmt::format("cannot read {}, it is larger than {} bytes", quote(path), limit));
    }
  }
}

Status write_file(const std::string& path, std::string_view data) {
  // What stands at the end of a link is meant, where nobody else has planted it. A device or a pipe cannot be
  // replaced, only written to.
  auto followed = follow_links(path.starts_with('/') ? path : fmt::format("{}/{}", current_folder(), path));
  if (!followed && followed.error().number == EPERM) {
    return std::move(followed).error().within(fmt::format("cannot write {}", quote(path)));
  }
  struct stat about {};
  // A link to nothing is replaced; one to a pipe (/dev/stdout) has no path.
  const bool leads = followed && sys().stat(followed->c_str(), &about) == 0;
  const std::string target = leads ? *followed : path;
  if (sys().stat(target.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    const UniqueFd fd(sys().open(target.c_str(), O_WRONLY | O_CLOEXEC, 0));
    if (!fd) {
      return Errno().fail(fmt::format("cannot write {}", quote(path)));
    }
    return write_all(fd.get(), data, path);
  }
  const std::string folder = folder_of(target);
  std::string temporary;
  UniqueFd fd;
  for (unsigned attempt = 0; !fd && attempt < 100; ++attempt) {
    // A short name of its own: the target's may be as long as names can be.
    temporary = fmt::format("{}/.sluice-{}-{}", folder, getpid(), attempt);
    fd = UniqueFd(sys().open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd && errno != EEXIST) {
      break;
    }
  }
  if (!fd) {
    return Errno().fail(fmt::format("cannot create {}", quote(path)));
  }
  Status status = write_all(fd.get(), data, path);
  if (status && sys().fsync(fd.get()) != 0) {
    status = Errno().fail(fmt::format("cannot sync {}", quote(path)));
  }
  fd.reset();
  if (status && sys().rename(temporary.c_str(), target.c_str()) != 0) {
    status = Errno().fail(fmt::format("cannot replace {}", quote(path)));
  }
  if (!status) {
    sys().unlink(temporary.c_str());
    return status;
  }
  // A folder that may be written but not read cannot be synced; the file is in place all the same.
  const UniqueFd directory(sys().open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (directory && sys().fsync(directory.get()) != 0) {
    return Errno().fail(fmt::format("cannot sync folder {}", quote(folder)));
  }
  return {};
}

Status create_file(const std::string& path, std::string_view data) {
  const UniqueFd fd(sys().open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) {
    return Errno().fail(fmt::format("cannot make {}", quote(path)));
  }
  Status written = write_all(fd.get(), data, path);
  if (!written) {
    sys().unlink(path.c_str());
  }
  return written;
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  struct Close {
    void operator()(DIR* directory) const { sys().closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> directory(sys().opendir(path.c_str()));
  if (!directory) {
    return Errno().fail(fmt::format("cannot open folder {}", quote(path)));
  }
  std::vector<std::string> out;
  errno = 0;
  while (const dirent* entry = sys().readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      out.emplace_back(name);
    }
    errno = 0;
  }
  if (errno != 0) {
    return Errno().fail(fmt::format("cannot read folder {}", quote(path)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::string> read_link(const std::string& path) {
  std::string out(4096, '\0');
  const ssize_t size = sys().readlink(path.c_str(), out.data(), out.size());
  if (size < 0) {
    return Errno().fail(fmt::format("cannot read link {}", quote(path)));
  }
  out.resize(static_cast<std::size_t>(size));
  return out;
}

Result<std::string> own_program() {
  auto out = read_link("/proc/self/exe");
  if (!out) {
    return fail(out.error().number, "cannot tell where this program is, because /proc is not mounted")
        .advise("mount -t proc proc /proc");
  }
  return out;
}

Status make_folders(const std::string& path) {
  if (path.empty() || path == "/" || sys().mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) {
    return {};
  }
  if (errno != ENOENT) {
    return Errno().fail(fmt::format("cannot create folder {}", quote(path)));
  }
  SLUICE_CHECK(make_folders(folder_of(path)));
  if (sys().mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Errno().fail(fmt::format("cannot create folder {}", quote(path)));
  }
  return {};
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
}

std::string absolute(std::string_view path, std::string_view folder) {
  const std::filesystem::path whole = std::filesystem::path(folder) / path;
  if (!whole.is_absolute()) {
    return whole.string();  // in a folder that was removed
  }
  std::filesystem::path out;
  for (const std::filesystem::path& part : whole) {
    if (part == "..") {
      char first = 0;
      std::error_code missing;
      if (sys().readlink(out.c_str(), &first, 1) >= 0) {
        const std::filesystem::path leads_to = std::filesystem::canonical(out, missing);
        out = missing ? out : leads_to;
      }
      out = out.parent_path();
    } else if (part != "." && !part.empty()) {
      out /= part;
    }
  }
  return out.string();
}

std::string current_folder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace sluice
