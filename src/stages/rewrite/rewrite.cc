// New files are made in another folder, and their path is a link to them until the program has closed them;
// then the keeper brings them home (run/keeper.h). Files that exist stay where they are.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "pipeline/parameters.h"
#include "pipeline/settings.h"
#include "stages/rewrite/combine.h"

namespace sluice {
namespace {

constinit SettingsRoom<Elsewhere, 1> all;

// Whether nobody but root and this user can replace what is made in it.
bool is_trusted(const struct stat& folder) {
  const bool ours = folder.st_uid == 0 || folder.st_uid == geteuid();
  return ours && ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (folder.st_mode & S_ISVTX) != 0);
}

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size, "except");
  Elsewhere& out = all.take();
  while (parameters.next()) {
    if (parameters.name == "to" && parameters.value.starts_with('/') &&
        parameters.value.size() < out.folder.size()) {
      std::memcpy(out.folder.data(), parameters.value.data(), parameters.value.size());
    } else if (parameters.name == "except" && out.exceptions < Elsewhere::most_exceptions &&
               parameters.value.size() < out.except[0].size()) {
      std::memcpy(out.except[out.exceptions++].data(), parameters.value.data(), parameters.value.size());
    } else if (parameters.name == "combine" && (parameters.value == "yes" || parameters.value == "no")) {
      out.combine = parameters.value == "yes";
    } else {
      return parameters.refuse(
          "rewrite has to=/FOLDER, which is absolute, except=GLOB of file names, and combine=yes");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  if (out.folder[0] == 0) {
    parameters.name = "to";
    parameters.value = "";
    return parameters.refuse("it is missing; write rewrite:to=/FOLDER, where new files are to be made");
  }
  struct stat found {};
  parameters.name = "to";
  parameters.value = out.folder.data();
  if (syscall(SYS_newfstatat, AT_FDCWD, out.folder.data(), &found, 0) != 0) {
    return parameters.refuse("there is no such folder; make it first");
  }
  if (!S_ISDIR(found.st_mode)) {
    return parameters.refuse("it is no folder");
  }
  if (!is_trusted(found)) {
    return parameters.refuse(
        "others can replace what is made there, and it would come home; name a folder of yours that only you "
        "can "
        "write to, or set its sticky bit");
  }
  if (syscall(SYS_getxattr, out.folder.data(), "system.posix_acl_default", nullptr, 0) > 0) {
    return parameters.refuse(
        "it gives access lists to what is made in it (a default ACL), which files would bring home; take "
        "that "
        "away (setfacl -k), or name another folder");
  }
  if (syscall(SYS_faccessat2, AT_FDCWD, out.folder.data(), W_OK | X_OK, AT_EACCESS) != 0 && errno != ENOSYS) {
    return parameters.refuse("no file can be made there; name a folder that you may write to");
  }
  *state = &out;
  return 0;
}

std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next* next) {
  const auto& where = *static_cast<const Elsewhere*>(state);
  return where.combine ? act_combined(where, file_state, *activity, next)
                       : act_elsewhere(where, file_state, *activity, next);
}

std::uint32_t wants(void* state) {
  return static_cast<const Elsewhere*>(state)->combine ? combine_operations : elsewhere_operations;
}

}  // namespace

extern const sluice_stage stage_rewrite = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "rewrite",
    .summary = "makes new files in another folder, and brings them home when they are closed",
    .scope = "file",
    .interference = "calls",
    .state = "buffers",
    .semantics = "relaxed",
    .parameters =
        "to= the folder, absolute\nexcept= names of files that stay, a glob; several times\n"
        "combine=no yes: what several processes write of one file goes to parts, which are brought together",
    .operations = combine_operations,
    .aside = 0,
    .start = start,
    .act = act,
    .wants = wants,
};

}  // namespace sluice
