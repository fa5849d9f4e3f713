// The wire between the hosts of a net: a small switch that gives every Ethernet frame to its receiver half a
// round-trip time after it came, and that can be stalled, cut and broken. It makes no system call and knows
// no clock: frames and the time come from the caller.
//
// A frame here begins with the header that the kernel puts before it (struct virtio_net_hdr), by which large
// bundles of segments pass as one frame and checksums need not be computed.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "lab/wire_command.h"
#include "lab/wire_flows.h"
#include "lab/wire_queue.h"

namespace sluice::lab {

struct WireCount {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;  // from the Ethernet header on
  void add(std::size_t size) {
    ++frames;
    bytes += size;
  }
};

// Of the frames that a host sent.
struct WirePort {
  Mac mac{};
  WireCount forwarded;
  WireCount dropped;
};

class Wire {
 public:
  // Gives a frame to the host at the port. False: it could not be had.
  using Send = std::function<bool(std::size_t port, const FrameBytes& frame)>;

  static constexpr std::size_t header_size = 10;
  static constexpr std::size_t memory = std::size_t{256} << 20;  // what frames on their way may take

  Wire(const std::vector<Mac>& hosts, Duration rtt, Send send, std::size_t budget = memory);

  // A frame came from the host at the port. REQUIRES: it is longer than the header.
  void arrive(std::size_t port, Instant when, FrameBytes frame);
  // Delivers frames that are due, some at a time. When it wants to be called again.
  Instant advance(Instant now);
  // Any command but status.
  void apply(const WireCommand& command);

  [[nodiscard]] std::string_view state() const { return down_ ? "down" : queue_.held() ? "stalled" : "up"; }
  [[nodiscard]] double rtt() const;
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] const std::vector<WirePort>& ports() const { return ports_; }
  [[nodiscard]] std::size_t connections() const { return flows_.alive(); }
  [[nodiscard]] const DelayQueue& queue() const { return queue_; }
  // Frames dropped because the memory was full.
  [[nodiscard]] std::uint64_t overflowed() const { return overflowed_; }

 private:
  static FrameView view(const FrameBytes& frame) { return FrameView(frame).subspan(header_size); }
  [[nodiscard]] bool lost();
  void drop(const WireFrame& frame) { ports_[frame.port].dropped.add(view(frame.bytes).size()); }
  bool deliver(std::size_t from, const FrameBytes& frame);
  // A frame of ours, without delay.
  void inject(const FrameBytes& frame);
  void cut();
  void go_down();

  std::vector<WirePort> ports_;
  Send send_;
  DelayQueue queue_;
  FlowTable flows_;
  bool down_ = false;
  double loss_ = 0;
  std::mt19937_64 dice_;
  std::uint64_t overflowed_ = 0;
};

}  // namespace sluice::lab
