#include "run/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "base/clock.h"
#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"
#include "pipeline/process.h"

namespace sluice {
namespace {

// Those that one process sends another; then those that a terminal sends to all of its foreground group, the
// program included. The last three would stop us at once: we stop when the program has, and what it kept back
// is written. Not where somebody else attends to that.
constexpr std::array plain_ones = {SIGURG,    SIGPIPE, SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,   SIGALRM,
                                   SIGABRT,   SIGTRAP, SIGILL,  SIGFPE,  SIGBUS,  SIGSEGV,   SIGSYS,
                                   SIGSTKFLT, SIGPROF, SIGXCPU, SIGPWR,  SIGIO,   SIGVTALRM, SIGWINCH,
                                   SIGCONT,   SIGINT,  SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
constexpr std::size_t stopping = 3;
// As the kernel numbers them, without the two that are libc's own.
constexpr int first_real_time = 34;
constexpr std::size_t real_time = 64 - first_real_time + 1;
constexpr auto passed_on = [] {
  std::array<int, real_time + plain_ones.size()> out = {};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = i < real_time ? first_real_time + static_cast<int>(i) : plain_ones[i - real_time];
  }
  return out;
}();
std::array<struct sigaction, passed_on.size()> known = {};  // what was done with them before

void (*inherited_size_signal)(int) = SIG_DFL;

std::atomic<pid_t> child = 0;
std::atomic<pid_t> watcher = -1;  // of a program that is stopped

void pass_on(int signal, siginfo_t* info, void*) {
  // A terminal's reach the whole group, the program's own are no news to it. One that somebody sends to the
  // group it gets twice: nothing tells those from one that was meant for us.
  const pid_t to = child.load();
  const bool sent = info->si_code <= 0;
  // A fault of our own.
  if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP ||
      signal == SIGSYS) {
    if (!sent) {
      ::signal(signal, SIG_DFL);
      raise(signal);
      return;
    }
  }
  if (to > 0 && sent) {
    // Our own is what abort() sends, and the kernel where nobody reads what we say.
    if (info->si_pid == to || info->si_pid == watcher.load() || info->si_pid == getpid()) {
      return;
    }
    if (info->si_code == SI_QUEUE) {
      sigqueue(to, signal, info->si_value);
    } else {
      kill(to, signal);
    }
  } else if (signal == SIGTTOU && !sent) {
    raise(SIGSTOP);  // a write of our own, which would be tried for ever
  }
  // Whoever waited for it before is told.
  for (std::size_t i = 0; i < known.size(); ++i) {
    const bool plain = (known[i].sa_flags & SA_SIGINFO) == 0;
    if (passed_on[i] == signal && plain && known[i].sa_handler != SIG_DFL && known[i].sa_handler != SIG_IGN) {
      known[i].sa_handler(signal);
    }
  }
}

// Those by which somebody wants us to end, while there is something to finish.
constexpr std::array ending = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};
bool unhurried = false;
std::atomic<std::int64_t> hurried = 0;  // when

// What somebody does once may be several: a terminal that is closed, `timeout`.
constexpr std::int64_t at_once = 1000000000;

void put_off(int signal) {
  const int saved = errno;
  const std::int64_t now = nanoseconds_of(CLOCK_MONOTONIC);
  std::int64_t first = 0;
  if (!hurried.compare_exchange_strong(first, now)) {
    if (now - first > at_once) {
      ::signal(signal, SIG_DFL);
      raise(signal);
    }
    errno = saved;
    return;
  }
  constexpr std::string_view text =
      "sluice: the program has ended, and what it left is brought to where it belongs; once more ends this, "
      "and `sluice recover` does it later\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  errno = saved;
}

// What the signals were, put back at the end.
class Signals {
 public:
  explicit Signals(bool stops) {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    // Also those that are ignored: the program may have a handler of its own. Of those that a terminal sends,
    // one that somebody sent to us alone is for the program.
    static bool again = false;
    for (std::size_t i = 0; i < passed_on.size(); ++i) {
      if (!again || passed_on[i] != SIGPIPE) {
        sigaction(passed_on[i], nullptr, &known[i]);
      }
      if (stops || i + stopping < passed_on.size()) {
        sigaction(passed_on[i], &action, nullptr);
      }
    }
    again = true;
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  // What is said at the end may have no reader, and the program's status counts all the same.
  ~Signals() {
    end();
    signal(SIGPIPE, SIG_IGN);
  }

  static void restore() {
    for (std::size_t i = 0; i < passed_on.size(); ++i) {
      sigaction(passed_on[i], &known[i], nullptr);
    }
  }
  // In one step for each, so that none gets through in between.
  static void end() {
    struct sigaction wait {};
    wait.sa_handler = put_off;
    wait.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < passed_on.size(); ++i) {
      const bool waits = unhurried && known[i].sa_handler == SIG_DFL &&
                         std::find(ending.begin(), ending.end(), passed_on[i]) != ending.end();
      sigaction(passed_on[i], waits ? &wait : &known[i], nullptr);
    }
  }
};

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment, int failed) {
  std::vector<char*> words;
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  execvp(words[0], words.data());
  const int number = errno;
  [[maybe_unused]] const ssize_t told = write(failed, &number, sizeof number);
  _exit(127);
}

