// Programs that become another user. What they made as the first is put down as the first: later it would be
// the other's, whatever its mode says.
#include <grp.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"

using sluice::preload::is_keeping;
using sluice::preload::put_down_all;

#define SLUICE_BECOMES(name, parameters, arguments, throwing) \
  SLUICE_EXPORT int name parameters throwing {                \
    if (is_keeping()) [[unlikely]] {                          \
      put_down_all();                                         \
    }                                                         \
    return SLUICE_NEXT(name) arguments;                       \
  }

SLUICE_BECOMES(setuid, (uid_t user), (user), noexcept)
SLUICE_BECOMES(seteuid, (uid_t user), (user), noexcept)
SLUICE_BECOMES(setreuid, (uid_t real, uid_t effective), (real, effective), noexcept)
SLUICE_BECOMES(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved), noexcept)
SLUICE_BECOMES(setfsuid, (uid_t user), (user), noexcept)
SLUICE_BECOMES(setgid, (gid_t group), (group), noexcept)
SLUICE_BECOMES(setegid, (gid_t group), (group), noexcept)
SLUICE_BECOMES(setregid, (gid_t real, gid_t effective), (real, effective), noexcept)
SLUICE_BECOMES(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved), noexcept)
SLUICE_BECOMES(setfsgid, (gid_t group), (group), noexcept)
SLUICE_BECOMES(setgroups, (size_t count, const gid_t* groups), (count, groups), noexcept)
SLUICE_BECOMES(initgroups, (const char* user, gid_t group), (user, group), )
