// Which mounts are worth using as places, and why the others are not.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "places/machine.h"
#include "places/mounts.h"

namespace sluice {

// Why a mount is no place, judged before anything is asked of it; "" = ask it. `wanted` mounts, which the
// configuration names, are left out only when they cannot be storage.
std::string reason_to_skip(const Mount& mount, const Mounts& mounts, std::uint64_t user, bool wanted);

struct MountCandidate {
  const Mount* mount = nullptr;
  Answer answer;
  bool wanted = false;
  std::string because;  // why it is no place after all; "" = it is one
};

// Judges again with the answers: files, file systems without capacity, and file systems that another
// candidate shows already.
void judge_answers(std::vector<MountCandidate>& candidates);

}  // namespace sluice
