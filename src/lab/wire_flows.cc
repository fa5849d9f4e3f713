#include "lab/wire_flows.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace sluice::lab {
namespace {

// Sequence numbers wrap around.
bool before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

std::uint32_t later(std::uint32_t a, std::uint32_t b) {
  return before(a, b) ? b : a;
}

}  // namespace

std::size_t FlowTable::Hash::operator()(const Key& key) const {
  std::size_t out = key.six ? 1 : 0;
  for (const TcpEnd* end : {&key.low, &key.high}) {
    const std::string_view address(reinterpret_cast<const char*>(end->address.data()), end->address.size());
    out = out * 1000003 ^ std::hash<std::string_view>()(address) ^ end->port;
  }
  return out;
}

FlowTable::Key FlowTable::key_of(const TcpSegment& segment) {
  return {.six = segment.six,
          .low = std::min(segment.from, segment.to),
          .high = std::max(segment.from, segment.to)};
}

FlowTable::Flow* FlowTable::find(const Key& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) {
    return nullptr;
  }
  flows_.splice(flows_.begin(), flows_, found->second);
  return &flows_.front();
}

FlowTable::Flow* FlowTable::begin(const Key& key) {
  if (Flow* old = find(key)) {
    *old = Flow{.key = key, .streams = {}, .cut = false};
    return old;
  }
  if (flows_.size() >= limit_) {
    index_.erase(flows_.back().key);
    flows_.pop_back();
  }
  flows_.push_front(Flow{.key = key, .streams = {}, .cut = false});
  index_[key] = flows_.begin();
  return &flows_.front();
}

std::optional<FrameBytes> FlowTable::arrived(FrameView frame) {
  const auto segment = parse_tcp(frame);
  if (!segment) {
    return {};
  }
  const Key key = key_of(*segment);
  const std::size_t sender = key.low == segment->from ? 0 : 1;
  const std::uint32_t next = segment->sequence + segment->length;
  Flow* flow = find(key);
  if (segment->syn && !segment->acknowledged) {
    // The same numbers again are the same attempt, unless that was cut.
    if (flow == nullptr || flow->cut || flow->streams[sender].sent != next) {
      flow = begin(key);
    }
    flow->streams[1 - sender].mac = segment->to_mac;
  }
  if (flow == nullptr) {
    return {};
  }
  if (flow->cut) {
    if (segment->rst) {
      return FrameBytes{};
    }
    // What a host does that knows nothing of the connection.
    return build_tcp({.six = segment->six,
                      .from_mac = segment->to_mac,
                      .to_mac = segment->from_mac,
                      .from = segment->to,
                      .to = segment->from,
                      .sequence = segment->acknowledged.value_or(0),
                      .length = 0,
                      .acknowledged = segment->acknowledged ? std::optional<std::uint32_t>{} : next,
                      .syn = false,
                      .fin = false,
                      .rst = true});
  }
  Stream& stream = flow->streams[sender];
  stream.mac = segment->from_mac;
  stream.sent = later(stream.sent.value_or(next), next);
  Stream& heard = flow->streams[1 - sender];
  if (segment->acknowledged && heard.edge) {
    heard.edge = later(*heard.edge, *segment->acknowledged);
  }
  return {};
}

void FlowTable::delivered(FrameView frame) {
  const auto segment = parse_tcp(frame);
  Flow* const flow = segment ? find(key_of(*segment)) : nullptr;
  if (flow == nullptr || flow->cut) {
    return;
  }
  const std::size_t sender = flow->key.low == segment->from ? 0 : 1;
  Stream& stream = flow->streams[sender];
  const std::uint32_t next = segment->sequence + segment->length;
  if (!stream.edge) {
    // Data that comes with a SYN need not have been taken.
    stream.edge = segment->syn ? segment->sequence + 1 : next;
    stream.top = next;
  } else {
    if (!before(*stream.edge, segment->sequence)) {
      stream.edge = later(*stream.edge, next);
    }
    stream.top = later(stream.top, next);
  }
  stream.finished = stream.finished || segment->fin;
  if (segment->rst || (stream.finished && flow->streams[1 - sender].finished)) {
    index_.erase(flow->key);
    flows_.pop_front();
  }
}

void FlowTable::reset_end(const Flow& flow, std::size_t receiver, std::vector<FrameBytes>& out) {
  const Stream& own = flow.streams[receiver];
  const Stream& other = flow.streams[1 - receiver];
  if (!own.sent && !other.edge) {
    return;  // it knows nothing of the connection yet
  }
  // An end that still waits for its SYN to be answered looks at the acknowledgement alone.
  TcpSegment segment{.six = flow.key.six,
                     .from_mac = other.mac,
                     .to_mac = own.mac,
                     .from = receiver == 0 ? flow.key.high : flow.key.low,
                     .to = receiver == 0 ? flow.key.low : flow.key.high,
                     .sequence = other.edge.value_or(0),
                     .length = 0,
                     .acknowledged = own.sent,
                     .syn = false,
                     .fin = false,
                     .rst = true};
  out.push_back(build_tcp(segment));
  if (other.edge && before(*other.edge, other.top)) {  // there is a gap, or one was filled just now
    segment.sequence = other.top;
    out.push_back(build_tcp(segment));
  }
}

std::vector<FrameBytes> FlowTable::cut() {
  std::vector<FrameBytes> out;
  for (Flow& flow : flows_) {
    if (!flow.cut) {
      reset_end(flow, 0, out);
      reset_end(flow, 1, out);
      flow.cut = true;
    }
  }
  return out;
}

std::size_t FlowTable::alive() const {
  return static_cast<std::size_t>(
      std::count_if(flows_.begin(), flows_.end(), [](const Flow& flow) { return !flow.cut; }));
}

}  // namespace sluice::lab
