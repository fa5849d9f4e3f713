// What a stage was told by its parameters, for each point of a stack at which it stands, in memory that is
// there already. Header only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "pipeline/stack.h"

namespace sluice {

// A process has no more stacks than `most_stacks`, and so never more settings than these. Whoever only checks
// whether parameters are right takes some and forgets them: after so many they are another's.
template <class Settings, std::size_t in_a_stack = most_stages>
class SettingsRoom {
 public:
  // With defaults.
  Settings& take() {
    Settings& out = all_[used_.fetch_add(1) % all_.size()];
    std::destroy_at(&out);
    return *std::construct_at(&out);
  }

 private:
  std::array<Settings, most_stacks * in_a_stack> all_;
  std::atomic<std::size_t> used_ = 0;
};

}  // namespace sluice
