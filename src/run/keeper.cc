#include "run/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/passing.h"
#include "pipeline/tell.h"
#include "run/own_thread.h"

namespace sluice {
namespace {

constexpr int soon = 1;          // milliseconds until somebody who has a lock is asked again
constexpr int later = 100;       // until a process of which nobody tells us is looked for
constexpr double patience = 10;  // seconds, at the end
constexpr std::uint32_t blocks_ahead = 4;
constexpr int most_waiting = 4096;           // connections that were not looked at yet
constexpr std::size_t most_strangers = 16;   // that have not spoken; more are sent away
constexpr std::size_t most_connected = 256;  // of the user's own, likewise

UniqueFd own_socket(const std::string& name) {
  UniqueFd out(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool good = out && bind(out.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                    listen(out.get(), most_waiting) == 0;
  return good ? std::move(out) : UniqueFd();
}

// What somebody sent to the whole process is for the program, and may come here all the same.
void give_on(const signalfd_siginfo& told) {
  if (told.ssi_code != SI_USER && told.ssi_code != SI_QUEUE) {
    return;
  }
  siginfo_t info{};
  info.si_signo = static_cast<int>(told.ssi_signo);
  info.si_code = told.ssi_code;
  info.si_pid = static_cast<pid_t>(told.ssi_pid);
  info.si_uid = told.ssi_uid;
  info.si_value.sival_ptr = reinterpret_cast<void*>(told.ssi_ptr);  // NOLINT(performance-no-int-to-ptr)
  syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), info.si_signo, &info);
}

void wake(Buffer& buffer) {
  syscall(SYS_futex, &buffer.held, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace

Keeper::~Keeper() {
  if (thread_.joinable()) {
    finish();
  }
}

Status Keeper::start() {
  const std::string name = std::filesystem::path(area_.own_path.data()).filename().string();
  socket_ = own_socket(name);
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  poke_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!socket_ || !stop_ || !poke_) {
    return Errno().fail("cannot listen to the program");
  }
  std::memcpy(area_.keeper_name.data(), name.c_str(), name.size() + 1);
  area_.keeper = getpid();
  std::promise<void> ready;
  thread_ = std::thread([&] {
    // The kernel tells this thread alone; the program's own signals are for others.
    block_signals();
    sigset_t told;
    sigemptyset(&told);
    sigaddset(&told, keeper_signal);
    sigaddset(&told, SIGIO);
    signals_ = UniqueFd(signalfd(-1, &told, SFD_CLOEXEC | SFD_NONBLOCK));
    area_.keeper_thread = gettid();
    ready.set_value();
    serve();
  });
  ready.get_future().wait();
  mover_.start();
  return {};
}

void Keeper::serve() {
  bool asked = false;  // to settle
  for (;;) {
    std::vector<pollfd> all = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                               {.fd = socket_.get(), .events = POLLIN, .revents = 0},
                               {.fd = signals_.get(), .events = POLLIN, .revents = 0},
                               {.fd = poke_.get(), .events = POLLIN, .revents = 0}};
    int most = -1;
    for (const auto& [process, fd] : watched_) {
      all.push_back({.fd = fd.get(), .events = POLLIN, .revents = 0});
      most = fd ? most : later;
    }
    for (const Connection& one : connected_) {
      all.push_back({.fd = one.fd.get(), .events = POLLIN, .revents = 0});
    }
    if (poll(all.data(), all.size(), broken_.empty() ? most : soon) < 0 && errno != EINTR) {
      return;
    }
    receive();
    look_for_leases();
    std::uint64_t poked = 0;
    if (read(poke_.get(), &poked, sizeof poked) > 0) {
      break_all();
      asked = true;
    }
    retire_broken();
    if (asked && broken_.empty()) {
      asked = false;
      const std::lock_guard guard(mutex_);
      settling_ = false;
      settled_.notify_all();
    }
    look_for_dead();
    if ((all[0].revents & POLLIN) != 0) {
      return;
    }
  }
}

// All that was sent. Each message has a connection of its own, so that the kernel says who speaks before any
// descriptor comes in. Connections are looked at in the order in which they were made.
void Keeper::receive() {
  std::erase_if(connected_, [this](const Connection& one) { return hear(one); });
  for (;;) {
    UniqueFd fd = accept_one();
    if (!fd && errno != ECONNABORTED && errno != EINTR) {
      return;
    }
    ucred who{};
    socklen_t size = sizeof who;
    if (!fd || getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
      continue;
    }
    Connection one{
        .fd = std::move(fd), .process = who.pid, .ours = who.uid == getuid() || who.uid == geteuid()};
    const auto alike = std::count_if(connected_.begin(), connected_.end(),
                                     [&](const Connection& other) { return other.ours == one.ours; });
    if (!hear(one) && static_cast<std::size_t>(alike) < (one.ours ? most_connected : most_strangers)) {
      connected_.push_back(std::move(one));
    }
  }
}

// Where there is no descriptor left, by the one that is kept for this: who wants to let go of some must be
// heard.
UniqueFd Keeper::accept_one() {
  const auto next = [this] {
    return UniqueFd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  };
  if (!spare_) {
    spare_ = UniqueFd(fcntl(stop_.get(), F_DUPFD_CLOEXEC, 0));
  }
  UniqueFd out = next();
  if (!out && (errno == EMFILE || errno == ENFILE) && spare_) {
    spare_ = UniqueFd();
    out = next();
  }
  return out;
}

// Whether it is done with. There is room for one descriptor of our user's, and none of anybody else's: the
// kernel closes the rest.
bool Keeper::hear(const Connection& from) {
  KeeperMessage message;
  iovec part{.iov_base = &message, .iov_len = sizeof message};
  PassedFd room;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = from.ours ? room.space : nullptr;
  header.msg_controllen = from.ours ? CMSG_LEN(sizeof(int)) : 0;
  const ssize_t got = recvmsg(from.fd.get(), &header, MSG_CMSG_CLOEXEC);
  if (got < 0) {
    return errno != EAGAIN && errno != EINTR;
  }
  UniqueFd fd;
  if (const cmsghdr* with = CMSG_FIRSTHDR(&header);
      with != nullptr && with->cmsg_level == SOL_SOCKET && with->cmsg_type == SCM_RIGHTS) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(with), sizeof number);
    fd = UniqueFd(number);
  }
  if (got != sizeof message) {
    return true;
  }
  // Whoever has become another user may let go of what is its own, or wait for what is brought home.
  const bool own = message.kind == KeeperMessage::drop && message.buffer < area_.all_buffers().size() &&
                   area_.all_buffers()[message.buffer].process == from.process;
  if (from.ours || own || message.kind == KeeperMessage::home) {
    take(message, std::move(fd));
  }
  return true;
}

