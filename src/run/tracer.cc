#include "run/tracer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr long look = 20'000'000;  // nanoseconds, where nobody says that a chunk is full
constexpr double flush_after = 2;  // seconds

bool is_alive(pid_t process, pid_t thread) {
  return syscall(SYS_tgkill, process, thread, 0) == 0 || errno != ESRCH;
}

}  // namespace

Tracer::Tracer(Area& area, TraceWriter writer, std::string path, Settings settings)
    : area_(area),
      trace_(*area.at<AreaTrace>(area.trace)),
      writer_(std::move(writer)),
      path_(std::move(path)),
      hash_paths_(settings.hash_paths) {
  trace_.sites = settings.sites ? 1 : 0;
  std::random_device random;
  salt_ = std::uint64_t{random()} << 32U | random();
}

Tracer::~Tracer() {
  stop_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

Status Tracer::start(const std::vector<std::string>& command) {
  trace_.grows = 1;
  trace_.cycles = can_count_cycles() ? 1 : 0;
  first_tick_ = ticks(trace_);
  first_nanosecond_ = nanoseconds_of(CLOCK_MONOTONIC);
  flushed_ = steady_seconds();
  area_.keeper = getpid();
  Json points = Json::array();
  for (std::uint32_t i = 0; i < trace_.points.count; ++i) {
    points.push_back(trace_.points.names[i].data());
  }
  Json words = Json::array();
  for (const std::string& word : command) {
    words.push_back(escape(word));
  }
  utsname machine{};
  uname(&machine);
  Json about = {{"sluice", SLUICE_VERSION}, {"command", hash_paths_ ? Json::array() : std::move(words)}};
  put_bytes(about, "folder", told(current_folder()));
  about["host"] = machine.nodename;
  about["time"] = std::time(nullptr);
  about["points"] = std::move(points);
  about["hashed"] = hash_paths_;
  SLUICE_CHECK(writer_.begin(about));
  thread_ = std::thread([this] { serve(); });
  return {};
}

void Tracer::note(Status status) {
  if (so_far_ && !status) {
    so_far_ = std::move(status);
    trace_.over = 1;  // nobody waits for us
  }
}

std::int64_t Tracer::nanoseconds_at(std::uint64_t at) const {
  const auto passed = static_cast<std::int64_t>(at - first_tick_);
  return trace_.cycles != 0 ? static_cast<std::int64_t>(static_cast<double>(passed) * tick_) : passed;
}

// Each part of a path by itself, so that what is in one folder stays in one.
std::string Tracer::told(std::string_view path) const {
  if (!hash_paths_) {
    return std::string(path);
  }
  std::string out;
  for (const std::string_view part : split(path, '/')) {
    out += out.empty() && part.empty() ? "" : "/";
    out += part.empty() ? "" : fmt::format("{:016x}", XXH64(part.data(), part.size(), salt_));
  }
  return out;
}

void Tracer::add(const TraceChunk& chunk, const TraceCall& call, std::string_view text) {
  TraceEvent event;
  event.begin = nanoseconds_at(call.begin);
  event.duration = std::max<std::int64_t>(nanoseconds_at(call.end) - event.begin, 0);
  event.offset = call.offset;
  event.length = call.length;
  event.result = call.result;
  event.flags = call.flags;
  event.mode = call.mode;
  event.process = static_cast<std::uint32_t>(chunk.process.load(std::memory_order_relaxed));
  event.thread = static_cast<std::uint32_t>(chunk.thread.load(std::memory_order_relaxed));
  event.file = call.file;
  event.operation = call.operation;
  event.point = call.point;
  const auto next = [&] {
    const std::string_view one = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    return one;
  };
  const auto number_of = [&](const std::string& one) { return one.empty() ? 0 : writer_.number_of(one); };
  event.path = number_of(told(next()));
  event.other = number_of(told(next()));
  event.site = number_of(std::string(next()));
  note(writer_.add(event));
}

// REQUIRES: nobody else takes anything out.
void Tracer::take_from(TraceChunk& chunk) {
  const std::size_t written =
      std::min<std::size_t>(chunk.written.load(std::memory_order_acquire), TraceChunk::room);
  TraceCall call;
  std::string_view text;
  while (chunk.taken_out < written) {
    const std::size_t bytes =
        read_trace(chunk.records.data() + chunk.taken_out, written - chunk.taken_out, call, text);
    if (bytes == 0) {
      break;  // nobody of ours wrote that
    }
    chunk.taken_out += bytes;
    if (so_far_) {
      add(chunk, call, text);
    }
  }
}

// Those that somebody writes to or has filled, each after those that its thread had before. Where a thread
// goes on to another chunk while we look, that one has a turn that we did not know of, and has to wait.
const std::vector<Tracer::Turn>& Tracer::chunks_in_turn() {
  const std::uint64_t last = trace_.turns.load(std::memory_order_acquire);
  turns_.clear();
  for (TraceChunk& chunk : trace_.chunks()) {
    const std::uint64_t turn = chunk.turn.load(std::memory_order_acquire);
    if (turn != 0 && turn <= last) {
      turns_.push_back({.turn = turn, .chunk = &chunk});
    }
  }
  std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) { return a.turn < b.turn; });
  return turns_;
}

