// The process that serves a volume: engine, policy, control socket. What carries the volume's blocks to their
// users (a FUSE file, nbdkit) stands above it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "fronts/volume/open_tiers.h"
#include "fronts/volume/policy_runner.h"
#include "fronts/volume/volume_folder.h"
#include "service/control.h"
#include "service/reactor.h"
#include "tier/volume.h"

namespace sluice::volume {

class VolumeServer {
 public:
  static Result<std::unique_ptr<VolumeServer>> open(const VolumeFolder& folder, service::Reactor& reactor);
  ~VolumeServer();
  VolumeServer(const VolumeServer&) = delete;
  VolumeServer& operator=(const VolumeServer&) = delete;

  [[nodiscard]] tier::Volume& engine() { return *engine_; }
  // Goes on with everything; returns when it wants to be called again.
  service::Instant advance(service::Instant now);
  // Ends the session in order. Nothing may be submitted any more.
  Status close();

 private:
  VolumeServer(const VolumeFolder& folder, service::Reactor& reactor) : folder_(folder), reactor_(reactor) {}
  Status start();

  // commands.cc
  Result<Json> command(std::string_view line);
  [[nodiscard]] Json status() const;
  [[nodiscard]] Json statistics();
  Result<Json> map(const Json& request);
  Result<Json> heat(const Json& request);
  Result<Json> operate(const Json& request);
  Result<Json> hint(const Json& request);
  Result<Json> drain(const Json& request, bool on);
  [[nodiscard]] Json left_on(unsigned tier) const;
  Result<Json> propose(const Json& request);
  Result<Json> configure(const Json& request);
  Result<Json> add_tier(const Json& request);
  Result<Json> remove_tier(const Json& request);
  Result<Json> resize(const Json& request);
  [[nodiscard]] Result<unsigned> tier_named(const std::string& name) const;
  Status place_labels();

  VolumeFolder folder_;
  service::Reactor& reactor_;
  Description description_;
  OpenTiers tiers_;
  tier::Store::Loaded notes_;
  std::unique_ptr<tier::Volume> engine_;
  std::unique_ptr<PolicyRunner> runner_;
  std::unique_ptr<service::ControlServer> control_;
  const tier::Policy* policy_ = nullptr;
  tier::PolicySettings settings_{};
  tier::Placement placement_{};
  service::Instant next_policy_{};
  bool dry_run_ = false;
  Json last_proposals_ = nullptr;        // of the last dry run
  std::deque<tier::Operation> backlog_;  // what the policy wants and the queue has no room for
  std::uint64_t policy_runs_ = 0;
  double started_ = 0;
};

}  // namespace sluice::volume
