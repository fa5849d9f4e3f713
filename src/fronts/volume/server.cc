#include "fronts/volume/server.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

namespace sluice::volume {

using service::Instant;

Result<std::unique_ptr<VolumeServer>> VolumeServer::open(const VolumeFolder& folder,
                                                         service::Reactor& reactor) {
  std::unique_ptr<VolumeServer> out(new VolumeServer(folder, reactor));
  SLUICE_CHECK(out->start());
  return out;
}

VolumeServer::~VolumeServer() = default;

Status VolumeServer::start() {
  SLUICE_TRY(description_, folder_.read());
  SLUICE_TRY(policy_, tier::find_policy(description_.policy));
  settings_ = {.top = description_.top,
               .threshold = description_.threshold,
               .damping = description_.damping,
               .keep_free = description_.keep_free};
  SLUICE_TRY(tiers_, open_tiers(description_, false, false));
  for (const std::string& why : tiers_.missing) {
    log::warn("{}", why);
  }
  tier::VolumeOptions options;
  options.scheduler = description_.scheduler;
  options.move_rate = description_.move_rate;
  options.prefetch_slots = description_.prefetch_slots;
  options.update_copies = description_.update_copies;
  SLUICE_TRY(engine_, tier::Volume::open(tiers_.tiers, options, notes_));
  for (const std::string& note : notes_.notes) {
    log::warn("{}", note);
  }
  SLUICE_CHECK(place_labels());
  runner_ = std::make_unique<PolicyRunner>(*engine_);
  SLUICE_CHECK(reactor_.watch(tiers_.ring->fd(), [] {}));  // advance() polls
  for (const int fd : tiers_.fds) {
    SLUICE_CHECK(reactor_.watch(fd, [] {}));
  }
  SLUICE_TRY(control_, service::ControlServer::listen(
                           folder_, reactor_, [this](std::string_view line) { return command(line); }));
  started_ = steady_seconds();
  next_policy_ = service::monotonic_now() +
                 std::chrono::duration_cast<Instant>(std::chrono::duration<double>(description_.interval));
  return {};
}

Instant VolumeServer::advance(Instant now) {
  Instant next = engine_->advance(now);
  if (now >= next_policy_) {
    next_policy_ =
        now + std::chrono::duration_cast<Instant>(std::chrono::duration<double>(description_.interval));
    if (!runner_->busy()) {
      dry_run_ = false;
      runner_->start(*policy_, settings_, placement_, true);
    }
  }
  if (runner_->advance()) {
    if (dry_run_) {
      Json rows = Json::array();
      constexpr std::size_t most_rows = 500;
      for (const tier::Proposal& proposal : runner_->proposals()) {
        if (rows.size() == most_rows) {
          break;
        }
        rows.push_back({{"chunk", proposal.operation.chunk},
                        {"from", engine_->store().tier_name(proposal.operation.from)},
                        {"to", engine_->store().tier_name(proposal.operation.to)},
                        {"reason", tier::name_of(proposal.operation.reason)},
                        {"score", proposal.score},
                        {"last", proposal.last}});
      }
      last_proposals_ = std::move(rows);
    } else {
      ++policy_runs_;
      // What an earlier run wanted and nobody came to is out of date.
      backlog_.clear();
      for (const tier::Proposal& proposal : runner_->proposals()) {
        backlog_.push_back(proposal.operation);
      }
    }
  }
  while (!backlog_.empty() && engine_->queued() < 1024 && engine_->enqueue(backlog_.front())) {
    backlog_.pop_front();
  }
  if (runner_->busy()) {
    next = std::min(next, now + std::chrono::milliseconds(1));
  }
  if (!backlog_.empty()) {
    next = std::min(next, now + std::chrono::milliseconds(10));
  }
  // A connection that is made again has a descriptor that nobody watches.
  if (!tiers_.fds.empty()) {
    next = std::min(next, now + std::chrono::milliseconds(engine_->idle() ? 100 : 2));
  }
  return std::min(next, next_policy_);
}

Status VolumeServer::close() {
  backlog_.clear();
  for (const int fd : tiers_.fds) {
    reactor_.forget(fd);
  }
  return engine_->close();
}

}  // namespace sluice::volume
