#include "replay/pool.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "replay/futex.h"

namespace sluice {
namespace {

constexpr std::uint32_t pool_chunks = 8192;  // 64 MiB; each strand that runs needs one of its own on top

}  // namespace

ScriptPool::ScriptPool(UniqueFd fd, Script* script, std::size_t bytes, std::function<Status()> go_on)
    : fd_(std::move(fd)), script_(script), bytes_(bytes), go_on_(std::move(go_on)), last_(script->strands) {
  for (std::uint32_t i = script->chunks; i > 0; --i) {
    free_.push_back(i);
  }
}

ScriptPool::ScriptPool(ScriptPool&& other) noexcept
    : fd_(std::move(other.fd_)),
      script_(std::exchange(other.script_, nullptr)),
      bytes_(other.bytes_),
      go_on_(std::move(other.go_on_)),
      start_(std::move(other.start_)),
      last_(std::move(other.last_)),
      free_(std::move(other.free_)) {}

ScriptPool::~ScriptPool() {
  if (script_ != nullptr) {
    munmap(script_, bytes_);
  }
}

Result<ScriptPool> ScriptPool::make(std::uint32_t strands, std::function<Status()> go_on) {
  const std::uint32_t chunks = pool_chunks + strands;
  const std::size_t bytes = Script::bytes(strands, chunks);
  UniqueFd fd(memfd_create("sluice-replay", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return Errno().fail("cannot make memory that the replaying processes share");
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return Errno().fail("cannot map the memory that the replaying processes share");
  }
  auto* script = new (memory) Script;
  script->feeder = getpid();
  script->strands = strands;
  script->chunks = chunks;
  for (std::uint32_t i = 0; i < strands; ++i) {
    new (&script->strand(i)) StrandState;
  }
  return ScriptPool(std::move(fd), script, bytes, std::move(go_on));
}

std::string ScriptPool::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), fd_.get());
}

Result<std::uint32_t> ScriptPool::take_chunk() {
  if (free_.empty() && start_) {
    SLUICE_CHECK(std::exchange(start_, {})());
  }
  while (free_.empty()) {
    script_->hungry = 1;
    // All that were given back.
    for (std::uint32_t one = script_->free.exchange(0); one != 0; one = script_->chunk(one).next.load()) {
      free_.push_back(one);
    }
    if (free_.empty()) {
      futex_sleep(script_->hungry, 1, 50'000'000);
      SLUICE_CHECK(go_on_());
    }
  }
  const std::uint32_t out = free_.back();
  free_.pop_back();
  StepChunk& chunk = script_->chunk(out);
  chunk.written = 0;
  chunk.next = 0;
  chunk.starving = 0;
  return out;
}

Status ScriptPool::next_chunk(std::uint32_t strand) {
  SLUICE_TRY(const std::uint32_t chunk, take_chunk());
  if (last_[strand] == 0) {
    script_->strand(strand).first.store(chunk, std::memory_order_release);
  } else {
    StepChunk& before = script_->chunk(last_[strand]);
    before.next.store(chunk);
    futex_wake(before.next);
  }
  last_[strand] = chunk;
  return {};
}

Status ScriptPool::put(std::uint32_t strand, Step step, const std::string& path) {
  step.text = path.empty() ? 0 : static_cast<std::uint16_t>(path.size() + 1);
  const auto needed = static_cast<std::uint32_t>(1 + (step.text + sizeof step - 1) / sizeof step);
  if (last_[strand] == 0) {
    SLUICE_CHECK(next_chunk(strand));
  } else if (StepChunk& full = script_->chunk(last_[strand]); full.written + needed > StepChunk::room) {
    // The steps of one thread take another chunk; what is left of this one is said to be nothing.
    const std::uint32_t at = full.written;
    SLUICE_CHECK(next_chunk(strand));
    if (at < StepChunk::room) {
      full.steps[at].kind = Step::pad;
      full.written.store(StepChunk::room, std::memory_order_release);
      futex_wake(full.written);
    }
  }
  StepChunk& chunk = script_->chunk(last_[strand]);
  const std::uint32_t at = chunk.written.load(std::memory_order_relaxed);
  chunk.steps[at] = step;
  if (step.text != 0) {
    std::memcpy(static_cast<void*>(&chunk.steps[at + 1]), path.c_str(), step.text);
  }
  chunk.written.store(at + needed);
  if (chunk.starving.exchange(0) != 0) {
    futex_wake(chunk.written);
  }
  return {};
}

}  // namespace sluice
