#include "places/probe.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>

#include "places/probe_child.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// A child that has answered nothing for this long is taken as stuck, and others go on in its stead.
constexpr std::chrono::milliseconds patience{20};
// So many mounts are worth a child of their own from the start, when there are processors for them.
constexpr std::size_t fair_share = 200;
constexpr std::size_t most_at_start = 4;
// So many children may be stuck before the rest of the mounts is given up.
constexpr std::size_t most_children = 256;

// The board and its slots, in memory that forked children share.
class SharedBoard {
 public:
  explicit SharedBoard(std::size_t count) : size_(slots_at + count * sizeof(ProbeSlot)) {
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ != MAP_FAILED) {
      auto* start = static_cast<std::byte*>(memory_);
      board_ = std::construct_at(static_cast<ProbeBoard*>(memory_));
      auto* first = static_cast<ProbeSlot*>(static_cast<void*>(start + slots_at));
      std::uninitialized_value_construct_n(first, count);
      slots_ = {first, count};
    }
  }
  // A child that is stuck goes on holding its own copy of the mapping.
  ~SharedBoard() {
    if (memory_ != MAP_FAILED) {
      munmap(memory_, size_);
    }
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;

  explicit operator bool() const { return board_ != nullptr; }
  [[nodiscard]] ProbeBoard& board() const { return *board_; }
  [[nodiscard]] std::span<ProbeSlot> slots() const { return slots_; }

 private:
  static constexpr std::size_t slots_at = 64;
  static_assert(sizeof(ProbeBoard) <= slots_at && alignof(ProbeSlot) <= slots_at);
  std::size_t size_;
  void* memory_ = nullptr;
  ProbeBoard* board_ = nullptr;
  std::span<ProbeSlot> slots_;
};

class Probe {
 public:
  Probe(std::span<const Question> questions, const SharedBoard& shared)
      : questions_(questions), board_(shared.board()), slots_(shared.slots()) {}
  ~Probe() { end_children(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void run(Clock::time_point deadline, const Waiting& waiting) {
    std::uint32_t before = 0;
    Clock::time_point progress = Clock::now();
    fork_children(std::min(1 + slots_.size() / fair_share, most_at_start));
    while (board_.ended + crashed_ < started_ && Clock::now() < deadline) {
      wait_for_an_end(std::min<Clock::duration>(patience, deadline - Clock::now()));
      reap();
      const Clock::time_point now = Clock::now();
      if (waiting && board_.ended + crashed_ < started_) {
        waiting(fmt::format("waiting for {} of {} mounts", slots_.size() - board_.answered, slots_.size()));
      }
      if (const std::uint32_t answered = board_.answered; answered != before) {
        before = answered;
        progress = now;
      }
      if (board_.next < slots_.size() && (children_.empty() || now - progress >= patience)) {
        // As many again as are stuck: a server that is gone takes all its mounts with it.
        fork_children(std::max<std::size_t>(children_.size(), 1));
        progress = now;
      }
    }
  }

 private:
  void fork_children(std::size_t count) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    // The caller's signal handlers must not run in the child.
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (std::size_t i = 0; i < count && started_ < most_children; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        run_probe_child(board_, slots_, questions_);
        _exit(0);
      }
      if (pid > 0) {
        children_.push_back(pid);
        ++started_;
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void wait_for_an_end(Clock::duration time) {
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    if (board_.ended == seen_ended_ && nanoseconds > 0) {
      const timespec limit{.tv_sec = 0, .tv_nsec = static_cast<long>(nanoseconds)};
      syscall(SYS_futex, &board_.ended, FUTEX_WAIT, seen_ended_, &limit, nullptr, 0);
    }
    seen_ended_ = board_.ended;
  }

  void reap() {
    std::erase_if(children_, [this](pid_t pid) {
      int status = 0;
      const pid_t ended = waitpid(pid, &status, WNOHANG);
      crashed_ += ended == pid && WIFSIGNALED(status) ? 1U : 0U;
      // ECHILD: the caller ignores SIGCHLD or reaps everything itself; then it is gone as well.
      return ended == pid || (ended < 0 && errno == ECHILD);
    });
  }

  // Kills those that are stuck. They may stay in the kernel until their mount answers; nobody waits for that.
  void end_children() {
    for (const pid_t pid : children_) {
      kill(pid, SIGKILL);
    }
    constexpr int tries = 500;  // 50 ms
    for (int i = 0; i < tries && !children_.empty(); ++i) {
      reap();
      if (!children_.empty()) {
        usleep(100);
      }
    }
  }

  std::span<const Question> questions_;
  ProbeBoard& board_;
  std::span<ProbeSlot> slots_;
  std::vector<pid_t> children_;
  std::uint32_t started_ = 0;
  std::uint32_t crashed_ = 0;
  std::uint32_t seen_ended_ = 0;
};

std::string uuid_text(const unsigned char (&bytes)[16]) {
  std::string out;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  }
  return out;
}

void take_quota(const ProbeSlot& slot, Answer& out) {
  static constexpr std::string_view kinds[] = {"user", "group", "project"};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    const ProbeSlot::Limit& limit = slot.limits[i];
    const std::uint64_t left = limit.limit - std::min(limit.limit, limit.used);
    if (limit.known && (!out.quota || left < out.quota->left)) {
      out.quota =
          Quota{.limit = limit.limit, .left = left, .whose = fmt::format("{} {}", kinds[i], limit.id)};
    }
  }
}

Answer read_slot(const ProbeSlot& slot, const Question& question, Duration timeout) {
  Answer out;
  const ProbeStage stage = slot.stage;
  if (stage != ProbeStage::answered) {
    out.note = stage == ProbeStage::taken
                   ? fmt::format("no answer within {}", print(timeout))
                   : "not asked, too many others do not answer or no process could be started";
    return out;
  }
  out.is_folder = slot.is_folder;
  if (slot.fault != 0) {
    char buffer[128];
    out.reach = slot.fault == EACCES || slot.fault == EPERM ? Reach::denied : Reach::unreachable;
    out.note = strerror_r(slot.fault, buffer, sizeof buffer);
    return out;
  }
  out.reach = Reach::reachable;
  out.read_only = slot.read_only;
  out.writable = slot.writable;
  out.transfer = slot.transfer;
  out.block = slot.block;
  out.blocks = slot.blocks;
  out.available = slot.available;
  if (slot.usable > 0) {
    out.usable = question.folders[static_cast<std::size_t>(slot.usable) - 1];
  }
  if (slot.has_uuid) {
    out.uuid = uuid_text(slot.uuid);
  } else if (slot.has_text_uuid.load(std::memory_order_acquire)) {
    out.uuid = slot.text_uuid;
  }
  take_quota(slot, out);
  return out;
}

}  // namespace

std::vector<Answer> probe_mounts(std::span<const Question> questions, Duration timeout,
                                 const Waiting& waiting) {
  if (questions.empty()) {
    return {};
  }
  const auto deadline = Clock::now() + std::chrono::seconds(timeout.whole_seconds()) +
                        std::chrono::nanoseconds(timeout.nanoseconds());
  const SharedBoard shared(questions.size());
  if (!shared) {
    return std::vector<Answer>(questions.size(), Answer{.note = "not asked, out of memory"});
  }
  {
    Probe probe(questions, shared);
    probe.run(deadline, waiting);
  }
  std::vector<Answer> out;
  out.reserve(questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    out.push_back(read_slot(shared.slots()[i], questions[i], timeout));
  }
  return out;
}

}  // namespace sluice
