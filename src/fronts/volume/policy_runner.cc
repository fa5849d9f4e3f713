#include "fronts/volume/policy_runner.h"

#include <algorithm>

namespace sluice::volume {

PolicyRunner::PolicyRunner(tier::Volume& volume) : volume_(volume), thread_([this] { think(); }) {}

PolicyRunner::~PolicyRunner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void PolicyRunner::start(const tier::Policy& policy, const tier::PolicySettings& settings,
                         const tier::Placement& placement, bool fold) {
  if (step_ != Step::idle) {
    return;
  }
  policy_ = &policy;
  settings_ = settings;
  placement_ = placement;
  fold_ = fold;
  next_ = 0;
  entries_.resize(volume_.store().chunks());
  heat_.resize(volume_.store().chunks());
  step_ = Step::copying;
}

bool PolicyRunner::advance() {
  if (step_ == Step::copying) {
    constexpr std::uint64_t slice = 1 << 16;
    tier::Store& store = volume_.store();
    const std::uint64_t all = std::min<std::uint64_t>(entries_.size(), store.chunks());
    const std::uint64_t end = std::min(all, next_ + slice);
    const auto damping = static_cast<float>(settings_.damping);
    for (; next_ < end; ++next_) {
      tier::Heat& heat = store.heat[next_];
      tier::Heat now = heat;
      now.score =
          now.score * (fold_ ? damping : 1) + static_cast<float>(now.reads) + static_cast<float>(now.writes);
      if (fold_) {
        now.reads = now.writes = 0;
        heat = now;
      }
      entries_[next_] = store.entries[next_];
      heat_[next_] = now;
    }
    if (next_ == all) {
      tiers_.clear();
      for (unsigned tier = 0; tier < store.tier_count(); ++tier) {
        tiers_.push_back({.available = volume_.queue(tier) != nullptr && !volume_.draining(tier),
                          .slots = store.slots[tier].count(),
                          .free = volume_.space().free(tier)});
      }
      step_ = Step::thinking;
      {
        const std::lock_guard lock(mutex_);
        wanted_ = true;
      }
      wake_.notify_one();
    }
    return false;
  }
  if (step_ == Step::thinking && done_.exchange(false)) {
    step_ = Step::idle;
    return true;
  }
  return false;
}

void PolicyRunner::think() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return wanted_ || ending_; });
    if (ending_) {
      return;
    }
    wanted_ = false;
    lock.unlock();
    proposals_ = policy_->propose(
        {.entries = entries_, .heat = heat_, .tiers = tiers_, .placement = placement_.tier}, settings_);
    done_ = true;
    lock.lock();
  }
}

}  // namespace sluice::volume
