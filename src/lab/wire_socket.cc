#include "lab/wire_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cstring>

namespace sluice::lab {
namespace {

// A bundle of segments is at most 64 KiB; kernels may be set up for more, which then does not pass.
constexpr std::size_t largest = std::size_t{128} * 1024;
constexpr int buffer_size = 32 << 20;

Status set_option(int fd, int level, int name, int value) {
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) {
    return Errno().fail(fmt::format("cannot set option {} of a packet socket", name));
  }
  return {};
}

Instant read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + Instant(now.tv_nsec);
}

// The kernel stamps frames by the wall clock. Frames are ordered by their stamps, so all are converted by the
// same difference of the clocks, until somebody sets the wall clock.
class StampClock {
 public:
  void adjust() {
    const Instant before = monotonic_now();
    const Instant wall = read_clock(CLOCK_REALTIME);
    const Instant between = monotonic_now() - before;
    const Instant ahead = wall - before;
    const bool sure = between < std::chrono::microseconds(20);  // we were not interrupted
    if (!known_ || (sure && std::chrono::abs(ahead - ahead_) > std::chrono::milliseconds(1))) {
      known_ = sure;
      ahead_ = ahead;
    }
  }
  [[nodiscard]] Instant convert(const timespec& stamp) const {
    return std::chrono::seconds(stamp.tv_sec) + Instant(stamp.tv_nsec) - ahead_;
  }

 private:
  bool known_ = false;
  Instant ahead_{};
};

Instant arrival(msghdr& message, const StampClock& clock) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
      return clock.convert(stamp);
    }
  }
  return monotonic_now();
}

}  // namespace

Result<WireSocket> WireSocket::open(const std::string& interface) {
  WireSocket out;
  // Without a protocol nothing comes in before it is bound to its interface.
  out.fd_ = UniqueFd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.fd_) {
    return Errno().fail("cannot make a packet socket");
  }
  const int fd = out.fd();
  SLUICE_CHECK(set_option(fd, SOL_PACKET, PACKET_VNET_HDR, 1));
  SLUICE_CHECK(set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1));
  SLUICE_CHECK(set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1));
  SLUICE_CHECK(set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, buffer_size));
  SLUICE_CHECK(set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, buffer_size));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (address.sll_ifindex == 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Errno().fail(fmt::format("cannot listen to the network interface {}", interface));
  }
  return out;
}

void WireSocket::receive(const std::function<void(Instant when, FrameBytes frame)>& each) {
  constexpr int at_once = 64;
  static std::array<std::uint8_t, largest> buffer;  // one thread
  static StampClock clock;
  clock.adjust();
  for (int i = 0; i < at_once; ++i) {
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    alignas(cmsghdr) std::array<char, 64> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(fd(), &message, 0);
    if (got < 0 && errno == EINVAL) {
      continue;  // a bundle of a kind that the header has no word for; it is gone
    }
    if (got < 0) {
      return;
    }
    if (static_cast<std::size_t>(got) > Wire::header_size && (message.msg_flags & MSG_TRUNC) == 0) {
      each(arrival(message, clock), FrameBytes(buffer.begin(), buffer.begin() + got));
    }
  }
}

bool WireSocket::send(const FrameBytes& frame) {
  return ::send(fd(), frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
}

std::uint64_t WireSocket::take_missed() {
  tpacket_stats stats{};
  socklen_t size = sizeof stats;
  return getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 ? stats.tp_drops : 0;
}

}  // namespace sluice::lab
