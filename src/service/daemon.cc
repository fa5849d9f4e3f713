#include "service/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error_json.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

namespace sluice::service {
namespace {

void say(int fd, std::string_view text) {
  // The parent may be gone; nobody is left to hear that.
  [[maybe_unused]] const ssize_t done = sys().write(fd, text.data(), text.size());
}

// No terminal, standard error into the log.
Status leave_terminal(const ServerFolder& server) {
  setsid();
  const UniqueFd null(sys().open("/dev/null", O_RDWR | O_CLOEXEC, 0));
  const std::string path = server.file("log");
  const UniqueFd log(sys().open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!null || !log) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  dup2(null.get(), STDIN_FILENO);
  dup2(null.get(), STDOUT_FILENO);
  dup2(log.get(), STDERR_FILENO);
  return chdir("/") == 0 ? Status{} : Errno().fail("cannot enter /");
}

// What the parent has open is not the server's: a loop device that it held would never be let go.
void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  constexpr unsigned first = STDERR_FILENO + 1;
  if (low > first) {
    close_range(first, low - 1, 0);
  }
  if (high > low + 1) {
    close_range(low + 1, high - 1, 0);
  }
  close_range(high + 1, ~0U, 0);
}

[[noreturn]] void child(const ServerFolder& server, UniqueFd& lock, UniqueFd& pipe,
                        const std::function<Status(const Ready&)>& serve) {
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, server.process_name().c_str());
  close_all_but(lock.get(), pipe.get());
  Status status = leave_terminal(server);
  if (status) {
    Result<UniqueFd> claim = server.claim();
    status = claim ? serve([&] {
      say(pipe.get(), "{}");
      pipe.reset();
      lock.reset();
    })
                   : Status(claim.error());
  }
  if (!status) {
    log::error("{}: {}", server.name(), status.error().text());
    if (pipe) {
      say(pipe.get(), write_json(error_json(status.error())));
    }
  }
  _exit(status ? 0 : 1);
}

Result<int> read_report(int fd, int pid, const ServerFolder& server) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = sys().read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
  const Json json = parse_json(text);
  if (json.is_object() && json.empty()) {
    return pid;
  }
  waitpid(pid, nullptr, 0);
  const auto error = error_in(json);
  if (!error) {
    const auto log = read_file(server.file("log"), std::size_t{1} << 20);
    return fail(fmt::format("the server of {} died while it started", quote(server.name())),
                log && !log->empty() ? fmt::format("it said: {}", escape(trim(*log))) : "it said nothing");
  }
  return *error;
}

}  // namespace

Result<int> start_server(const ServerFolder& server, UniqueFd& lock,
                         const std::function<Status(const Ready&)>& serve) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Errno().fail("cannot make a pipe");
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const int pid = fork();
  if (pid < 0) {
    return Errno().fail("cannot start a process");
  }
  if (pid == 0) {
    child(server, lock, theirs, serve);
  }
  theirs.reset();
  return read_report(ours.get(), pid, server);
}

Status serve_here(const ServerFolder& server, UniqueFd& lock,
                  const std::function<Status(const Ready&)>& serve) {
  SLUICE_TRY(const UniqueFd claim, server.claim());
  return serve([&] { lock.reset(); });
}

Status end_server(const ServerFolder& server, Duration patience) {
  constexpr int a_second = 50;
  const int ask_times = static_cast<int>(patience.whole_seconds()) * a_second;
  const int kill_times = ask_times + 4 * a_second;
  for (int i = 0; i < kill_times; ++i) {
    const int pid = server.server();
    if (pid <= 0) {
      return {};
    }
    if (i == 0 || i == ask_times) {
      kill(pid, i == 0 ? SIGTERM : SIGKILL);
      kill(pid, SIGCONT);  // where somebody stopped it
    }
    waitpid(pid, nullptr, WNOHANG);  // where it is our own child
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return fail(
      fmt::format("the server of {} (process {}) does not end", quote(server.name()), server.server()),
      "it is stuck in the kernel; see its stack in /proc");
}

}  // namespace sluice::service
