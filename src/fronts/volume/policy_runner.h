// Runs a policy on a thread of its own, on a snapshot that is taken a slice at a time, so that requests never
// wait for it. Taking the snapshot folds what was counted since the last one into the scores.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tier/policy.h"
#include "tier/volume.h"

namespace sluice::volume {

class PolicyRunner {
 public:
  explicit PolicyRunner(tier::Volume& volume);
  ~PolicyRunner();
  PolicyRunner(const PolicyRunner&) = delete;
  PolicyRunner& operator=(const PolicyRunner&) = delete;

  // Begins a run, unless one is under way. With `fold`, the interval ends here.
  void start(const tier::Policy& policy, const tier::PolicySettings& settings,
             const tier::Placement& placement, bool fold);
  // Goes on with it; true once when it is done, and proposals() are there.
  bool advance();
  [[nodiscard]] bool busy() const { return step_ != Step::idle; }
  [[nodiscard]] const std::vector<tier::Proposal>& proposals() const { return proposals_; }

 private:
  enum class Step : std::uint8_t { idle, copying, thinking };
  void think();

  tier::Volume& volume_;
  Step step_ = Step::idle;
  bool fold_ = false;
  std::uint64_t next_ = 0;
  const tier::Policy* policy_ = nullptr;
  tier::PolicySettings settings_{};
  tier::Placement placement_{};
  std::vector<tier::Entry> entries_;
  std::vector<tier::Heat> heat_;
  std::vector<tier::PolicyTier> tiers_;
  std::vector<tier::Proposal> proposals_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool wanted_ = false;
  bool ending_ = false;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace sluice::volume
