#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/text.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 7> folders = {
    "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/lpp/mmfs/bin"};

// posix_spawn's two descriptions, freed together.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

int spawn(const std::string& path, const std::vector<std::string>& words, int output, Errors errors) {
  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.files, output, 1);
  if (errors == Errors::keep) {
    posix_spawn_file_actions_adddup2(&plan.files, output, 2);
  } else {
    posix_spawn_file_actions_addopen(&plan.files, 2, "/dev/null", O_WRONLY, 0);
  }
  // A tool that gets stuck must not hold the caller's files, pipes and locks.
  posix_spawn_file_actions_addclosefrom_np(&plan.files, 3);

  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGQUIT, SIGHUP}) {
    sigaddset(&defaults, number);
  }
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &defaults);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  // Its own small environment: nothing of the user's can change what a tool prints.
  std::array<std::string, 3> environment = {"LC_ALL=C", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/"};
  std::array<char*, 4> variables = {environment[0].data(), environment[1].data(), environment[2].data(),
                                    nullptr};
  pid_t pid = -1;
  const int fault =
      posix_spawn(&pid, path.c_str(), &plan.files, &plan.attributes, arguments.data(), variables.data());
  return fault == 0 ? pid : -1;
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 60'000));
}

// A name or an absolute path -> the path, or "".
std::string find_program(std::string_view name) {
  if (name.starts_with('/')) {
    return sys().access(std::string(name).c_str(), X_OK) == 0 ? std::string(name) : std::string{};
  }
  for (const std::string_view folder : folders) {
    std::string path = std::string(folder).append("/").append(name);
    if (!name.empty() && sys().access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return {};
}

}  // namespace

std::string find_tool(ToolName tool) {
  return find_program(tool.text());
}

Subprocess Subprocess::start(const Command& command, std::size_t limit, Errors errors) {
  Subprocess out;
  out.limit_ = limit;
  const std::string path = find_program(command.program());
  int ends[2];
  if (path.empty() || pipe2(ends, O_CLOEXEC) != 0) {
    return out;
  }
  out.output_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  // Non-blocking at our end only; both ends have their own description.
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) {
    out.pid_ = spawn(path, command.words(), theirs.get(), errors);
  }
  out.outcome_.found = out.pid_ > 0;
  return out;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : output_(std::move(other.output_)),
      pid_(std::exchange(other.pid_, -1)),
      limit_(other.limit_),
      outcome_(std::move(other.outcome_)) {}

Subprocess::~Subprocess() {
  kill_group();
  reap();
}

void Subprocess::drain() {
  char buffer[16384];
  for (;;) {
    const ssize_t got = sys().read(output_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    if (got <= 0) {
      output_.reset();
      return;
    }
    const std::size_t room = limit_ - std::min(limit_, outcome_.output.size());
    outcome_.output.append(buffer, std::min(room, static_cast<std::size_t>(got)));
    outcome_.truncated = outcome_.truncated || static_cast<std::size_t>(got) > room;
  }
}

void Subprocess::reap() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) {
    return;
  }
  pid_ = -1;
  outcome_.finished = true;
  outcome_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Subprocess::kill_group() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
  }
}

std::vector<Outcome> Subprocess::finish(std::vector<Subprocess> all,
                                        std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Subprocess*> owners;
    bool exiting = false;  // its output is closed but it has not ended yet
    for (Subprocess& one : all) {
      if (one.output_) {
        waiting.push_back({.fd = one.output_.get(), .events = POLLIN, .revents = 0});
        owners.push_back(&one);
      } else {
        one.reap();
        exiting = exiting || one.pid_ > 0;
      }
    }
    const int left = milliseconds_until(deadline);
    if ((waiting.empty() && !exiting) || left == 0) {
      break;
    }
    if (poll(waiting.data(), waiting.size(), exiting ? 1 : left) < 0 && errno != EINTR) {
      break;
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) {
        owners[i]->drain();
      }
    }
  }
  std::vector<Outcome> out;
  for (Subprocess& one : all) {
    // A tool whose own child still holds the pipe has ended all the same.
    one.reap();
    one.kill_group();
    out.push_back(one.outcome_);
  }
  // Killed processes end within a moment and would else stay behind as zombies; one that is stuck in the
  // kernel does not end, and is not waited for.
  for (int i = 0; i < 50; ++i) {
    std::for_each(all.begin(), all.end(), [](Subprocess& one) { one.reap(); });
    if (std::all_of(all.begin(), all.end(), [](const Subprocess& one) { return one.pid_ <= 0; })) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return out;
}

Result<std::string> run_tool(const Command& command, Duration limit) {
  std::vector<Subprocess> one;
  one.push_back(Subprocess::start(command, std::size_t{4} << 20, Errors::keep));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit.in_milliseconds());
  Outcome outcome = std::move(Subprocess::finish(std::move(one), deadline).front());
  if (!outcome.found) {
    return not_installed(command.program());
  }
  const std::string line = join(command.words(), " ");
  if (!outcome.finished) {
    return fail(fmt::format("{} did not end within {}", line, print(limit)));
  }
  if (outcome.status != 0) {
    std::string_view said = trim(outcome.output);
    if (const std::size_t error = said.rfind("ERROR"); error != std::string_view::npos) {
      said = said.substr(0, said.find('\n', error));
    }
    return fail(fmt::format("{} failed: {}", line,
                            said.empty() ? fmt::format("exit status {}", outcome.status)
                                         : escape(said.substr(said.rfind('\n') + 1))));
  }
  return std::move(outcome.output);
}

}  // namespace sluice
