// A descriptor in a message from one process to another.
#pragma once

#include <sys/socket.h>

#include <cstring>

namespace sluice {

// Room for it; must live as long as the message.
struct PassedFd {
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
};

inline void pass(msghdr& header, PassedFd& room, int fd) {
  header.msg_control = room.space;
  header.msg_controllen = sizeof room.space;
  cmsghdr* with = CMSG_FIRSTHDR(&header);
  with->cmsg_level = SOL_SOCKET;
  with->cmsg_type = SCM_RIGHTS;
  with->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(with), &fd, sizeof fd);
}

}  // namespace sluice
