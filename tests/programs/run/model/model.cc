// build: -O1 -pthread
// Does random things with files and compares each result with a model of what POSIX says, in several threads
// at once, with children that share files, and with another process that opens them by name.
//
// model SEED STEPS THREADS [late]    late: other processes see files when they are closed or synced
// model holds    when all has ended, of what the other said: whether its files, and no others, are there
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

bool others_are_late = false;
constexpr std::size_t most_bytes = 300000;

// What a file has to be when all has ended.
void tell(const std::string& path, const std::string& content) {
  std::printf("%s %zu %zu\n", path.c_str(), content.size(), std::hash<std::string>()(content));
}

int compare_told() {
  char path[4096];
  std::size_t size = 0;
  std::size_t hash = 0;
  std::set<std::string> told;
  int wrong = 0;
  while (std::scanf("%4095s %zu %zu", path, &size, &hash) == 3) {
    told.insert(path);
    std::ifstream in(path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(in)), {});
    if (!in.is_open() || content.size() != size || std::hash<std::string>()(content) != hash) {
      std::fprintf(stderr, "%s has %zu bytes of %zu, or others\n", path, content.size(), size);
      ++wrong;
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    if (!entry.is_regular_file() || entry.is_symlink() || told.erase(entry.path().filename()) != 1) {
      std::fprintf(stderr, "%s is left\n", entry.path().c_str());
      ++wrong;
    }
  }
  return wrong == 0 && told.empty() ? 0 : 1;
}

// Another process, which was there before there was any file.
class Other {
 public:
  Other() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) abort();
    if (fork() == 0) {
      close(ends[0]);
      serve(ends[1]);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  ~Other() {
    close(socket_);
    wait(nullptr);
  }
  std::string read(const std::string& path) {
    const std::lock_guard guard(mutex_);
    if (write(socket_, path.c_str(), path.size() + 1) < 0) abort();
    std::string out;
    char buffer[65536];
    ssize_t got = 0;
    while ((got = ::read(socket_, buffer, sizeof buffer)) > 1)
      out.append(buffer + 1, static_cast<std::size_t>(got) - 1);
    return out;
  }

 private:
  [[noreturn]] static void serve(int socket) {
    char path[4096];
    while (::read(socket, path, sizeof path) > 0) {
      const int fd = open(path, O_RDONLY);
      char buffer[65536];
      ssize_t got = 0;
      buffer[0] = 'x';
      while ((got = ::read(fd, buffer + 1, sizeof buffer - 1)) > 0) {
        if (write(socket, buffer, static_cast<std::size_t>(got) + 1) < 0) abort();
      }
      close(fd);
      if (write(socket, "x", 1) < 0) abort();
    }
    _exit(0);
  }
  int socket_ = -1;
  std::mutex mutex_;
};

Other* other = nullptr;

// An open file; descriptors that were duplicated share it.
struct Open {
  std::size_t position = 0;
  bool readable = false;
  bool appends = false;
};

struct Descriptor {
  int fd;
  std::shared_ptr<Open> open;
};

class Worker {
 public:
  Worker(unsigned seed, std::string path) : random_(seed), seed_(seed), path_(std::move(path)) {
    unlink(path_.c_str());
  }

