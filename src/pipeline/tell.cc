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
constexpr uid_t unmapped = 65534;   // whom a user name space calls anybody that it does not know
constexpr int longest_wait = 6000;  // tenths of a second: copies take their time

// Whether the one at the other end is the user of the run. The name may be anybody's after the run. In a user
// name space the user has another number, which is ours.
bool is_the_users(const Area& area, int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         (who.uid == area.user ||
          (who.uid != unmapped && who.uid == static_cast<uid_t>(syscall(SYS_geteuid))));
}

// Again while there is no room, for a while.
template <class Call>
bool goes_through(Call call) {
  for (int i = 0; i < sends; ++i) {
    if (call() >= 0) {
      return true;
    }
    if (errno != EAGAIN && errno != EINTR) {
      return false;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
  return false;
}

}  // namespace

bool keeper_lives(const Area& area) {
  return syscall(SYS_kill, area.keeper, 0) == 0 || errno != ESRCH;
}

// A descriptor of its own each time: one that stays could be closed by the program, or become another.
bool tell_keeper(const Area& area, const KeeperMessage& message, int passed) {
  const auto fd =
      static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd < 0) {
    return false;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(area.keeper_name.data());
  std::memcpy(address.sun_path + 1, area.keeper_name.data(), length);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  KeeperMessage copy = message;
  iovec part{.iov_base = &copy, .iov_len = sizeof copy};
  PassedFd room;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (passed >= 0) {
    pass(header, room, passed);
  }
  const bool sent = goes_through([&] { return syscall(SYS_connect, fd, &address, size); }) &&
                    (passed < 0 || is_the_users(area, fd)) &&
                    goes_through([&] { return syscall(SYS_sendmsg, fd, &header, MSG_NOSIGNAL); });
  syscall(SYS_close, fd);
  return sent;
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
