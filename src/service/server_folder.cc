#include "service/server_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/text.h"

namespace sluice::service {

int ServerFolder::server() const {
  const UniqueFd fd(sys().open(file("server").c_str(), O_RDWR | O_CLOEXEC, 0));
  struct flock who {};
  who.l_type = F_WRLCK;
  who.l_whence = SEEK_SET;
  if (!fd || fcntl(fd.get(), F_GETLK, &who) != 0 || who.l_type == F_UNLCK) {
    return 0;
  }
  return who.l_pid;
}

Result<UniqueFd> ServerFolder::claim() const {
  const std::string path = file("server");
  UniqueFd out(sys().open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct flock mine {};
  mine.l_type = F_WRLCK;
  mine.l_whence = SEEK_SET;
  if (!out || fcntl(out.get(), F_SETLK, &mine) != 0) {
    return Errno().fail(fmt::format("cannot lock {}", quote(path)));
  }
  return out;
}

}  // namespace sluice::service
