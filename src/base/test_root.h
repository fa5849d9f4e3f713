// Whether a test may do what root may: root in a container without capabilities may not.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace sluice {

// Tried with a file of ours: without CAP_CHOWN nobody can give one away.
inline bool has_rights_of_root() {
  const int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  const bool out = fd >= 0 && fchown(fd, 1, 1) == 0;
  close(fd);
  return out;
}

}  // namespace sluice