  void run(int steps) {
    open_one();
    for (step_ = 0; step_ < steps; ++step_) {
      act();
    }
    for (Descriptor& one : descriptors_) check(close(one.fd) == 0, "close");
    descriptors_.clear();
    const int fd = ::open(path_.c_str(), O_RDONLY);
    check(fd >= 0, "open at the end");
    std::string all(most_bytes * 2, 0);
    errno = 0;
    const ssize_t got = ::read(fd, all.data(), all.size());
    note("bytes at the end, and in the model", got, static_cast<long>(content_.size()));
    check(got >= 0, "read at the end");
    all.resize(static_cast<std::size_t>(got));
    same(all, content_, "the content at the end");
    close(fd);
    tell(path_, content_);
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void note(const char* what, long a = 0, long b = 0) {
    char line[200];
    std::snprintf(line, sizeof line, "%d: %s %ld %ld", step_, what, a, b);
    log_.push_back(line);
    if (log_.size() > 40) log_.pop_front();
  }

  void check(bool good, const char* what) {
    if (good) return;
    std::fprintf(stderr, "seed %u, step %d, %s: %s is wrong (errno %d)\n", seed_, step_, path_.c_str(), what,
                 errno);
    for (const std::string& line : log_) std::fprintf(stderr, "  %s\n", line.c_str());
    std::abort();
  }

  void same(const std::string& found, const std::string& wanted, const char* what) {
    const auto [one, other] = std::mismatch(found.begin(), found.end(), wanted.begin(), wanted.end());
    if (one == found.end() && other == wanted.end()) return;
    const auto at = static_cast<std::size_t>(one - found.begin());
    note("the first that differs", static_cast<long>(at), static_cast<long>(wanted.size()));
    for (const std::string& text : {found, wanted}) {
      for (std::size_t i = at; i < text.size() && i < at + 4; ++i) note("a byte there", text[i]);
    }
    check(false, what);
  }

  void open_one() {
    const std::size_t kind = below(8);
    const int flags = (kind == 0 ? O_WRONLY : O_RDWR) | O_CREAT | (kind == 1 ? O_APPEND : 0) |
                      (kind == 2 ? O_TRUNC : 0) | (below(2) == 0 ? O_CLOEXEC : 0);
    note("open", flags);
    const int fd = ::open(path_.c_str(), flags, 0644);
    check(fd >= 0, "open");
    if ((flags & O_TRUNC) != 0) content_.clear();
    auto made = std::make_shared<Open>();
    made->readable = kind != 0;
    made->appends = kind == 1;
    descriptors_.push_back({fd, made});
  }

  void put(std::size_t at, const std::string& data) {
    if (content_.size() < at + data.size()) content_.resize(at + data.size());
    content_.replace(at, data.size(), data);
  }

  std::string some(std::size_t length) {
    std::string out(length, static_cast<char>('a' + below(26)));
    for (std::size_t i = 0; i < length; i += 61) out[i] = static_cast<char>(random_());
    return out;
  }

  std::size_t a_length() {
    const std::size_t kind = below(10);
    return kind < 7 ? 1 + below(200) : kind < 9 ? 1 + below(9000) : 1 + below(100000);
  }

  void write_one(Descriptor& one) {
    const std::string data = some(a_length());
    const std::size_t at = one.open->appends ? content_.size() : one.open->position;
    if (at + data.size() > most_bytes) {
      truncate_one(one);
      return;
    }
    note("write", static_cast<long>(at), static_cast<long>(data.size()));
    check(::write(one.fd, data.data(), data.size()) == static_cast<ssize_t>(data.size()), "write");
    put(at, data);
    one.open->position = at + data.size();
  }

  void pwrite_one(Descriptor& one) {
    const std::string data = some(a_length());
    const std::size_t at = below(most_bytes - data.size());
    note("pwrite", static_cast<long>(at), static_cast<long>(data.size()));
    check(::pwrite(one.fd, data.data(), data.size(), static_cast<off_t>(at)) ==
              static_cast<ssize_t>(data.size()),
          "pwrite");
    put(one.open->appends ? content_.size() : at, data);  // as Linux does
    if (content_.size() > most_bytes) truncate_one(one);
  }

  void read_one(Descriptor& one, bool at_offset) {
    std::string data(a_length(), 0);
    const std::size_t at = at_offset ? below(most_bytes) : one.open->position;
    note(at_offset ? "pread" : "read", static_cast<long>(at), static_cast<long>(data.size()));
    const ssize_t got = at_offset ? ::pread(one.fd, data.data(), data.size(), static_cast<off_t>(at))
                                  : ::read(one.fd, data.data(), data.size());
    if (!one.open->readable) {
      check(got == -1 && errno == EBADF, "a read that is not allowed");
      return;
    }
    const std::size_t left = at < content_.size() ? content_.size() - at : 0;
    const std::size_t wanted = std::min(left, data.size());
    check(got == static_cast<ssize_t>(wanted), "how much was read");
    data.resize(wanted);
    same(data, content_.substr(std::min(at, content_.size()), wanted), "what was read");
    if (!at_offset) one.open->position += wanted;
  }

  void seek_one(Descriptor& one) {
    const std::size_t kind = below(4);
    off_t wanted = 0;
    off_t got = 0;
    if (kind == 0) {
      wanted = static_cast<off_t>(below(most_bytes / 2));
      got = lseek(one.fd, wanted, SEEK_SET);
    } else if (kind == 1) {
      const auto back = static_cast<off_t>(below(one.open->position + 1));
      wanted = static_cast<off_t>(one.open->position) - back;
      got = lseek(one.fd, -back, SEEK_CUR);
    } else if (kind == 2) {
      wanted = static_cast<off_t>(content_.size());
      got = lseek(one.fd, 0, SEEK_END);
    } else {
      wanted = static_cast<off_t>(one.open->position);
      got = lseek(one.fd, 0, SEEK_CUR);
    }
    note("seek", static_cast<long>(kind), static_cast<long>(wanted));
    check(got == wanted, "a position");
    one.open->position = static_cast<std::size_t>(wanted);
  }

  void truncate_one(Descriptor& one) {
    const std::size_t size = below(most_bytes / 4);
    note("truncate", static_cast<long>(size));
    check((below(2) == 0 ? ftruncate(one.fd, static_cast<off_t>(size))
                         : truncate(path_.c_str(), static_cast<off_t>(size))) == 0,
          "truncate");
    content_.resize(size);
  }

  void look(Descriptor& one) {
    struct stat found {};
    const std::size_t kind = below(3);
    note("look", static_cast<long>(kind));
    check((kind == 0   ? fstat(one.fd, &found)
           : kind == 1 ? stat(path_.c_str(), &found)
                       : fstatat(AT_FDCWD, path_.c_str(), &found, 0)) == 0,
          "stat");
    check(found.st_size == static_cast<off_t>(content_.size()), "a size");
  }

  void rename_it() {
    note("rename");
    const std::string to = path_ + "x";
    check(rename(path_.c_str(), to.c_str()) == 0, "rename");
    path_ = to.size() > 60 ? to.substr(0, to.find('x')) : to;
    if (path_ != to) check(rename(to.c_str(), path_.c_str()) == 0, "rename back");
  }

  void child() {
    Descriptor& one = descriptors_[below(descriptors_.size())];
    note("child");
    const std::string first = some(a_length() % 5000);
    const std::size_t at = one.open->appends ? content_.size() : one.open->position;
    const bool runs = below(3) == 0 && (fcntl(one.fd, F_GETFD) & FD_CLOEXEC) == 0;
    const pid_t pid = fork();
    if (pid == 0) {
      if (runs) {  // what another program does with a descriptor that it got
        char text[64];
        std::snprintf(text, sizeof text, "printf program >&%d", one.fd);
        execl("/bin/bash", "bash", "-c", text, nullptr);
        _exit(9);
      }
      _exit(::write(one.fd, first.data(), first.size()) == static_cast<ssize_t>(first.size()) ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "what a child did");
    const std::string written = runs ? "program" : first;
    if (written.empty()) return;
    put(at, written);
    one.open->position = at + written.size();
  }

  void map_it(Descriptor& one) {
    if (content_.empty() || !one.open->readable || one.open->appends) return;
    note("map");
    auto* memory =
        static_cast<char*>(mmap(nullptr, content_.size(), PROT_READ | PROT_WRITE, MAP_SHARED, one.fd, 0));
    check(memory != MAP_FAILED, "mmap");
    check(std::memcmp(memory, content_.data(), content_.size()) == 0, "what is mapped");
    const std::size_t at = below(content_.size());
    memory[at] = 'M';
    content_[at] = 'M';
    munmap(memory, content_.size());
  }

  void ask_other() {
    if (others_are_late) {
      for (Descriptor& one : descriptors_) fsync(one.fd);
    }
    note("another process");
    check(other->read(path_) == content_, "what another process reads");
  }

  void act() {
    const bool calm = seed_ % 2 == 0;  // nothing that makes a stage give a file up
    if (descriptors_.empty() || (!calm && descriptors_.size() < 3 && below(60) == 0)) {
      open_one();
      return;
    }
    Descriptor& one = descriptors_[below(descriptors_.size())];
    const std::size_t kind = below(1000);
    if (kind < 620) {
      write_one(one);
    } else if (kind < 700) {
      pwrite_one(one);
    } else if (kind < 760) {
      read_one(one, false);
    } else if (kind < 820) {
      read_one(one, true);
    } else if (kind < 880) {
      seek_one(one);
    } else if (kind < 900) {
      look(one);
    } else if (kind < 910) {
      truncate_one(one);
    } else if (kind < 920) {
      note("sync");
      check((below(2) == 0 ? fsync(one.fd) : fdatasync(one.fd)) == 0, "sync");
    } else if (kind < 930) {
      rename_it();
    } else if (calm && kind >= 960 && kind < 980) {
      read_one(one, false);
    } else if (kind < 945 && descriptors_.size() < 6) {
      note("dup");
      const int fd = dup(one.fd);
      check(fd >= 0, "dup");
      descriptors_.push_back({fd, one.open});
    } else if (kind < 960) {
      note("lock");
      check(flock(one.fd, LOCK_EX) == 0 && flock(one.fd, LOCK_UN) == 0, "flock");
    } else if (kind < 965) {
      child();
    } else if (kind < 968) {
      map_it(one);
    } else if (kind < 980) {
      ask_other();
    } else {
      note("close");
      check(close(one.fd) == 0, "close");
      descriptors_.erase(descriptors_.begin() + (&one - descriptors_.data()));
    }
  }

  std::mt19937 random_;
  unsigned seed_;
  std::string path_;
  std::string content_;
  std::vector<Descriptor> descriptors_;
  std::deque<std::string> log_;
  int step_ = 0;
};

// All threads write to one open file, each in a part of its own.
void share_one(unsigned seed, int steps, int threads) {
  const int fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
  constexpr std::size_t part = 50000;
  std::vector<std::string> contents(static_cast<std::size_t>(threads), std::string(part, 0));
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([=, &content = contents[static_cast<std::size_t>(i)]] {
      std::mt19937 random(seed + static_cast<unsigned>(i));
      const off_t base = static_cast<off_t>(part) * i;
      if (pwrite(fd, content.data(), part, base) != static_cast<ssize_t>(part)) abort();
      for (int step = 0; step < steps; ++step) {
        const std::size_t length = 1 + random() % 300;
        const std::size_t at = random() % 3 == 0 ? random() % (part - length)
                                                 : (static_cast<std::size_t>(step) * 37) % (part - length);
        std::string data(length, static_cast<char>('a' + random() % 26));
        if (pwrite(fd, data.data(), length, base + static_cast<off_t>(at)) != static_cast<ssize_t>(length))
          abort();
        content.replace(at, length, data);
        if (random() % 50 == 0) {
          std::string found(part, 0);
          if (pread(fd, found.data(), part, base) != static_cast<ssize_t>(part) || found != content) {
            std::fprintf(stderr, "seed %u: thread %d does not see what it wrote\n", seed, i);
            std::abort();
          }
        }
      }
    });
  }
  for (std::thread& one : all) one.join();
  close(fd);
  std::string whole;
  for (const std::string& one : contents) whole += one;
  tell("shared", whole);
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "holds") == 0) return compare_told();
  if (count < 4) return 2;
  const auto seed = static_cast<unsigned>(std::atoi(words[1]));
  const int steps = std::atoi(words[2]);
  const int threads = std::atoi(words[3]);
  others_are_late = count > 4;
  Other one;
  other = &one;
  // Children are forked: only this thread, where there are several.
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back(
        [=] { Worker(seed * 100 + static_cast<unsigned>(i), "file-" + std::to_string(i) + "-").run(steps); });
  }
  for (std::thread& thread : all) thread.join();
  share_one(seed, steps, 4);
}
