#include "run/unseen.h"

namespace sluice {
namespace {

constexpr std::array<FateText, fates> texts = {{
    {"seen", "", ""},
    {"own", "", ""},
    {"static", "linked statically",
     "link it dynamically, without -static: only then can a library stand between it and libc"},
    {"go", "Go makes its own system calls",
     "no flag of the Go compiler changes that; let C code in it (cgo, linked dynamically) or another program "
     "do "
     "this I/O by libc"},
    {"setuid", "setuid: nothing is preloaded into it",
     "start it as the user whom it becomes, so that it gets no privileges"},
    {"foreign", "32-bit, or another architecture",
     "use a 64-bit build of it for this machine; of this one the loader says \"wrong ELF class\" and goes "
     "on"},
    {"unloaded", "started without LD_PRELOAD",
     "keep LD_PRELOAD and SLUICE_RUN in its environment (env -i and the like remove them), and libc glibc"},
    {"inline", "system calls without libc's functions",
     "let it call read(), write() and so on of libc, or syscall(), instead of instructions of its own"},
    {"io_uring", "io_uring",
     "turn io_uring off in the program, as most that use it can: it calls libc then (requests on sockets "
     "count here, too)"},
    {"io_submit", "asynchronous I/O by io_submit",
     "choose synchronous I/O or threads in the program: it calls libc then"},
    {"mapped", "memory that is mapped",
     "turn mmap off in the program where it can be: what is written to mapped memory is no call at all"},
    {"splice", "splice", "turn splice off in the program: reads and writes are seen"},
    {"flags", "preadv2 or pwritev2 with flags", "call preadv() and pwritev(), or pass no flags"},
    {"libc", "libc by itself (aio, tmpfile and the like)",
     "use pread() and pwrite() in threads instead of aio, mkstemp() instead of tmpfile()"},
}};

}  // namespace

const FateText& text_of(Fate fate) {
  return texts[static_cast<std::size_t>(fate)];
}

std::uint64_t Tally::unseen() const {
  std::uint64_t out = 0;
  for (auto i = static_cast<std::size_t>(Fate::fixed); i < fates; ++i) {
    out += calls[i];
  }
  return out;
}

Fate fate_of(const Image& image, const SeenCall& call) {
  if (call.kind == CallKind::ring || call.kind == CallKind::ring_up) {
    return Fate::ring;
  }
  if (call.kind == CallKind::batch) {
    return Fate::batch;
  }
  if (!image.interpreted) {
    return image.go ? Fate::go : Fate::fixed;
  }
  if (call.whose == Whose::loader) {
    return Fate::own;
  }
  if (image.secure || !call.preloaded) {
    return image.secure ? Fate::secure : Fate::unloaded;
  }
  if (call.kind == CallKind::map) {
    return Fate::mapped;
  }
  // By number, because libc has no function for it, is how we make some ourselves.
  if (call.whose != Whose::libc && !(call.whose == Whose::plain_call && call.marked)) {
    return image.go && call.whose == Whose::program ? Fate::go : Fate::inlined;
  }
  if (call.marked) {
    return Fate::seen;
  }
  if (call.kind == CallKind::splice || call.flagged) {
    return call.flagged ? Fate::flags : Fate::splice;
  }
  // It opens and reads its databases, locales and time zones, and opens for a child what that finds open.
  return call.kind == CallKind::open || (call.kind == CallKind::read && call.opened_by_libc) ? Fate::own
                                                                                             : Fate::libc;
}

}  // namespace sluice
