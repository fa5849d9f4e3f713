#include "tune/folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"
#include "run/own_folder.h"

namespace sluice {

Folders::~Folders() {
  for (const Folder& folder : all_) {
    if (flock(folder.held.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
      rmdir(folder.path.c_str());
    }
  }
}

Result<Folders::Folder> Folders::hold(const std::string& path) {
  for (int tries = 0; tries < 100; ++tries) {
    auto made = OwnFolder::make(path);
    if (made) {
      made->keep();
    } else if (made.error().number != EEXIST) {
      return std::move(made).error();
    }
    UniqueFd held(sys().open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
    if (!held && errno == ENOENT) {
      continue;
    }
    struct stat about {};
    if (!held || fstat(held.get(), &about) != 0 || about.st_uid != geteuid() ||
        (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return fail(fmt::format("{} is not a folder of yours alone", quote(path)),
                  "others could take what is put there; remove it");
    }
    // Whoever removes it has the lock to himself, and then it has no name.
    if (flock(held.get(), LOCK_SH) == 0 && (fstat(held.get(), &about) != 0 || about.st_nlink == 0)) {
      continue;
    }
    return Folder{.path = path, .held = std::move(held)};
  }
  return fail(fmt::format("cannot keep {}", quote(path)));
}

Status Folders::make(const Candidate& candidate) {
  constexpr std::string_view prefix = "rewrite:to=";
  for (const Action& action : candidate.actions) {
    for (const std::string& stage : action.stages) {
      if (!stage.starts_with(prefix)) {
        continue;
      }
      const std::string path = stage.substr(prefix.size(), stage.find(',') - prefix.size());
      // Two locks of ours would be in each other's way.
      if (std::none_of(all_.begin(), all_.end(), [&](const Folder& one) { return one.path == path; })) {
        SLUICE_TRY(Folder folder, hold(path));
        all_.push_back(std::move(folder));
      }
    }
  }
  return {};
}

Status Folders::keep() {
  for (const Folder& folder : all_) {
    SLUICE_CHECK(write_file(folder.path + "/README",
                            "Rules that `sluice tune` kept make files here, and bring them home.\n"
                            "This folder can go when no such rules are used any more.\n"));
  }
  return {};
}

}  // namespace sluice
