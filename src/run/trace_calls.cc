#include "run/trace_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"
#include "run/aftermath.h"
#include "stages/mark/mark.h"

namespace sluice {
namespace {

constexpr int cannot_prepare = 125;  // the status of a child that cannot be traced
constexpr std::size_t most_programs = 1024;
constexpr std::size_t most_files = 4096;  // of one program that are told apart
constexpr int call_stop = SIGTRAP | 0x80;
constexpr long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;

// ptrace() fails where the thread was killed meanwhile, and then its end is told next.
template <class Address>
long trace(int request, pid_t id, Address address, long data) {
  using Request = __ptrace_request;
  return ptrace(static_cast<Request>(request), id, address, data);
}

__ptrace_syscall_info call_of(pid_t id) {
  __ptrace_syscall_info out{};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, id, sizeof out, &out) < 0) {
    out.op = PTRACE_SYSCALL_INFO_NONE;
  }
  return out;
}

// "Name:\t123" in /proc/PID/status.
pid_t status_number(const std::string& status, std::string_view name) {
  const std::size_t at = status.find(fmt::format("\n{}:", name));
  return at == std::string::npos ? 0 : std::atoi(status.c_str() + at + name.size() + 2);
}

}  // namespace

Result<std::unique_ptr<CallTrace>> CallTrace::make(std::string ours) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Errno().fail("cannot make a pipe");
  }
  return std::unique_ptr<CallTrace>(new CallTrace(std::move(ours), UniqueFd(ends[0]), UniqueFd(ends[1])));
}

void CallTrace::prepare() {
  go_.reset();
  char byte = 0;
  if (read(wait_.get(), &byte, 1) != 1) {
    _exit(cannot_prepare);
  }
  std::vector<sock_filter> filter = file_call_filter();
  sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  const auto install = [&] { return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0; };
  // Without privileges a filter is for those who will never get any.
  if (!install() && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !install())) {
    _exit(cannot_prepare);
  }
}

Result<int> CallTrace::attend(pid_t program) {
  main_ = program;
  wait_.reset();
  hindered_ = trace(PTRACE_SEIZE, program, 0L, options) != 0;
  const Errno why;
  if (!hindered_) {
    [[maybe_unused]] const ssize_t told = write(go_.get(), "", 1);
  }
  go_.reset();  // a child that is not traced ends now
  int out = 0;
  Aftermath aftermath;
  for (;;) {
    int status = 0;
    const pid_t id = waitpid(-1, &status, __WALL);
    if (id > 0 && WIFSTOPPED(status)) {
      stopped(id, status);
    } else if (id > 0) {
      ended(id);
      if (id == main_) {
        out = status;
        pass_nothing_on();
        aftermath.begin();
      }
    } else if (errno != EINTR) {
      break;
    }
    if (aftermath.is_to_end()) {
      end_all();
    }
    aftermath.tell(processes_.size());
  }
  if (hindered_) {
    return why.fail("the program cannot be traced")
        .advise("allow ptrace: kernel.yama.ptrace_scope below 2, a container with SYS_PTRACE");
  }
  if (!began_ && WIFEXITED(out) && WEXITSTATUS(out) == cannot_prepare) {
    hindered_ = true;
    return fail("the kernel takes no filter for system calls", "it needs seccomp (CONFIG_SECCOMP_FILTER)");
  }
  return out;
}

void CallTrace::stopped(pid_t id, int status) {
  const int signal = WSTOPSIG(status);
  Thread& thread = thread_of(id);
  int pass = 0;
  switch (status >> 16) {
    case PTRACE_EVENT_SECCOMP:
      if (called(id, thread)) {
        trace(PTRACE_SYSCALL, id, 0L, 0);
        return;
      }
      break;
    case PTRACE_EVENT_EXEC:
      began_program(id);
      break;
    case PTRACE_EVENT_STOP:
      if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
        trace(PTRACE_LISTEN, id, 0L, 0);  // it stays stopped until somebody lets it go on
        return;
      }
      break;
    case 0:
      if (signal == call_stop) {
        returned(id, thread);
      } else {
        pass = signal;
      }
      break;
    default:  // a child, which is traced by itself
      break;
  }
  trace(thread_of(id).pending != nullptr ? PTRACE_SYSCALL : PTRACE_CONT, id, 0L, pass);
}

// Its other threads are gone, and the one that is left has the number of the process.
void CallTrace::began_program(pid_t id) {
  std::erase_if(threads_, [&](const auto& one) { return one.second.process == id; });
  threads_[id] = {.process = id};
  processes_[id] = {.program = program_of(id), .maps = {}, .opened_by_libc = {}};
  began_ = began_ || id == main_;
  if (processes_[id].program->image.foreign) {
    count(processes_[id], Fate::foreign, "");
  }
}