// We may have a duplicate of each file that the program has open; its own limit is what it was.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// Stops us until somebody lets us go on, or the program alone: a process of its own looks for that.
void stop_with(pid_t pid) {
  const pid_t self = getpid();
  watcher = fork();
  if (watcher == 0) {
    child = 0;
    signal(SIGTSTP, SIG_IGN);
    close_range(0, ~0U, 0);
    while (getppid() == self && (!is_stopped(self) || is_stopped(pid))) {
      usleep(10000);
    }
    if (getppid() == self) {
      kill(self, SIGCONT);
    }
    _exit(0);
  }
  raise(SIGSTOP);
  if (watcher > 0) {
    kill(watcher, SIGKILL);
    while (waitpid(watcher, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (is_stopped(pid)) {
    kill(pid, SIGCONT);
  }
}

Result<int> wait_for(pid_t pid, const std::function<void()>& before_stop, rusage& used) {
  int status = 0;
  for (;;) {
    const pid_t found = wait4(pid, &status, WUNTRACED, &used);
    if (found == pid && WIFSTOPPED(status)) {  // so are we, until somebody lets both go on
      if (before_stop) {
        before_stop();
      }
      stop_with(pid);
    } else if (found == pid) {
      return status;
    } else if (errno != EINTR) {
      return Errno().fail("cannot wait for the program");
    }
  }
}

}  // namespace

Result<std::string> preload_library() {
  constexpr std::string_view name = "libsluice-preload.so";
  SLUICE_TRY(const std::string program, own_program());
  const std::string folder = folder_of(program);
  for (const std::string& beside : {folder + "/../lib", folder + "/../" SLUICE_LIBDIR}) {
    const std::string path = fmt::format("{}/{}", beside, name);
    if (sys().access(path.c_str(), R_OK) == 0) {
      std::string whole = absolute(path, "/");
      if (whole.find_first_of(" \t\n:") != std::string::npos) {
        return fail(fmt::format("{} cannot be preloaded: its path has a blank or a colon", quote(whole)),
                    "install Sluice elsewhere");
      }
      return whole;
    }
  }
  return fail(fmt::format("{} is not beside this program", name), "install Sluice as a whole");
}

void ignore_size_signal() {
  inherited_size_signal = signal(SIGXFSZ, SIG_IGN);
}

Unhurried::Unhurried() {
  hurried = 0;
  unhurried = true;
}

Unhurried::~Unhurried() {
  unhurried = false;
  Signals::end();
  signal(SIGPIPE, SIG_IGN);
}

void pass_nothing_on() {
  child = 0;
}

Result<Ended> launch(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     Attendant* attendant, const std::function<void()>& before_stop) {
  std::array<int, 2> pipe_ends = {};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return Errno().fail("cannot make a pipe");
  }
  const UniqueFd reading(pipe_ends[0]);
  UniqueFd writing(pipe_ends[1]);
  const Signals signals(attendant == nullptr);
  // Who is ignored by its parent cannot be waited for.
  struct sigaction inherited_child {};
  struct sigaction waited {};
  waited.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &waited, &inherited_child);
  const double start = steady_seconds();
  // Nothing is passed on before there is somebody to pass it to.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    signals.restore();
    signal(SIGXFSZ, inherited_size_signal);
    sigaction(SIGCHLD, &inherited_child, nullptr);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (attendant != nullptr) {
      attendant->prepare();
    }
    become(command, environment, writing.get());
  }
  const Errno trouble;
  child = pid > 0 ? pid : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    return trouble.fail("cannot start another process");
  }
  raise_descriptor_limit();
  writing = UniqueFd();
  Ended out;
  if (attendant != nullptr) {
    const Result<int> status = attendant->attend(pid);
    pass_nothing_on();
    if (!status) {
      return status.error();
    }
    out.status = *status;
  }
  int number = 0;
  ssize_t told = 0;
  while ((told = read(reading.get(), &number, sizeof number)) < 0 && errno == EINTR) {
  }
  if (attendant == nullptr) {
    constexpr std::uint64_t block = 512;
    rusage used{};
    SLUICE_TRY(out.status, wait_for(pid, before_stop, used));
    out.fetched = static_cast<std::uint64_t>(used.ru_inblock) * block;
    pass_nothing_on();
  }
  if (told == sizeof number) {
    return fail(number, fmt::format("cannot run {}", quote(command.front())));
  }
  out.seconds = steady_seconds() - start;
  return out;
}

int exit_status(const Ended& ended) {
  return WIFSIGNALED(ended.status) ? 128 + WTERMSIG(ended.status) : WEXITSTATUS(ended.status);
}

}  // namespace sluice