void Keeper::take(const KeeperMessage& message, UniqueFd fd) {
  if (message.kind == KeeperMessage::folder) {
    lander_.know(std::move(fd));
    return;
  }
  if (message.kind == KeeperMessage::lend) {
    lander_.lend(message.buffer);
    return;
  }
  if (message.kind == KeeperMessage::fetch) {
    lander_.give(message.buffer, fd);
    return;
  }
  if (message.kind == KeeperMessage::ready) {
    area_.ready_blocks(blocks_ahead);
    return;
  }
  if (message.buffer >= area_.all_buffers().size()) {
    return;
  }
  if (message.kind == KeeperMessage::home) {
    mover_.wake();
    return;
  }
  if (message.kind == KeeperMessage::whole) {
    mover_.hold(message.buffer, message.generation, std::move(fd));
    return;
  }
  if (message.kind == KeeperMessage::snapshot || message.kind == KeeperMessage::refresh ||
      message.kind == KeeperMessage::refresh_all) {
    const Status taken = message.kind == KeeperMessage::refresh_all
                             ? snapshots_.take_all(fd)
                             : snapshots_.take(fd, message.kind == KeeperMessage::refresh);
    if (!taken) {
      log::warn("run: {}", taken.error().text());
    }
    fd = UniqueFd();  // before the program goes on, and maybe runs the file
    let_go(message.buffer);
    return;
  }
  if (message.kind == KeeperMessage::drop) {
    let_go(message.buffer);
    return;
  }
  if (message.kind == KeeperMessage::hold) {
    hold(message, std::move(fd));
  }
  watch(message.process);
}

// Without a descriptor where we have too many already: then it is refused.
void Keeper::hold(const KeeperMessage& message, UniqueFd fd) {
  Buffer& buffer = area_.all_buffers()[message.buffer];
  std::uint32_t asked = 1;
  if (buffer.generation == message.generation && buffer.held.compare_exchange_strong(asked, fd ? 2 : 0)) {
    if (fd) {
      if (buffer.leased && fcntl(fd.get(), F_GETLEASE) != F_WRLCK) {
        broken_.insert(message.buffer);  // we were told before we knew of what
      }
      held_[message.buffer] = {.fd = std::move(fd), .generation = message.generation};
    }
    wake(buffer);
  }
}

void Keeper::let_go(std::uint32_t index) {
  held_.erase(index);
  broken_.erase(index);
  Buffer& buffer = area_.all_buffers()[index];
  buffer.held = 0;
  wake(buffer);
}

void Keeper::watch(pid_t process) {
  if (watched_.contains(process)) {
    return;
  }
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (fd || errno != ESRCH) {
    watched_.emplace(process, std::move(fd));
  } else {
    write_all_of(process);  // it has ended already
  }
}

