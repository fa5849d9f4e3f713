// stdio's own reads and writes.
#pragma once

namespace sluice::preload {

// Has them pass through ours from now on; false where this libc is not one that is known.
bool see_stdio();

}  // namespace sluice::preload
