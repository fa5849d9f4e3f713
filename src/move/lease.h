// Tells whether somebody else has a file open, and notices whoever opens it for writing from then on.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "base/sys.h"

namespace sluice {

// The kernel tells by a signal that a lease is wanted back, which would end us; we look for ourselves. One in
// each thread that has leases, for as long as it has any.
class LeaseSignals {
 public:
  LeaseSignals();
  LeaseSignals(const LeaseSignals&) = delete;
  LeaseSignals& operator=(const LeaseSignals&) = delete;
  ~LeaseSignals();

  // Whether a lease of this thread was wanted back since this was asked last.
  [[nodiscard]] static bool told();

 private:
  sigset_t before_ = {};
};

class Lease {
 public:
  // Whose opening of the file keeps us from having it.
  enum class Against { writers, everybody };

  // `fd` is open for reading only, and stays so while the lease is to last. Who comes later for reading never
  // waits; who comes for writing waits until the file is closed here.
  Lease(int fd, Against against);

  [[nodiscard]] bool busy() const { return busy_; }
  // False on a file system without leases, or whose server gives none, and for somebody else's file without
  // CAP_LEASE: then who has it open is to be looked for (look_for_users).
  [[nodiscard]] bool held() const { return held_; }
  // Whether nobody has come for writing, as far as a lease tells.
  [[nodiscard]] bool undisturbed() const;
  // Whether nobody else has it open at this moment.
  [[nodiscard]] bool alone() const;

 private:
  int fd_;
  bool busy_ = false;
  bool held_ = false;
};

// A file or folder, by what stat() says of it.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const Identity&) const = default;
};
Identity identity_of(const struct stat& about);

// Processes other than this one that have one of them open or are in it: "4711 (tail)". Only those that this
// user may look at. With `mapped`, which takes longer, also those that have one in their memory alone. `all`
// is sorted.
struct Users {
  std::vector<std::string> known;
  bool hidden = false;  // there are processes that this one may not look at
};
Users look_for_users(const std::vector<Identity>& all, bool mapped);
std::vector<std::string> users_of(const std::vector<Identity>& all, bool mapped = false);
// Whether this process has it open for writing.
bool writes_itself(const Identity& file);

}  // namespace sluice
