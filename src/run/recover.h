// Puts down what a program kept back of its files and cannot write itself any more.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "pipeline/area.h"

namespace sluice {

struct Recovered {
  enum class Outcome { written, made, there, beside, dropped, moved, stays, lives, lost, failed };
  Outcome outcome = Outcome::failed;
  std::string path;  // of the file
  std::string put;   // where the bytes are now, where that is another place
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string why;  // of those that are not simply written
};

// What is kept back goes into the file that `fd` is, or that the record names where it is -1; where that is
// not provably the same file, unchanged since, beside it. Never over what is newer. Afterwards nothing is
// kept back, except where it failed. REQUIRES: the buffer's lock, and it has a block.
Recovered put_down(Area& area, Buffer& buffer, int fd, bool alive);

// Whether anything in it is still to be done.
bool is_needed(Area& area);

// A sentence for people, and the same for programs.
std::string describe(const Recovered& one);
// One each; files of the same folder that went the same way share one where they are many.
std::vector<std::string> describe(const std::vector<Recovered>& all);
Json recovered_json(const Recovered& one);

// How leftovers are treated.
enum class Leftovers {
  recovered,  // what another command is at is left to that
  all,        // the same, and all of it is done in the end
  given_up,   // the same, and what cannot be recovered is lost
  looked_at,  // it is told what there is, as `failed`
};
// Areas of runs that are over, with something in them that no process will write any more: recovers it, and
// removes those that nobody needs. All but the first tell, as `lives`, what a process that runs keeps back.
std::vector<Recovered> recover_leftovers(Leftovers how = Leftovers::recovered);

// A line about what is to be recovered, which is left as it is; "" where there is nothing.
std::string describe_leftovers();

}  // namespace sluice
