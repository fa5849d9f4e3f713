// What a traced run tells: which programs are seen by stages, which are not, and what to do about those.
#pragma once

#include <map>
#include <string>

#include "base/json_fwd.h"
#include "base/terminal.h"
#include "run/unseen.h"

namespace sluice {

struct Diagnosis {
  const std::map<std::string, Tally, std::less<>>& tallies;  // by executable
  std::uint64_t unmanaged = 0;                               // opens for which there was no room
};

// A sentence where all was seen; else tables of programs and files, and what to do.
std::string diagnosis_text(const Diagnosis& diagnosis, const Style& style);
Json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace sluice
