#include "run/file_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/files.h"
#include "base/sys.h"
#include "stages/mark/mark.h"

namespace sluice {
namespace {

constexpr std::array table = {
#ifdef SYS_open
    FileCall{.number = SYS_open, .kind = CallKind::open},
    FileCall{.number = SYS_creat, .kind = CallKind::open},
#endif
    FileCall{.number = SYS_openat, .kind = CallKind::open},
    FileCall{.number = SYS_openat2, .kind = CallKind::open},
    FileCall{.number = SYS_read, .kind = CallKind::read, .descriptor = 0},
    FileCall{.number = SYS_pread64, .kind = CallKind::read, .descriptor = 0},
    FileCall{.number = SYS_readv, .kind = CallKind::read, .descriptor = 0},
    FileCall{.number = SYS_preadv, .kind = CallKind::read, .descriptor = 0},
    FileCall{.number = SYS_preadv2, .kind = CallKind::read, .descriptor = 0, .flags = 5},
    FileCall{.number = SYS_write, .kind = CallKind::write, .descriptor = 0},
    FileCall{.number = SYS_pwrite64, .kind = CallKind::write, .descriptor = 0},
    FileCall{.number = SYS_writev, .kind = CallKind::write, .descriptor = 0},
    FileCall{.number = SYS_pwritev, .kind = CallKind::write, .descriptor = 0},
    FileCall{.number = SYS_pwritev2, .kind = CallKind::write, .descriptor = 0, .flags = 5},
    FileCall{.number = SYS_sendfile, .kind = CallKind::copy, .descriptor = 0, .source = 1},
    FileCall{.number = SYS_copy_file_range, .kind = CallKind::copy, .descriptor = 2, .source = 0},
    FileCall{.number = SYS_splice, .kind = CallKind::splice, .descriptor = 2, .source = 0},
    FileCall{.number = SYS_mmap, .kind = CallKind::map, .descriptor = 4},
    FileCall{.number = SYS_io_uring_setup, .kind = CallKind::ring_up},
    FileCall{.number = SYS_io_uring_enter, .kind = CallKind::ring},
    FileCall{.number = SYS_io_submit, .kind = CallKind::batch},
    FileCall{.number = SYS_lseek, .kind = CallKind::mark},
};

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr std::uint32_t architecture = AUDIT_ARCH_RISCV64;
#else
constexpr std::uint32_t architecture = 0;  // nothing is ever traced
#endif

constexpr sock_filter load(std::size_t offset) {
  return {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = static_cast<std::uint32_t>(offset)};
}
// Skips so many of the instructions that follow where it holds, and so many where not.
constexpr sock_filter test(int what, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return {.code = static_cast<std::uint16_t>(BPF_JMP | BPF_K | what), .jt = yes, .jf = no, .k = value};
}
constexpr sock_filter give(std::uint32_t action) {
  return {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = action};
}
// The lower half of an argument.
constexpr sock_filter load_argument(int index) {
  constexpr std::size_t half = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
  return load(offsetof(seccomp_data, args) + static_cast<std::size_t>(index) * 8 + half);
}

// Semaphores and shared memory are files of libc's.
bool is_storage(std::string_view path) {
  return !path.starts_with("/dev/shm/sem.") && !path.starts_with("/proc/") && !path.starts_with("/sys/") &&
         !path.starts_with("/memfd:") && (!path.starts_with("/dev/") || path.starts_with("/dev/shm/"));
}

}  // namespace

const FileCall* file_call(std::uint64_t number) {
  const auto* found = std::find_if(table.begin(), table.end(), [&](const FileCall& call) {
    return static_cast<std::uint64_t>(call.number) == number;
  });
  return found == table.end() ? nullptr : found;
}

std::vector<sock_filter> file_call_filter() {
  const sock_filter allow = give(SECCOMP_RET_ALLOW);
  const sock_filter trace = give(SECCOMP_RET_TRACE);
  std::vector<sock_filter> out = {load(offsetof(seccomp_data, arch)), test(BPF_JEQ, architecture, 1, 0),
                                  allow, load(offsetof(seccomp_data, nr))};
  const auto add = [&](std::initializer_list<sock_filter> more) { out.insert(out.end(), more); };
  for (const FileCall& call : table) {
    const auto number = static_cast<std::uint32_t>(call.number);
    if (call.kind == CallKind::map) {
      constexpr std::uint32_t shared = MAP_SHARED;  // a bit of MAP_SHARED_VALIDATE, too
      add({test(BPF_JEQ, number, 0, 7), load_argument(2), test(BPF_JSET, PROT_WRITE, 0, 4), load_argument(3),
           test(BPF_JSET, shared, 0, 2), test(BPF_JSET, MAP_ANONYMOUS, 1, 0), trace, allow});
    } else if (call.kind == CallKind::mark) {
      add({test(BPF_JEQ, number, 0, 4), load_argument(0),
           test(BPF_JEQ, static_cast<std::uint32_t>(mark_descriptor), 0, 1), trace, allow});
    } else {
      add({test(BPF_JEQ, number, 0, 1), trace});
    }
  }
  out.push_back(allow);
  return out;
}

bool polls_by_itself(pid_t thread, std::uint64_t parameters) {
  constexpr std::uint32_t polls = 2;  // IORING_SETUP_SQPOLL
  std::array<std::uint32_t, 3> head = {};
  const UniqueFd memory(sys().open(fmt::format("/proc/{}/mem", thread).c_str(), O_RDONLY | O_CLOEXEC, 0));
  return memory &&
         sys().pread(memory.get(), head.data(), sizeof head, static_cast<off_t>(parameters)) == sizeof head &&
         (head[2] & polls) != 0;
}

std::string storage_file(pid_t process, int fd) {
  const std::string link = fmt::format("/proc/{}/fd/{}", process, fd);
  struct stat found {};
  if (fd < 0 || sys().stat(link.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return "";
  }
  std::string path = read_link(link).value_or("");
  return is_storage(path) ? path : "";
}

}  // namespace sluice
