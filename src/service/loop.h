// Loop devices: a file as a block device, past the page cache.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/sys.h"

namespace sluice::service {

struct LoopDevice {
  std::string path;  // /dev/loop3
  UniqueFd fd;
};

// Attaches the file to a free loop device with direct I/O. With `autoclear` it detaches itself when nobody
// has it open any more.
Result<LoopDevice> attach_loop(const std::string& file, bool autoclear, unsigned sector = 512);
// Every loop device whose file lies below the folder.
std::vector<std::string> loops_below(const std::string& folder);
// Detaches it at once, or when its last user is gone; but not when it is another's by now.
Status detach_loop(const std::string& path, const std::string& folder);

}  // namespace sluice::service
