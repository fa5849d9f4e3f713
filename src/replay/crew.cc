#include "replay/crew.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "intent/rules.h"
#include "run/shared.h"

namespace sluice {
namespace {

constexpr double patience = 10;  // seconds, for those who were asked to end

// The same rules for the files of the replay.
Result<std::string> rules_within(const std::vector<std::string>& files, const std::string& folder) {
  Rules rules;
  for (const std::string& file : files) {
    SLUICE_CHECK(rules.load(file));
  }
  std::string text;
  for (const Rule& rule : rules.rules()) {
    text += rule_text(fmt::format("{}/*{}", Glob::literal(folder), rule.pattern), rule.intent, rule.stages);
  }
  const std::string path = folder + "/rules.toml";
  SLUICE_CHECK(write_file(path, text));
  return path;
}

}  // namespace

Result<std::vector<std::string>> crew_command(const ReplaySettings& settings, const std::string& folder,
                                              const std::string& memory) {
  SLUICE_TRY(const std::string program, own_program());
  const std::string beside = folder_of(program);
  std::string worker;
  for (const std::string& place : {beside, beside + "/../" SLUICE_LIBDIR "/sluice"}) {
    if (worker.empty() && sys().access((place + "/sluice-replay").c_str(), X_OK) == 0) {
      worker = place + "/sluice-replay";
    }
  }
  if (worker.empty()) {
    return fail("sluice-replay is not beside this program", "install Sluice as a whole");
  }
  std::vector<std::string> out;
  if (!settings.stages.empty() || !settings.rules.empty()) {
    out = {beside + "/sluice", "run", "--quiet", "--only-managed"};
    out.insert(out.end(), settings.run_options.begin(), settings.run_options.end());
    for (const std::string& stage : settings.stages) {
      out.insert(out.end(), {"--stage", stage});
    }
    if (!settings.rules.empty()) {
      SLUICE_TRY(const std::string rules, rules_within(settings.rules, folder));
      out.insert(out.end(), {"--rules", rules});
      if (settings.plan) {
        out.emplace_back("--plan");
      }
    } else {
      out.insert(out.end(), {"--files", Glob::literal(folder) + "/**"});
    }
    out.emplace_back("--");
  }
  out.insert(out.end(), {worker, memory, folder});
  return out;
}

Result<Crew> Crew::start(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  UniqueFd errors(memfd_create("sluice-replay", MFD_CLOEXEC));
  if (!errors) {
    return Errno().fail("cannot make memory");
  }
  const pid_t pid = fork();
  if (pid == 0) {
    // A group of its own: what a terminal sends is for us, who tell it.
    setpgid(0, 0);
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
      signal(signal_number, SIG_DFL);
    }
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors.get(), STDERR_FILENO);
    execv(words[0], words.data());
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
    _exit(127);
  }
  if (pid < 0) {
    return Errno().fail("cannot start another process");
  }
  setpgid(pid, pid);
  UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return Crew(pid, std::move(handle), std::move(errors));
}

Crew::Crew(Crew&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      group_(std::exchange(other.group_, 0)),
      handle_(std::move(other.handle_)),
      errors_(std::move(other.errors_)),
      status_(other.status_) {}

Crew::~Crew() {
  if (pid_ != 0) {
    end_it();
  }
  // Where who started the others was killed, they are nobody's children.
  for (const double since = steady_seconds();
       group_ != 0 && status_ != 0 && kill(-group_, 0) == 0 && steady_seconds() - since < patience;) {
    usleep(10000);
  }
}

void Crew::end_it() {
  // Whoever does not see that he is to end, is ended.
  for (const int signal_number : {SIGTERM, SIGKILL}) {
    for (const double since = steady_seconds(); !is_over(50) && steady_seconds() - since < patience;) {
    }
    if (pid_ != 0) {
      kill(-pid_, signal_number);
    }
  }
  while (pid_ != 0 && !is_over(1000)) {
  }
}

bool Crew::is_over(int milliseconds) {
  if (pid_ == 0) {
    return true;
  }
  pollfd one{.fd = handle_.get(), .events = POLLIN, .revents = 0};
  poll(&one, handle_ ? 1 : 0, milliseconds);
  if (waitpid(pid_, &status_, WNOHANG) != pid_) {
    return false;
  }
  pid_ = 0;
  return true;
}

std::vector<std::string> Crew::said() const {
  std::string text(4096, '\0');
  const ssize_t size = pread(errors_.get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::vector<std::string> out;
  for (std::string_view line : split(text, '\n')) {
    for (const std::string_view prefix : {"sluice: ", "warning: "}) {
      line.remove_prefix(line.starts_with(prefix) ? prefix.size() : 0);
    }
    if (!line.empty()) {
      out.emplace_back(line);
    }
  }
  return out;
}

}  // namespace sluice
