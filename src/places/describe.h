// From what a machine said about one mount to a place with its traits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "places/devices.h"
#include "places/machine.h"
#include "places/mounts.h"
#include "places/network.h"
#include "places/place.h"
#include "places/zfs.h"

namespace sluice {

class Describer {
 public:
  // REQUIRES: all of them outlive this object.
  Describer(const Machine& machine, const Mounts& mounts, const LvmVolumes& volumes, const ZfsPools& pools)
      : machine_(machine), mounts_(mounts), pools_(pools), tree_(machine, mounts, volumes) {}

  // All but the name, and without defaults. `uuid` is "" when unknown.
  Place describe(const Mount& mount, const Answer& answer, std::string uuid, const NetworkFacts& network);

 private:
  std::optional<Device> device_of(const Mount& mount, const std::string& uuid, const NetworkFacts& network);
  void describe_type(const Mount& mount, const Answer& answer, const NetworkFacts& network,
                     Place& place) const;

  const Machine& machine_;
  const Mounts& mounts_;
  const ZfsPools& pools_;
  DeviceTree tree_;
};

// Reach, where data would go, space and quota: what depends on the folder and the user.
void describe_answer(const Answer& answer, const std::string& folder, Place& place);

}  // namespace sluice
