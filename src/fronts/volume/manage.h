// What the verbs of `sluice volume` do: make a volume, start and end its server, make a block device of it,
// and look at it while nobody serves it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "fronts/volume/volume_folder.h"
#include "tier/store.h"

namespace sluice::volume {

// Makes files, labels and an empty map. Without `force`, refuses what holds something. Tiers come from fast
// to slow.
Result<Json> create_volume(const VolumeFolder& folder, Description description, const tier::VolumePlan& plan,
                           bool force);
// Describes a volume whose tiers have labels already.
Result<Json> adopt_volume(const VolumeFolder& folder, Description description);
// Forgets it, and with `wipe` removes labels and the files that were made.
Status remove_volume(const VolumeFolder& folder, bool wipe);

// In the background: returns the server's status. In the foreground: returns when it has ended.
Result<Json> serve_volume(const VolumeFolder& folder, bool foreground, const std::function<void()>& announce);
// Refused while a loop device is attached, unless `force`.
Status stop_volume(const VolumeFolder& folder, bool force);

// "/dev/loopN", with sectors of 4 KiB and direct I/O. The volume must be served.
Result<std::string> attach_volume(const VolumeFolder& folder);
std::vector<std::string> attached_devices(const VolumeFolder& folder);
// Refused while it is mounted or open.
Status detach_volume(const VolumeFolder& folder);

// Tells loop devices that are attached that the file has another size now.
Status tell_size(const VolumeFolder& folder);
// What add-tier refuses before the server sees it.
Status check_new_tier(const VolumeFolder& folder, const TierSpec& spec, bool force);

// Offline. {"clean", "notes", "missing", "chunks", "mapped", "lost": [{"offset", "length", "tier"}...]}; with
// `read` every mapped chunk is read too.
Result<Json> check_volume(const VolumeFolder& folder, bool read);

}  // namespace sluice::volume