void Tracer::take_and_give_back(TraceChunk& chunk) {
  const bool full = chunk.state.load(std::memory_order_acquire) == TraceChunk::full;
  const bool dead =
      !full && trace_.foreign == 0 &&
      !is_alive(chunk.process.load(std::memory_order_relaxed), chunk.thread.load(std::memory_order_relaxed));
  take_from(chunk);
  if (full || dead) {
    chunk.taken_out = 0;
    chunk.written.store(0, std::memory_order_relaxed);
    chunk.process.store(0, std::memory_order_relaxed);
    chunk.thread.store(0, std::memory_order_relaxed);
    chunk.turn.store(0, std::memory_order_relaxed);
    chunk.state.store(TraceChunk::unused, std::memory_order_release);
  }
}

// Twice as many chunks, as long as there is memory for them: without it, whoever writes to one would be ended
// by SIGBUS.
void Tracer::grow() {
  const std::uint32_t count = trace_.chunk_count;
  const std::uint32_t more = std::min(count, AreaTrace::most_chunks - count);
  const UniqueFd fd(sys().open(area_.own_path.data(), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0));
  const std::uint64_t at = area_.trace + AreaTrace::bytes(count);
  if (more == 0 || !fd ||
      posix_fallocate(fd.get(), static_cast<off_t>(at), static_cast<off_t>(more * sizeof(TraceChunk))) != 0) {
    trace_.grows = 0;  // those that are there have to do
    return;
  }
  trace_.chunk_count.store(count + more, std::memory_order_release);
}

void Tracer::take_all() {
  if (!calibrated_ && trace_.cycles != 0) {
    const auto passed = static_cast<double>(nanoseconds_of(CLOCK_MONOTONIC) - first_nanosecond_);
    const auto cycles = static_cast<double>(ticks(trace_) - first_tick_);
    tick_ = cycles > 0 ? passed / cycles : 1;
    calibrated_ = true;
  }
  trace_.taken.store(0, std::memory_order_relaxed);
  for (const Turn& one : chunks_in_turn()) {
    take_and_give_back(*one.chunk);
  }
  const auto is_free = [](const TraceChunk& chunk) { return chunk.state == TraceChunk::unused; };
  const std::span<TraceChunk> chunks = trace_.chunks();
  if (trace_.grows != 0 &&
      static_cast<std::size_t>(std::count_if(chunks.begin(), chunks.end(), is_free)) < chunks.size() / 2) {
    grow();
  }
  if (so_far_ && steady_seconds() - flushed_ > flush_after) {
    note(writer_.flush());
    flushed_ = steady_seconds();
  }
}

void Tracer::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (!stop_) {
    const timespec time{.tv_sec = 0, .tv_nsec = look};
    syscall(SYS_futex, &trace_.wake, FUTEX_WAIT, 0, &time, nullptr, 0);
    trace_.wake = 0;
    take_all();
  }
}

Result<Traced> Tracer::finish(int status, double seconds) {
  trace_.over = 1;
  stop_ = true;
  trace_.wake = 1;
  syscall(SYS_futex, &trace_.wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  thread_.join();
  take_all();
  SLUICE_CHECK(so_far_);
  SLUICE_CHECK(writer_.finish({{"status", status},
                               {"seconds", seconds},
                               {"events", writer_.events()},
                               {"lost", trace_.lost.load()}}));
  return Traced{
      .path = path_, .events = writer_.events(), .bytes = writer_.bytes(), .lost = trace_.lost.load()};
}

}  // namespace sluice
