// A volume as a file, VOLUMES/NAME/disk, which a loop device makes a block device of. One process serves it:
// FUSE requests, engine and control socket share its thread.
#pragma once

#include "fronts/volume/volume_folder.h"
#include "service/daemon.h"

namespace sluice::volume {

// Serves until a signal or `stop`. To be given to start_server() or serve_here().
Status serve_file(const VolumeFolder& folder, const service::Ready& ready);

}  // namespace sluice::volume
