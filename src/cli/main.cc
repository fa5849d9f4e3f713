#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "run/launch.h"

namespace {

// Files that we open must not become somebody's standard output. What was closed stays useless: to read from
// it or to write to it fails as before.
void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) {
      // Takes the lowest, which is this one; a program that we run has it closed, as it was.
      open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  // A file that would outgrow the user's limit is an error to report (EFBIG), not a reason to die half-way.
  // A program that we run gets it back as it was.
  sluice::ignore_size_signal();
  return sluice::run_program(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
