#include "base/trust.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr int most_links = 40;
constexpr std::array<std::string_view, 4> given = {"/dev/fd/", "/proc/self/fd/", "/dev/stdin", "/dev/null"};

enum class Check { links, all };

// What is left to walk, next component last.
void push_components(std::vector<std::string>& todo, std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  todo.insert(todo.end(), parts.rbegin(), parts.rend());
}

bool is_given(std::string_view path) {
  return std::any_of(given.begin(), given.end(), [&](std::string_view one) { return path.starts_with(one); });
}

bool is_null_device(const struct stat& about) {
  return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

Status check(const std::string& path, const struct stat& about, Check what) {
  const bool foreign = about.st_uid != geteuid() && about.st_uid != 0;
  if (S_ISLNK(about.st_mode) && foreign) {
    return fail(EPERM, fmt::format("will not follow {}, a symbolic link of another user (uid {})",
                                   quote(path), about.st_uid));
  }
  if (what == Check::links) {
    return {};
  }
  if (foreign) {
    return fail(EPERM, fmt::format("{} belongs to another user (uid {})", quote(path), about.st_uid));
  }
  const bool sticky = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
  if (!S_ISLNK(about.st_mode) && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky &&
      !is_null_device(about)) {
    return fail(EPERM, fmt::format("others can write to {}", quote(path)));
  }
  return {};
}

Result<std::string> walk(const std::string& path, Check what) {
  std::vector<std::string> todo;
  push_components(todo, path);
  std::string done;  // "" is the root
  int links = 0;
  struct stat about = {};
  if (lstat("/", &about) != 0) {
    return Errno().fail("cannot look at /");
  }
  SLUICE_CHECK(check("/", about, what));
  while (!todo.empty()) {
    const std::string name = std::move(todo.back());
    todo.pop_back();
    if (name.empty() || name == ".") {
      continue;
    }
    if (name == "..") {
      done.resize(done.empty() ? 0 : done.rfind('/'));
      continue;
    }
    const std::string here = fmt::format("{}/{}", done, name);
    if (lstat(here.c_str(), &about) != 0) {
      if (errno != ENOENT) {
        return Errno().fail(fmt::format("cannot look at {}", quote(here)));
      }
      done = here;
      continue;
    }
    SLUICE_CHECK(check(here, about, what));
    if (!S_ISLNK(about.st_mode)) {
      done = here;
      continue;
    }
    if (++links > most_links) {
      return fail(ELOOP, fmt::format("cannot follow {}", quote(path)));
    }
    SLUICE_TRY(const std::string target, read_link(here));
    if (target.starts_with('/')) {
      done.clear();
    }
    push_components(todo, target);
  }
  return done.empty() ? "/" : done;
}

}  // namespace

Result<std::string> follow_links(const std::string& path) {
  return walk(path, Check::links);
}

Result<std::string> check_trusted(const std::string& path) {
  return is_given(path) ? path : walk(path, Check::all);
}

Result<std::string> read_trusted(const std::string& path) {
  if (is_given(path)) {
    return read_file(path);
  }
  SLUICE_TRY(const std::string real, walk(path, Check::all));
  struct stat about = {};  // nobody else can replace it from here on
  if (sys().stat(real.c_str(), &about) != 0) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) {
    return read_file(real);
  }
  return fail(EPERM, fmt::format("{} is not a plain file", quote(path)));
}

bool is_privileged_by_program() {
  return getauxval(AT_SECURE) != 0;
}

}  // namespace sluice
