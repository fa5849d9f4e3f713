// The C interface, of files: what is said of them, and where they are opened. Nothing may leave this file by
// exception.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ios>
#include <optional>
#include <string>

#include "base/ioprio.h"
#include "base/log.h"
#include "fronts/api/guard.h"
#include "placing/session.h"
#include "sluice/sluice.h"

namespace {

using sluice::Intent;
using sluice::Session;
using sluice::Slot;
using sluice::api::for_caller;
using sluice::api::guarded;
using sluice::api::intent_of;
using sluice::api::tell;

bool may_create(int how, unsigned long argument) {
  switch (how) {
    case 1:
      return (argument & O_CREAT) != 0;
    case 2: {
      const auto* mode = reinterpret_cast<const char*>(argument);
      return mode != nullptr && (*mode == 'w' || *mode == 'a');
    }
    case 3: {
      const auto mode = static_cast<std::ios_base::openmode>(argument);
      return (mode & (std::ios_base::trunc | std::ios_base::app)) != 0 ||
             (mode & (std::ios_base::in | std::ios_base::out)) == std::ios_base::out;
    }
    default:
      return true;
  }
}

void tell_words_once(const sluice_failure& why) {
  static std::atomic_flag told;  // no lock: a child of fork might find it taken
  if (!told.test_and_set()) {
    sluice::log::warn("{}; the path is used as it is", why.message);
  }
}

// What the kernel has ears for. It need not listen.
void tell_kernel(int fd, const Intent& intent) {
  const auto advise = [&](int advice) { posix_fadvise(fd, 0, 0, advice); };
  if (const auto pattern = intent.pattern()) {
    advise(*pattern == sluice::Pattern::sequential ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM);
  }
  const auto first = [&](Slot slot, std::size_t index) {
    const auto& word = intent.at(slot);
    return word && word->arguments.size() > index ? std::get<std::string>(word->arguments[index])
                                                  : std::string();
  };
  if (first(Slot::reuse, 0) == "once") {
    advise(POSIX_FADV_NOREUSE);
  }
  if (intent.is("prefetch")) {
    advise(POSIX_FADV_WILLNEED);
  }
  const std::string kind = first(Slot::stream, 1);
  const std::uint64_t lifetime = kind == "write-intensive"  ? RWH_WRITE_LIFE_SHORT
                                 : kind == "read-intensive" ? RWH_WRITE_LIFE_LONG
                                 : kind == "archival"       ? RWH_WRITE_LIFE_EXTREME
                                                            : RWH_WRITE_LIFE_NOT_SET;
  if (lifetime != RWH_WRITE_LIFE_NOT_SET) {
    fcntl(fd, F_SET_RW_HINT, &lifetime);
  }
  if (const std::string priority = first(Slot::priority, 0); !priority.empty()) {
    sluice::set_io_priority(sluice::IoClass::best_effort, priority == "background" ? 7 : 0);
  }
}

}  // namespace

int sluice_declare(const char* path, const char* words, struct sluice_failure* why) {
  return guarded(why, -1, [&] {
    auto intent = intent_of(words, why);
    if (!intent) {
      return -1;
    }
    if (path == nullptr || *path == 0) {
      tell(why, ENOENT, 0, "a path is missing");
      return -1;
    }
    Session::of_process().declare(path, *std::move(intent));
    return 0;
  });
}

int sluice_declare_fd(int fd, const char* words, struct sluice_failure* why) {
  return guarded(why, -1, [&] {
    auto intent = intent_of(words, why);
    if (!intent) {
      return -1;
    }
    std::string path(4096, 0);
    const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
    if (length < 0) {
      tell(why, EBADF, 0, fmt::format("{} is no open file", fd));
      return -1;
    }
    path.resize(static_cast<std::size_t>(length));
    tell_kernel(fd, *intent);
    Session::of_process().declare(path, *std::move(intent));
    return 0;
  });
}

char* sluice_plan(const char* path, const char* words, struct sluice_failure* why) {
  return guarded(why, static_cast<char*>(nullptr), [&]() -> char* {
    const auto intent = intent_of(words, why);
    if (!intent) {
      return nullptr;
    }
    const auto out = Session::of_process().plan(path != nullptr ? path : "", *intent);
    if (!out) {
      tell(why, out.error().number, 0, out.error().text());
      return nullptr;
    }
    return for_caller(*out);
  });
}

int sluice_open(const char* path, int flags, mode_t mode, const char* words, struct sluice_failure* why) {
  return guarded(why, -1, [&] {
    const auto intent = intent_of(words, why);
    if (!intent) {
      errno = EINVAL;
      return -1;
    }
    const auto to_open =
        Session::of_process().path_to_open(path != nullptr ? path : "", *intent, (flags & O_CREAT) != 0);
    if (!to_open) {
      tell(why, to_open.error().number, 0, to_open.error().text());
      errno = to_open.error().number != 0 ? to_open.error().number : EIO;
      return -1;
    }
    const int fd = open(to_open->c_str(), flags, mode);
    if (fd < 0) {
      const int number = errno;
      tell(why, number, 0,
           fmt::format("cannot open '{}': {}", path != nullptr ? path : "", strerror(number)));
      errno = number;
    }
    return fd;
  });
}

const char* sluice_path(const char* path, const char* words, int how, unsigned long argument) {
  const int saved = errno;
  sluice_failure why{};
  why.size = sizeof why;
  const char* out = guarded(&why, path, [&] {
    const auto intent = intent_of(words, &why);
    if (!intent || path == nullptr) {
      tell_words_once(why);
      return path;
    }
    const auto to_open = Session::of_process().path_to_open(path, *intent, may_create(how, argument));
    if (!to_open) {
      sluice::log::warn("{}; the open fails because of strict-constraints", to_open.error().text());
      return "";
    }
    return *to_open == path ? path : Session::of_process().keep(*to_open);
  });
  errno = saved;
  return out;
}

int sluice_will_need(int fd, off_t offset, off_t length) {
  return posix_fadvise(fd, offset, length, POSIX_FADV_WILLNEED);
}

int sluice_done_with(int fd, off_t offset, off_t length) {
  // What is dirty stays in memory; the writing is begun, and what is written already may leave.
  sync_file_range(fd, offset, length, SYNC_FILE_RANGE_WRITE);
  return posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED);
}
