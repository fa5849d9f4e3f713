#include "lab/calibrate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "lab/service.h"
#include "lab/store.h"

namespace sluice::lab {
namespace {

constexpr int rounds = 100;

// Hiccups of the machine, of which a busy one has many, do not move it.
Instant median(std::vector<Instant> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Result<Instant> measure(const std::string& file) {
  // Without root there is no loop device, and the file itself is what people use.
  UniqueFd fd;
  if (auto loop = geteuid() == 0 ? attach_loop(file, true) : Result<LoopDevice>(fail("no loop"))) {
    fd = UniqueFd(sys().open(loop->path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC, 0));
  } else {
    fd = UniqueFd(sys().open(file.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC, 0));
  }
  void* buffer = std::aligned_alloc(block_size, block_size);
  if (!fd || buffer == nullptr) {
    return Errno().fail(fmt::format("cannot open {} to measure its overhead", quote(file)));
  }
  std::vector<Instant> times;
  for (int i = 0; i < rounds; ++i) {
    const Instant start = monotonic_now();
    if (pread(fd.get(), buffer, block_size, 0) != static_cast<ssize_t>(block_size)) {
      return Errno().fail(fmt::format("cannot read {} to measure its overhead", quote(file)));
    }
    times.push_back(monotonic_now() - start);
  }
  std::free(buffer);
  const auto kept = Instant(static_cast<Instant::rep>(calibration_latency * 1e9));
  return std::max(median(std::move(times)) - kept, Instant::zero());
}

}  // namespace

Result<UniqueFd> start_calibration(const std::string& file, const std::function<void()>& in_child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Errno().fail("cannot make a pipe");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // A grandchild, so that nobody has to wait for it.
  const int pid = fork();
  if (pid < 0) {
    return Errno().fail("cannot start a process");
  }
  if (pid == 0) {
    if (fork() == 0) {
      in_child();
      const auto result = measure(file);
      const std::string text = result ? fmt::format("{}", result->count()) : result.error().text();
      [[maybe_unused]] const ssize_t done = sys().write(theirs.get(), text.data(), text.size());
    }
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  return ours;
}

Result<Instant> read_calibration(int fd) {
  char buffer[1024];
  const ssize_t got = sys().read(fd, buffer, sizeof buffer - 1);
  const std::string text(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    return fail(text.empty() ? "the overhead could not be measured" : text);
  }
  return Instant(value);
}

}  // namespace sluice::lab
