#include "lab/wire.h"

#include <algorithm>

namespace sluice::lab {
namespace {

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

Instant half(Duration rtt) {
  return (std::chrono::seconds(rtt.whole_seconds()) + Instant(rtt.nanoseconds())) / 2;
}

}  // namespace

Wire::Wire(const std::vector<Mac>& hosts, Duration rtt, Send send, std::size_t budget)
    : send_(std::move(send)), queue_(budget) {
  for (const Mac& mac : hosts) {
    ports_.push_back({.mac = mac, .forwarded = {}, .dropped = {}});
  }
  queue_.set_delay(half(rtt));
}

double Wire::rtt() const {
  return 2 * std::chrono::duration<double>(queue_.delay()).count();
}

bool Wire::lost() {
  constexpr double unit = 1.0 / (std::uint64_t{1} << 53);
  return loss_ > 0 && static_cast<double>(dice_() >> 11) * unit < loss_;
}

void Wire::arrive(std::size_t port, Instant when, FrameBytes bytes) {
  const std::optional<FrameBytes> refusal = flows_.arrived(view(bytes));
  WireFrame frame{.port = port, .arrived = when, .bytes = std::move(bytes)};
  if (down_ || refusal || lost()) {
    drop(frame);
    if (refusal && !refusal->empty()) {
      inject(*refusal);  // also when down: a cut comes through in any state
    }
    return;
  }
  const std::size_t size = view(frame.bytes).size();
  if (!queue_.push(std::move(frame))) {
    ports_[port].dropped.add(size);
    ++overflowed_;
  }
}

Instant Wire::advance(Instant now) {
  // Not all at once: hosts that send meanwhile must not wait for a long backlog.
  constexpr int at_once = 128;
  for (int i = 0; i < at_once; ++i) {
    const auto frame = queue_.pop(now);
    if (!frame) {
      break;
    }
    flows_.delivered(view(frame->bytes));
    if (deliver(frame->port, frame->bytes)) {
      ports_[frame->port].forwarded.add(view(frame->bytes).size());
    } else {
      drop(*frame);
    }
  }
  return queue_.next();
}

bool Wire::deliver(std::size_t from, const FrameBytes& frame) {
  const FrameView ethernet = view(frame);
  if (ethernet.size() < 14) {
    return false;
  }
  const bool group = (ethernet[0] & 1) != 0;
  const auto known =
      group ? ports_.end() : std::find_if(ports_.begin(), ports_.end(), [&](const WirePort& port) {
        return std::equal(port.mac.begin(), port.mac.end(), ethernet.begin());
      });
  if (known != ports_.end()) {
    const auto to = static_cast<std::size_t>(known - ports_.begin());
    return to != from && send_(to, frame);
  }
  bool sent = false;
  for (std::size_t to = 0; to < ports_.size(); ++to) {
    sent = (to != from && send_(to, frame)) || sent;
  }
  return sent;
}

void Wire::inject(const FrameBytes& frame) {
  FrameBytes whole(header_size + frame.size());
  std::copy(frame.begin(), frame.end(), whole.begin() + header_size);
  deliver(nobody, whole);
}

void Wire::cut() {
  queue_.remove_if([&](const WireFrame& frame) {
    const bool tcp = parse_tcp(view(frame.bytes)).has_value();
    if (tcp) {
      drop(frame);
    }
    return tcp;
  });
  for (const FrameBytes& frame : flows_.cut()) {
    inject(frame);
  }
}

void Wire::go_down() {
  down_ = true;
  queue_.remove_if([&](const WireFrame& frame) {
    drop(frame);
    return true;
  });
}

void Wire::apply(const WireCommand& command) {
  using Kind = WireCommand::Kind;
  switch (command.kind) {
    case Kind::status:
      break;
    case Kind::stall:
      queue_.set_held(true);
      break;
    case Kind::release:
      queue_.set_held(false);
      break;
    case Kind::cut:
      cut();
      break;
    case Kind::down:
      go_down();
      break;
    case Kind::up:
      down_ = false;
      break;
    case Kind::loss:
      loss_ = command.loss;
      dice_.seed(std::mt19937_64::default_seed);  // the same frames are lost every time
      break;
    case Kind::rtt:
      queue_.set_delay(half(command.rtt));
      break;
    case Kind::clear:
      queue_.set_held(false);
      down_ = false;
      loss_ = 0;
      break;
  }
}

}  // namespace sluice::lab
