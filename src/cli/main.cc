#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "cli/verb.h"

int main(int argc, char** argv) {
  // A file that would outgrow the user's limit is an error to report (EFBIG), not a reason to die half-way.
  std::signal(SIGXFSZ, SIG_IGN);
  return sluice::run_program(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
