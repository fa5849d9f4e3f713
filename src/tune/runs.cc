#include "tune/runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"
#include "run/account.h"

namespace sluice {
namespace {

constexpr const char* caches = "/proc/sys/vm/drop_caches";

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> out;
  const std::string tasks = fmt::format("/proc/{}/task", process);
  const auto threads = list_folder(tasks);
  for (const std::string& thread : threads ? *threads : std::vector<std::string>()) {
    const auto text = read_file(fmt::format("{}/{}/children", tasks, thread));
    for (const std::string_view child : text ? split_blanks(*text) : std::vector<std::string_view>()) {
      if (const auto id = parse_count(child); id && *id > 1) {
        out.push_back(static_cast<pid_t>(*id));
      }
    }
  }
  return out;
}

// All that a process has started. Each is stopped first, so that it cannot start another meanwhile.
void end_below(pid_t process) {
  for (const pid_t child : children_of(process)) {
    kill(child, SIGSTOP);
    end_below(child);
    kill(child, SIGKILL);
  }
}

// What a program that was ended has left: whatever lost its parent became our child. Not those that were
// there before: whoever became us by exec() may have had some.
void end_orphans(const std::vector<pid_t>& others) {
  constexpr int most_rounds = 100;  // what is stuck in the kernel is left behind
  const timespec nap{.tv_sec = 0, .tv_nsec = 10'000'000};
  bool any = true;
  for (int i = 0; any && i < most_rounds; ++i) {
    any = false;
    for (const pid_t child : children_of(getpid())) {
      if (std::find(others.begin(), others.end(), child) != others.end()) {
        continue;
      }
      any = true;
      kill(child, SIGSTOP);
      end_below(child);
      kill(child, SIGKILL);
      waitpid(child, nullptr, WNOHANG);
    }
    if (any) {
      nanosleep(&nap, nullptr);
    }
  }
}

// Waits for a process for so long, and then ends what it runs: `sluice run` itself must live on, for it has
// to finish what the program left behind.
class Patience : public Attendant {
 public:
  Patience(double limit, bool has_program)
      : limit_(limit), has_program_(has_program), others_(children_of(getpid())) {}

  void prepare() override {}

  Result<int> attend(pid_t program) override {
    const UniqueFd watched(static_cast<int>(syscall(SYS_pidfd_open, program, 0)));
    const double start = steady_seconds();
    constexpr double grace = 5;
    while (watched) {
      const double left = (asked_ == 0 ? start + limit_ : asked_ + grace) - steady_seconds();
      pollfd one{.fd = watched.get(), .events = POLLIN, .revents = 0};
      if (poll(&one, 1, left <= 0 ? 0 : static_cast<int>(std::min(left * 1000 + 1, 1e9))) > 0) {
        break;
      }
      if (asked_ == 0 && left <= 0) {
        asked_ = steady_seconds();
        kill(program, SIGTERM);  // `sluice run` passes it on
      } else if (left <= 0) {
        end_by_force(program);
        asked_ = steady_seconds();
      }
    }
    int status = 0;
    while (waitpid(program, &status, 0) < 0 && errno == EINTR) {
    }
    if (has_ended_it()) {
      end_orphans(others_);
    }
    return status;
  }

  [[nodiscard]] bool has_ended_it() const { return asked_ != 0; }

 private:
  void end_by_force(pid_t process) const {
    if (!has_program_) {
      kill(process, SIGKILL);
    }
    end_below(process);
    kill(process, SIGCONT);  // `sluice run` stops when its program is stopped
  }

  double limit_;
  bool has_program_;           // below it
  std::vector<pid_t> others_;  // children that we had before
  double asked_ = 0;           // when it was asked to end
};

Result<ProgramRun> start(const std::vector<std::string>& words, std::optional<double> limit,
                         bool has_program) {
  ProgramRun out;
  if (!limit) {
    SLUICE_TRY(out.ended, launch(words, {}));
    return out;
  }
  Patience patience(*limit, has_program);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what loses its parent is found by who has to end it
  auto ended = launch(words, {}, &patience);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  SLUICE_TRY(out.ended, ended);
  out.stopped = patience.has_ended_it();
  return out;
}

}  // namespace

bool ProgramRun::is_failure_of_ours() const {
  return exit_status(ended) == failed_itself &&
         (!account->is_object() || account->value("status", 0) != failed_itself);
}

double ProgramRun::program_seconds() const {
  const double out = account->is_object() ? account->value("seconds", ended.seconds) : ended.seconds;
  return std::min(out, ended.seconds);
}

std::string ProgramRun::unseen(const std::vector<std::string>& command) const {
  if (!account->is_object()) {
    return "";
  }
  Account seen;
  seen.processes = account->value("processes", std::uint64_t{0});
  seen.unseen = account->value("unseen", std::uint64_t{0});
  return unseen_text(seen, command);
}

std::uint64_t ProgramRun::bytes() const {
  std::uint64_t out = 0;
  if (account->is_object() && account->contains("files")) {
    for (const Json& file : (*account)["files"]) {
      out += file["read"].value("bytes", std::uint64_t{0}) + file["write"].value("bytes", std::uint64_t{0});
    }
  }
  return out;
}

bool can_drop_caches() {
  return sys().access(caches, W_OK) == 0;
}

Status Runs::look_at_input() {
  struct stat about {};
  if (fstat(STDIN_FILENO, &about) != 0) {
    return {};
  }
  if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode)) {
    return bad_input(
        "standard input is a pipe, which can be read once, and the command runs several times",
        "put what comes into a file and say <FILE, or </dev/null where the command reads nothing");
  }
  if (const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR); at >= 0 && S_ISREG(about.st_mode)) {
    input = at;
  }
  return {};
}

Status Runs::prepare() const {
  if (!before.empty()) {
    SLUICE_TRY(const Ended ended, launch({"/bin/sh", "-c", before}, {}));
    if (exit_status(ended) != 0) {
      return fail(fmt::format("{} ended with status {}", quote(before), exit_status(ended)),
                  "it has to put the outputs back, and end with 0");
    }
  }
  if (input && lseek(STDIN_FILENO, *input, SEEK_SET) < 0) {
    return Errno().fail("cannot go back to where standard input began");
  }
  if (cold) {
    sync();
    const UniqueFd fd(sys().open(caches, O_WRONLY | O_CLOEXEC, 0));
    if (!fd || sys().write(fd.get(), "3", 1) != 1) {
      return Errno()
          .fail("cannot drop the page cache")
          .advise("only root may; --caches keep leaves it as it is");
    }
  }
  return {};
}

Result<ProgramRun> Runs::under(const std::vector<std::string>& options, std::optional<double> limit) const {
  SLUICE_TRY(const std::string self, own_program());
  const std::string account = scratch + "/account.json";
  std::vector<std::string> words = {self, "run", "--quiet", "--only-managed", "--json=" + account};
  words.insert(words.end(), common.begin(), common.end());
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  SLUICE_TRY(ProgramRun out, start(words, limit, true));
  if (const auto text = read_file(account)) {
    out.account = Json::parse(*text, nullptr, false);
  }
  sys().unlink(account.c_str());
  return out;
}

Result<ProgramRun> Runs::natively(std::optional<double> limit) const {
  return start(command, limit, false);
}

}  // namespace sluice
