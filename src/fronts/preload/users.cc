// What programs made as the first user is put down as the first: later it would be the other's, whatever its
// mode says.
#include "fronts/preload/users.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "fronts/preload/export.h"
#include "fronts/preload/file.h"
#include "fronts/preload/pending.h"
#include "pipeline/area.h"

namespace sluice::preload {
namespace {

Users current() {
  Users out;
  syscall(SYS_getresuid, &out.real, &out.effective, &out.saved);
  return out;
}

bool can_be(const Users& users, uid_t user) {
  return users.real == user || users.effective == user || users.saved == user;
}

}  // namespace

Users after_setreuid(uid_t real_one, uid_t effective) {
  const Users now = current();
  const bool saves = real_one != same_user || (effective != same_user && effective != now.real);
  return {real_one, effective, !saves ? same_user : effective != same_user ? effective : now.effective};
}

BecomingUser::BecomingUser(Users after) {
  Area* area = this_area();
  if (is_keeping()) [[unlikely]] {
    put_down_all();
  }
  const Users now = current();
  const auto then = [](uid_t wanted, uid_t is) { return wanted == same_user ? is : wanted; };
  const Users becomes{then(after.real, now.real), then(after.effective, now.effective),
                      then(after.saved, now.saved)};
  // A child that shares its parent's memory must not take that away from it.
  if (area == nullptr || has_parted() || !can_be(now, area->user) || can_be(becomes, area->user) ||
      syscall(SYS_getpid) != this_process().id) {
    return;
  }
  const int saved = errno;
  settle_all(SLUICE_SETTLE_RETIRE);
  room_ = room_for_copy(*area);
  may_ = room_ != nullptr;
  errno = may_ ? saved : EAGAIN;
}

BecomingUser::~BecomingUser() {
  if (room_ == nullptr) {
    return;
  }
  const int saved = errno;
  Area& area = *this_area();
  if (can_be(current(), area.user)) {
    give_room_back(area, room_);
  } else {
    settle_all(SLUICE_SETTLE_RETIRE);  // another thread may have begun before it was somebody else
    leave_area(area, room_);
  }
  errno = saved;
}

}  // namespace sluice::preload

using sluice::preload::BecomingUser;

#define SLUICE_BECOMES(name, parameters, arguments, throwing, after) \
  SLUICE_EXPORT int name parameters throwing {                       \
    const BecomingUser becoming{after};                              \
    return becoming.may() ? SLUICE_NEXT(name) arguments : -1;        \
  }

SLUICE_BECOMES(setuid, (uid_t user), (user), noexcept, (sluice::preload::after_setuid(user)))
SLUICE_BECOMES(setreuid, (uid_t real, uid_t effective), (real, effective), noexcept,
               (sluice::preload::after_setreuid(real, effective)))
SLUICE_BECOMES(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved), noexcept,
               (sluice::preload::Users{real, effective, saved}))
// The rest can be taken back, or changes no user.
SLUICE_BECOMES(seteuid, (uid_t user), (user), noexcept, sluice::preload::Users())
SLUICE_BECOMES(setfsuid, (uid_t user), (user), noexcept, sluice::preload::Users())
SLUICE_BECOMES(setgid, (gid_t group), (group), noexcept, sluice::preload::Users())
SLUICE_BECOMES(setegid, (gid_t group), (group), noexcept, sluice::preload::Users())
SLUICE_BECOMES(setregid, (gid_t real, gid_t effective), (real, effective), noexcept, sluice::preload::Users())
SLUICE_BECOMES(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved), noexcept,
               sluice::preload::Users())
SLUICE_BECOMES(setfsgid, (gid_t group), (group), noexcept, sluice::preload::Users())
SLUICE_BECOMES(setgroups, (size_t count, const gid_t* groups), (count, groups), noexcept,
               sluice::preload::Users())
SLUICE_BECOMES(initgroups, (const char* user, gid_t group), (user, group), , sluice::preload::Users())
