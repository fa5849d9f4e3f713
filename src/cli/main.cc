#include <algorithm>
#include <string>
#include <vector>

#include "cli/verb.h"

int main(int argc, char** argv) {
  return sluice::run_program(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
