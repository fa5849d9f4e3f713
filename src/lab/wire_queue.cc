#include "lab/wire_queue.h"

#include <algorithm>

namespace sluice::lab {
namespace {

// Small frames cost more than their bytes.
std::size_t cost(const WireFrame& frame) {
  return frame.bytes.size() + sizeof(WireFrame) + 16;
}

}  // namespace

bool DelayQueue::push(WireFrame frame) {
  const std::size_t size = cost(frame);
  if (size > budget_ - bytes_) {
    return false;
  }
  bytes_ += size;
  // Nearly always the last place.
  auto place = frames_.end();
  while (place != frames_.begin() && std::prev(place)->arrived > frame.arrived) {
    --place;
  }
  frames_.insert(place, std::move(frame));
  return true;
}

Instant DelayQueue::next() const {
  return held_ || frames_.empty() ? never : frames_.front().arrived + delay_;
}

std::optional<WireFrame> DelayQueue::pop(Instant now) {
  if (next() > now) {
    return {};
  }
  WireFrame out = std::move(frames_.front());
  frames_.pop_front();
  bytes_ -= cost(out);
  return out;
}

void DelayQueue::remove_if(const std::function<bool(const WireFrame&)>& wanted) {
  std::erase_if(frames_, [&](const WireFrame& frame) {
    const bool out = wanted(frame);
    bytes_ -= out ? cost(frame) : 0;
    return out;
  });
}

}  // namespace sluice::lab
