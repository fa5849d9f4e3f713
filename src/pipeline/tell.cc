#include "pipeline/tell.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "pipeline/passing.h"

// Bare system calls: in a program these are calls of Sluice's, which pass no stage.
namespace sluice {
namespace {

constexpr int sends = 50;           // tries, a millisecond apart
constexpr int longest_wait = 6000;  // tenths of a second: copies take their time

}  // namespace

bool keeper_lives(const Area& area) {
  return syscall(SYS_kill, area.keeper, 0) == 0 || errno != ESRCH;
}

// A descriptor of its own each time: one that stays could be closed by the program, or become another.
bool tell_keeper(const Area& area, const KeeperMessage& message, int passed) {
  const auto fd = static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd < 0) {
    return false;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(area.keeper_name.data());
  std::memcpy(address.sun_path + 1, area.keeper_name.data(), length);
  KeeperMessage copy = message;
  iovec part{.iov_base = &copy, .iov_len = sizeof copy};
  PassedFd room;
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (passed >= 0) {
    pass(header, room, passed);
  }
  long sent = -1;
  for (int i = 0; i < sends && sent < 0; ++i) {
    sent = syscall(SYS_sendmsg, fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      break;
    }
    if (sent < 0) {
      const timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
      syscall(SYS_nanosleep, &pause, nullptr);
    }
  }
  syscall(SYS_close, fd);
  return sent > 0;
}

void wait_for_keeper(const Area& area, const Buffer& buffer, std::uint32_t held, int most) {
  for (int i = 0; i < most && buffer.held == held && !has_parted() && (i == 0 || keeper_lives(area)); ++i) {
    const timespec patience{.tv_sec = 0, .tv_nsec = 100000000};
    if (syscall(SYS_futex, &buffer.held, FUTEX_WAIT, held, &patience, nullptr, 0) != 0 &&
        errno == ETIMEDOUT && is_stopped(area.keeper)) {
      return;
    }
  }
}

bool ask_keeper(Area& area, KeeperMessage::Kind kind, int fd) {
  const auto process = static_cast<pid_t>(syscall(SYS_getpid));
  Buffer* answer = area.buffers == 0 ? nullptr : area.take_buffer(process, 1);
  if (answer == nullptr) {
    return false;
  }
  answer->held = 1;
  const KeeperMessage message{.kind = kind,
                              .buffer = static_cast<std::uint32_t>(answer - area.all_buffers().data()),
                              .generation = answer->generation,
                              .process = process};
  const bool told = tell_keeper(area, message, fd);
  if (told) {
    wait_for_keeper(area, *answer, 1, longest_wait);
  }
  const bool good = told && answer->held == 0;
  Area::give_back(*answer);
  return good;
}

}  // namespace sluice
