#include "profile/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/reach.h"
#include "base/text.h"
#include "profile/probes.h"
#include "profile/profile_json.h"

namespace sluice {
namespace {

// What the child says, a line each: {"share", "what"}, and at last {"profile"} or {"error", ...}.
void say(int fd, const Json& json) {
  const std::string line = write_json(json) + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t done = sys().write(fd, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      kill(getpid(), SIGTERM);  // nobody listens any more; but there may be a folder to remove first
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
}

[[noreturn]] void child(int parent, int fd, const Place& place, const ProfileOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // it may have a folder to remove first
  if (getppid() != parent) {
    _exit(1);  // it went before that
  }
  // A child that the kernel holds must not keep a pipeline waiting.
  const UniqueFd nothing(sys().open("/dev/null", O_RDWR | O_CLOEXEC, 0));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(nothing.get(), standard);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  double said = 0;
  const auto profile = take_profile(place, options, [&](double share, std::string_view what) {
    const double now = steady_seconds();
    if (now - said > 0.1) {
      said = now;
      say(fd, {{"share", share}, {"what", what}});
    }
  });
  if (profile) {
    say(fd, {{"profile", kept_json(*profile)}});
  } else {
    say(fd, error_json(profile.error()));
  }
  _exit(0);
}

}  // namespace

Result<Profile> profile_in_child(const Place& place, const ProfileOptions& options, Duration patience,
                                 const ProfileProgress& progress) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Errno().fail("cannot make a pipe");
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const int own = getpid();
  const int pid = fork();
  if (pid < 0) {
    return Errno().fail("cannot start a process");
  }
  if (pid == 0) {
    child(own, theirs.get(), place, options);
  }
  theirs.reset();
  std::string text;
  char buffer[65536];
  Result<Profile> out =
      fail(fmt::format("measuring {} ended without a result", quote(place.path)), "was it killed? try again");
  for (;;) {
    pollfd waiting{.fd = ours.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, patience.in_milliseconds());
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready == 0) {
      kill(pid, SIGKILL);
      out = fail(fmt::format("{} does not answer: nothing for {}", quote(place.path), print(patience)),
                 "it hangs, or is slower than --patience allows");
      break;
    }
    const ssize_t got = ready > 0 ? sys().read(ours.get(), buffer, sizeof buffer) : -1;
    if (got <= 0) {
      break;
    }
    text.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      Json line = Json::parse(std::string_view(text).substr(0, end), nullptr, false);
      if (line.contains("share")) {
        progress(line.value("share", 0.0), line.value("what", ""));
      } else if (line.contains("profile")) {
        out = profile_from(line["profile"]);
        if (out) {  // names may be bytes that JSON cannot carry
          out->place = place.name;
          out->path = place.path;
          out->id = place.id;
        }
      } else if (auto error = error_in(line)) {
        out = std::move(*error);
      }
    }
  }
  // Not waited for when the kernel holds it.
  for (int i = 0; i < 50; ++i) {
    if (waitpid(pid, nullptr, WNOHANG) == pid) {
      if (!out && answers(place.path, patience)) {
        remove_leftovers(place.path);  // it may have been killed before it could
      }
      break;
    }
    usleep(2000);
  }
  return out;
}

}  // namespace sluice
