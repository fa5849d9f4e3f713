// A process that becomes another user.
#pragma once

#include <sys/types.h>

namespace sluice::preload {

constexpr uid_t same_user = static_cast<uid_t>(-1);  // that one stays

struct Users {
  uid_t real = same_user;
  uid_t effective = same_user;
  uid_t saved = same_user;
};

// What is kept back is put down as the user that wrote it. A process that cannot become the user of the run
// again leaves the shared memory, which is not for anybody else.
class BecomingUser {
 public:
  // Whoever it will be; nothing where only groups change.
  explicit BecomingUser(Users after = {});
  BecomingUser(const BecomingUser&) = delete;
  BecomingUser& operator=(const BecomingUser&) = delete;
  // REQUIRES: the call was made. Keeps errno.
  ~BecomingUser();
  // False, with errno, where the process could not leave the memory: then it must stay who it is.
  [[nodiscard]] bool may() const { return may_; }

 private:
  void* room_ = nullptr;  // for a copy
  bool may_ = true;
};

// Whom these calls make of us, as the kernel has it.
inline Users after_setuid(uid_t user) {
  return {user, user, user};
}
Users after_setreuid(uid_t real_one, uid_t effective);

}  // namespace sluice::preload