void Keeper::look_for_leases() {
  signalfd_siginfo one{};
  bool told = false;
  while (read(signals_.get(), &one, sizeof one) == sizeof one) {
    told = true;
    give_on(one);
  }
  std::vector<std::uint32_t> left;
  for (auto& [index, held] : held_) {
    if (told && area_.all_buffers()[index].held == 3) {
      left.push_back(index);
    } else if (told && area_.all_buffers()[index].leased && fcntl(held.fd.get(), F_GETLEASE) != F_WRLCK) {
      broken_.insert(index);
    }
  }
  for (const std::uint32_t index : left) {
    let_go(index);
  }
}

void Keeper::retire_broken() {
  for (const std::uint32_t index : std::set<std::uint32_t>(broken_)) {
    if (retire(index, soon)) {
      broken_.erase(index);
    }
  }
}

bool Keeper::retire(std::uint32_t index, int most) {
  Buffer& buffer = area_.all_buffers()[index];
  const auto held = held_.find(index);
  if (lock_buffer(buffer, gettid(), most) == Locked::no) {
    return false;
  }
  const int fd =
      held == held_.end() || held->second.generation != buffer.generation ? -1 : held->second.fd.get();
  if (buffer.block != 0 && (buffer.generation & 1) != 0) {
    const bool alive = is_alive(buffer);
    // Only by what was handed over for this buffer. A name may be gone, or another's, or forged.
    if (buffer.length > 0 && fd >= 0) {
      Recovered done = put_down(area_, buffer, fd, alive);
      // What could not be done now is tried again at the end, or by who has it open.
      const bool again = done.outcome == Recovered::Outcome::failed && area_.over == 0;
      if (!again && done.outcome != Recovered::Outcome::written &&
          done.outcome != Recovered::Outcome::there) {
        odd_.push_back(std::move(done));
      }
    }
    if (const std::int64_t position = buffer.position; fd >= 0 && position >= 0) {
      lseek(fd, position, SEEK_SET);
      buffer.position = -1;
    }
    if (fd >= 0) {
      fcntl(fd, F_SETLEASE, F_UNLCK);
      fcntl(fd, F_SETSIG, 0);
      f_owner_ex nobody{.type = F_OWNER_PID, .pid = 0};
      fcntl(fd, F_SETOWN_EX, &nobody);
      buffer.leased = false;
    }
    // Who has it open and keeps its position here goes on, with nothing in it.
    if (buffer.length == 0 && (fd >= 0 || buffer.position < 0)) {
      buffer.retired = true;
      area_.give_block_back(buffer);
      if (!alive) {
        Area::give_back(buffer);
      }
    }
  }
  unlock_buffer(buffer);
  if (held != held_.end()) {
    let_go(index);
  }
  return true;
}

// Somebody who lives is in the middle of a call with it, and does not go on.
void Keeper::tell_stuck(const Buffer& buffer) {
  if ((buffer.generation & 1) != 0 && buffer.block != 0 && buffer.length > 0) {
    odd_.push_back({.outcome = Recovered::Outcome::failed,
                    .path = area_.head_of(buffer).path.data(),
                    .put = "",
                    .offset = buffer.base,
                    .bytes = buffer.length,
                    .why = "a process is in the middle of a call"});
  }
}

void Keeper::look_for_dead() {
  std::vector<pid_t> dead;
  for (const auto& [process, fd] : watched_) {
    pollfd one{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (fd ? poll(&one, 1, 0) == 1 : process_start(process) == 0) {
      dead.push_back(process);
    }
  }
  for (const pid_t process : dead) {
    watched_.erase(process);
    write_all_of(process);
  }
}

void Keeper::write_all_of(pid_t process) {
  const std::span<Buffer> all = area_.all_buffers();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if ((all[i].generation & 1) != 0 && all[i].process == process && all[i].block != 0 && !retire(i, soon)) {
      broken_.insert(i);
    }
  }
}

void Keeper::break_all() {
  const std::span<Buffer> all = area_.all_buffers();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if ((all[i].generation & 1) != 0 && all[i].block != 0) {
      broken_.insert(i);
    }
  }
}

void Keeper::settle() {
  if (!thread_.joinable()) {
    return;
  }
  {
    std::unique_lock guard(mutex_);
    settling_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = write(poke_.get(), &one, sizeof one);
    settled_.wait_for(guard, std::chrono::seconds(1), [this] { return !settling_; });
  }
  mover_.settle();
}

std::vector<Recovered> Keeper::finish() {
  area_.over = 1;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(stop_.get(), &one, sizeof one);
  thread_.join();
  receive();
  break_all();
  const double deadline = steady_seconds() + patience;
  while (!broken_.empty() && steady_seconds() < deadline) {
    receive();
    retire_broken();
  }
  for (const std::uint32_t index : std::exchange(broken_, {})) {
    tell_stuck(area_.all_buffers()[index]);
  }
  held_.clear();
  for (const std::string& problem : snapshots_.put_back()) {
    log::warn("run: {}", problem);
  }
  for (Recovered& left : mover_.finish()) {
    odd_.push_back(std::move(left));
  }
  return std::exchange(odd_, {});
}

}  // namespace sluice
