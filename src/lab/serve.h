// A device behind FUSE: LAB/NAME/disk is a file of the device's size; whoever reads and writes it (through a
// loop device with direct I/O, so that no page cache hides it) gets what the model gives.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lab/model.h"
#include "lab/service.h"

namespace sluice::lab {

struct DeviceOptions {
  std::string name = {};
  Model model = {};
  std::uint64_t size = 0;
  std::string backing = {};             // a file, or "" for memory
  bool foreground = false;              // serve in this process until a signal comes
  std::function<void()> announce = {};  // called in the foreground when the device can be used
  // What this machine adds to a request, taken off what the model owes; measured where it is not given.
  std::optional<Instant> overhead = {};
  std::string place = {};       // of `lab up`, which it is a part of
  bool remove_backing = false;  // remove_device() removes the file too
};

// The checks that need no lab: size, model.
Status check(const DeviceOptions& options);

// Creates the member and starts its server. Returns the status of the device with "name", "file", "control"
// and "pid", when it can be used (in the foreground: prints nothing and returns after the end).
// REQUIRES: the lab's lock.
Result<Json> start_device(const std::string& lab, UniqueFd& lock, const DeviceOptions& options);

// The file that a device serves.
std::string device_file(const Member& member);
Result<Json> device_status(const Member& member);

// Ends the server and removes what the device made. Loop devices and mounts on it must be gone.
Status remove_device(const Member& member);

}  // namespace sluice::lab
