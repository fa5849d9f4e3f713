// An NBD server as a tier: another machine's storage, or what a plug-in of nbdkit makes of something else. A
// connection that breaks fails the requests under way; the device connects again by itself.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tier/device.h"

namespace sluice::tier {

class NbdDevice : public Device {
 public:
  // The URI as in nbd://host:port/export or nbd+unix:///export?socket=path. Blocks until it is connected, for
  // at most ten seconds.
  static Result<std::unique_ptr<NbdDevice>> open(const std::string& uri, bool look_only);
  static bool is_uri(const std::string& path);

  // Readable or writable when poll() should be called; it changes when the device connects again.
  [[nodiscard]] virtual int fd() const = 0;
  [[nodiscard]] virtual bool connected() const = 0;
};

}  // namespace sluice::tier
