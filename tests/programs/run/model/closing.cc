// build: -O1 -pthread
// What a thread closes is in its file and in no other, also while others open and close theirs, each of which
// looks at all open files, and run programs that inherit whatever is open at that moment.
//
// closing ROUNDS
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

// Writes a file in two parts; whether it holds them after it was closed.
bool write_one(const std::string& name, unsigned round) {
  const std::string text = name + "-" + std::to_string(round);
  const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || write(fd, text.data(), 2) != 2) std::abort();
  if (write(fd, text.data() + 2, text.size() - 2) < 0 || close(fd) != 0) std::abort();
  char found[64];
  const int again = open(name.c_str(), O_RDONLY);
  const ssize_t got = read(again, found, sizeof found);
  close(again);
  const bool good = got >= 0 && text == std::string(found, static_cast<std::size_t>(got));
  if (!good) std::fprintf(stderr, "not '%s' but '%.*s'\n", text.c_str(), static_cast<int>(got), found);
  return good;
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 1000;
  std::atomic<bool> over = false;
  std::atomic<int> bad = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([&over, &bad, name = "other" + std::to_string(i)] {
      for (unsigned n = 0; !over; ++n) bad += write_one(name, n) ? 0 : 1;
    });
  }
  all.emplace_back([&over] {
    while (!over) {
      const pid_t child = fork();
      if (child == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(9);
      }
      waitpid(child, nullptr, 0);
    }
  });
  for (int n = 0; n < rounds; ++n) bad += write_one("file", static_cast<unsigned>(n)) ? 0 : 1;
  over = true;
  for (std::thread& one : all) one.join();
  std::printf("%d closed files were wrong\n", bad.load());
  return bad == 0 ? 0 : 1;
}
