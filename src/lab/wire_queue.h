// Frames on their way. Each leaves a fixed time after it came, in the order in which they came; they may be
// pushed in a slightly different one (a kernel hands over what came on two processors as it likes).
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "lab/service.h"
#include "lab/wire_flows.h"

namespace sluice::lab {

struct WireFrame {
  std::size_t port = 0;  // where it came in
  Instant arrived{};
  FrameBytes bytes;
};

class DelayQueue {
 public:
  explicit DelayQueue(std::size_t budget) : budget_(budget) {}

  // For the frames that are on their way too: they keep their order.
  void set_delay(Instant delay) { delay_ = delay; }
  [[nodiscard]] Instant delay() const { return delay_; }
  // Nothing leaves while held.
  void set_held(bool held) { held_ = held; }
  [[nodiscard]] bool held() const { return held_; }

  // False: the frame would take more memory than there is, and is not kept.
  bool push(WireFrame frame);
  // The next frame whose time has come.
  std::optional<WireFrame> pop(Instant now);
  // When pop() will have a frame.
  [[nodiscard]] Instant next() const;
  // Takes out the frames for which `wanted` is true.
  void remove_if(const std::function<bool(const WireFrame&)>& wanted);

  [[nodiscard]] std::size_t frames() const { return frames_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t budget_;
  std::size_t bytes_ = 0;
  Instant delay_{};
  bool held_ = false;
  std::deque<WireFrame> frames_;
};

}  // namespace sluice::lab