bool CallTrace::called(pid_t id, Thread& thread) {
  const __ptrace_syscall_info info = call_of(id);
  const FileCall* call = info.op == PTRACE_SYSCALL_INFO_SECCOMP ? file_call(info.seccomp.nr) : nullptr;
  if (call == nullptr || !began_) {
    return false;
  }
  const auto argument = [&](int index) { return index < 0 ? 0 : info.seccomp.args[index]; };
  Process& process = processes_[thread.process];
  switch (call->kind) {
    case CallKind::mark:
      thread.marks = argument(1) == mark_begin ? thread.marks + 1 : thread.marks - (thread.marks > 0 ? 1 : 0);
      return false;
    case CallKind::open:
    case CallKind::ring_up:
      thread.pending = call;
      thread.argument = argument(1);
      return true;
    case CallKind::ring:
    case CallKind::batch:
      count(process, fate_of(process.program->image, {.kind = call->kind}), "", argument(1));
      return false;
    default:
      break;
  }
  const auto fd = static_cast<int>(argument(call->descriptor));
  std::string file = file_of(id, fd);
  if (file.empty() && call->source >= 0) {
    file = file_of(id, static_cast<int>(argument(call->source)));
  }
  if (file.empty() || (call->kind == CallKind::map && file.starts_with("/dev/shm/"))) {
    return false;
  }
  const SeenCall seen{.kind = call->kind,
                      .whose = whose(thread.process, info.instruction_pointer),
                      .marked = thread.marks > 0,
                      .flagged = call->flags >= 0 && argument(call->flags) != 0,
                      .preloaded = process.maps.has_preloaded(),
                      .opened_by_libc = process.opened_by_libc.contains(fd)};
  count(process, fate_of(process.program->image, seen), file);
  return false;
}

void CallTrace::returned(pid_t id, Thread& thread) {
  const __ptrace_syscall_info info = call_of(id);
  const FileCall* call = std::exchange(thread.pending, nullptr);
  if (call == nullptr || info.op != PTRACE_SYSCALL_INFO_EXIT || info.exit.is_error != 0) {
    return;
  }
  Process& process = processes_[thread.process];
  if (call->kind == CallKind::ring_up) {
    if (polls_by_itself(id, thread.argument)) {
      count(process, Fate::ring, "");
    }
    return;
  }
  const auto fd = static_cast<int>(info.exit.rval);
  const std::string file = file_of(id, fd);
  if (file.empty()) {
    process.opened_by_libc.erase(fd);
    return;
  }
  const SeenCall seen{.kind = call->kind,
                      .whose = whose(thread.process, info.instruction_pointer),
                      .marked = thread.marks > 0,
                      .preloaded = process.maps.has_preloaded()};
  const Fate fate = fate_of(process.program->image, seen);
  if (fate == Fate::own) {
    process.opened_by_libc.insert(fd);
  } else {
    process.opened_by_libc.erase(fd);
  }
  count(process, fate, file);
}

void CallTrace::ended(pid_t id) {
  threads_.erase(id);
  processes_.erase(id);
}

void CallTrace::end_all() const {
  for (const auto& [id, process] : processes_) {
    kill(id, SIGKILL);
  }
}

// A new one may be stopped before its parent tells of it.
CallTrace::Thread& CallTrace::thread_of(pid_t id) {
  const auto found = threads_.find(id);
  if (found != threads_.end()) {
    return found->second;
  }
  const std::string status = read_file(fmt::format("/proc/{}/status", id)).value_or("");
  const pid_t process = status_number(status, "Tgid");
  Thread& thread = threads_[id];
  thread.process = process > 0 ? process : id;
  if (!processes_.contains(thread.process)) {
    const auto parent = processes_.find(status_number(status, "PPid"));
    processes_[thread.process] = parent != processes_.end()
                                     ? parent->second
                                     : Process{.program = program_of(id), .maps = {}, .opened_by_libc = {}};
  }
  return thread;
}

std::shared_ptr<const CallTrace::Program> CallTrace::program_of(pid_t process) {
  auto out = std::make_shared<Program>();
  out->image = image_of(process);
  const bool known = tallies_.contains(out->image.path) || tallies_.size() < most_programs;
  out->tally = &tallies_[known ? out->image.path : "?"];
  return out;
}

// What is mapped changes, but not where libc and its loader are.
Whose CallTrace::whose(pid_t process, std::uint64_t address) {
  auto& [program, maps, opened] = processes_[process];
  const bool may_preload = program->image.interpreted && !program->image.secure;
  if (!maps.knows(address) ||
      (may_preload && !maps.has_preloaded() && maps.whose(address) != Whose::loader)) {
    maps = Mappings(read_file(fmt::format("/proc/{}/maps", process)).value_or(""));
  }
  return maps.whose(address);
}

std::string CallTrace::file_of(pid_t process, int fd) const {
  std::string path = storage_file(process, fd);
  return path != ours_ ? path : "";
}

void CallTrace::count(Process& process, Fate fate, const std::string& file, std::uint64_t calls) {
  Tally& tally = *process.program->tally;
  tally.calls[static_cast<std::size_t>(fate)] += calls;
  if (is_unseen(fate) && !file.empty() && (tally.files.contains(file) || tally.files.size() < most_files)) {
    tally.files[file] += calls;
  }
}

}  // namespace sluice
