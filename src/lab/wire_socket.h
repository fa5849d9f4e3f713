// One end of a veth as the wire sees it: a packet socket.
#pragma once

#include <functional>
#include <string>

#include "lab/wire.h"

namespace sluice::lab {

class WireSocket {
 public:
  // All frames of the network interface, in the network namespace of this thread.
  static Result<WireSocket> open(const std::string& interface);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Reads some of the frames that are there.
  void receive(const std::function<void(Instant when, FrameBytes frame)>& each);
  bool send(const FrameBytes& frame);
  // Frames that were lost, since the last call, because they were not read in time.
  std::uint64_t take_missed();

 private:
  UniqueFd fd_;
};

}  // namespace sluice::lab
