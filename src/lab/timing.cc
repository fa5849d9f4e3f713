#include "lab/timing.h"

#include <algorithm>
#include <cmath>

namespace sluice::lab {
namespace {

// What is moved from the cache at once: long enough to be worth the seek, short enough not to keep a read
// waiting.
constexpr std::uint64_t destage_piece = std::uint64_t{256} * 1024;

// So that no sum of times overflows.
constexpr double longest = 1e8;

Instant seconds(double value) {
  return Instant(static_cast<Instant::rep>(std::llround(std::min(value, longest) * 1e9)));
}

Instant transfer(std::uint64_t bytes, double bandwidth) {
  return bandwidth > 0 ? seconds(static_cast<double>(bytes) / bandwidth) : Instant::zero();
}

// Adds [offset, offset + length); returns how many bytes were not there before.
std::uint64_t insert(std::map<std::uint64_t, std::uint64_t>& extents, std::uint64_t offset,
                     std::uint64_t length) {
  std::uint64_t begin = offset;
  std::uint64_t end = offset + length;
  std::uint64_t had = 0;
  auto at = extents.upper_bound(begin);
  if (at != extents.begin() && std::prev(at)->first + std::prev(at)->second >= begin) {
    --at;
  }
  while (at != extents.end() && at->first <= end) {
    had += at->second;
    begin = std::min(begin, at->first);
    end = std::max(end, at->first + at->second);
    at = extents.erase(at);
  }
  extents[begin] = end - begin;
  return end - begin - had;
}

}  // namespace

Timing::Timing(const Model& model, std::uint64_t size, Instant overhead)
    : model_(model),
      size_(std::max<std::uint64_t>(size, 1)),
      overhead_(overhead),
      random_(static_cast<std::uint64_t>(model.seed)) {
  channels_.resize(static_cast<std::size_t>(model.parallel));
}

void Timing::change(const Model& model, Instant now) {
  if (model.seed != model_.seed) {
    random_.seed(static_cast<std::uint64_t>(model.seed));
  }
  model_ = model;
  channels_.resize(static_cast<std::size_t>(model.parallel));
  gate_ = {};
  if (model.instant()) {
    bus_free_ = cache_bus_free_ = {};
    for (Channel& channel : channels_) {
      channel.free_at = {};
    }
    for (Events* events : {&done_, &destaging_}) {
      Events at_once;
      for (; !events->empty(); events->pop()) {
        at_once.push({.id = events->top().id, .at = std::min(now, events->top().at)});
      }
      events->swap(at_once);
    }
  }
}

void Timing::forget() {
  waiting_.clear();
  blocked_.clear();
  flushes_.clear();
  cached_.clear();
  fresh_.clear();
  dirty_ = 0;
  destaging_ = {};
  done_ = {};
  bus_free_ = cache_bus_free_ = gate_ = {};
  std::fill(channels_.begin(), channels_.end(), Channel{});
}

void Timing::submit(std::uint64_t id, Op op, std::uint64_t offset, std::uint64_t length, Instant at) {
  advance(at);
  const Request request{
      .id = id, .op = op, .offset = offset, .length = length, .at = at, .from = at - overhead_};
  if (op == Op::flush) {
    flushes_.push_back(request);
    finish_flushes(request.from);
  } else if (op == Op::write && static_cast<double>(length) <= model_.cache) {
    if (blocked_.empty() && cache_has_room(length)) {
      accept_write(request, request.from);
    } else {
      blocked_.push_back(request);
    }
  } else {
    waiting_.push_back(request);
  }
}

std::optional<Timing::Done> Timing::next(Instant now) {
  advance(now);
  if (done_.empty() || done_.top().at > now) {
    return {};
  }
  const Done out = done_.top();
  done_.pop();
  return out;
}

Instant Timing::next_event() const {
  Instant out = next_decision();
  for (const Events* events : {&done_, &destaging_}) {
    out = events->empty() ? out : std::min(out, events->top().at);
  }
  return out;
}

// Decisions and ends of destaging, in the order of their times.
void Timing::advance(Instant now) {
  for (;;) {
    const Instant event = destaging_.empty() ? never : destaging_.top().at;
    const Instant decision = next_decision();
    if (std::min(event, decision) > now) {
      return;
    }
    if (event <= decision) {
      finish_destage();
    } else {
      dispatch(decision);
    }
  }
}

Instant Timing::next_decision() const {
  const auto earlier = [](const Channel& a, const Channel& b) { return a.free_at < b.free_at; };
  const Instant free = std::min_element(channels_.begin(), channels_.end(), earlier)->free_at;
  Instant out = never;
  if (!waiting_.empty()) {
    out = std::max(free, waiting_.front().from);
  }
  if (!cached_.empty() && (waiting_.empty() || destage_presses())) {
    out = std::min(out, std::max(free, destage_from_));
  }
  return out;
}

void Timing::dispatch(Instant when) {
  const bool can_serve = !waiting_.empty() && waiting_.front().from <= when;
  const bool can_destage =
      !cached_.empty() && destage_from_ <= when && (waiting_.empty() || destage_presses());
  if (can_destage && (!can_serve || destage_next_)) {
    destage_next_ = false;
    destage(when);
  } else {
    destage_next_ = true;
    serve_waiting(when);
  }
}

void Timing::serve_waiting(Instant when) {
  const std::size_t chosen = nearest_waiting(when);
  if (chosen != 0) {
    ++waiting_.front().passed;
  }
  const Request request = waiting_[chosen];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
  done_.push({.id = request.id, .at = serve(request.op, request.offset, request.length, request.at, when)});
}

// The next piece on the head's way up, then from the beginning again.
void Timing::destage(Instant when) {
  const std::uint64_t head = earliest_channel().head;
  auto at = cached_.upper_bound(head);
  if (at != cached_.begin() && std::prev(at)->first + std::prev(at)->second > head) {
    --at;
  } else if (at == cached_.end()) {
    at = cached_.begin();
  }
  const auto [offset, length] = *at;
  std::uint64_t piece = std::min(length, destage_piece);
  if (const auto block = static_cast<std::uint64_t>(model_.block); piece < length && block > 0) {
    const std::uint64_t beyond =
        (offset + piece) % block;  // a cut in the middle of a block would cost a read
    piece -= beyond < piece ? beyond : 0;
  }
  cached_.erase(at);
  if (piece < length) {
    cached_[offset + piece] = length - piece;
  }
  destaging_.push({.id = piece, .at = serve(Op::write, offset, piece, when - Instant(1), when)});
}

void Timing::finish_destage() {
  const Done event = destaging_.top();
  destaging_.pop();
  dirty_ -= event.id;
  while (!blocked_.empty() && cache_has_room(blocked_.front().length)) {
    accept_write(blocked_.front(), event.at);
    blocked_.pop_front();
  }
  finish_flushes(event.at);
}

void Timing::finish_flushes(Instant when) {
  while (!flushes_.empty() && cached_.empty() && destaging_.empty()) {
    const Request& flush = flushes_.front();
    done_.push({.id = flush.id, .at = std::max(when, flush.from) + latency(model_.flush_latency)});
    flushes_.pop_front();
    cached_.swap(fresh_);
  }
}

bool Timing::cache_has_room(std::uint64_t length) const {
  return dirty_ == 0 || static_cast<double>(dirty_ + length) <= model_.cache;
}

void Timing::accept_write(const Request& request, Instant when) {
  dirty_ += insert(flushes_.empty() ? cached_ : fresh_, request.offset, request.length);
  destage_from_ = std::max(destage_from_, when);
  const Instant begin = std::max(when, cache_bus_free_);
  const Instant moving = transfer(request.length, model_.cache_bandwidth);
  cache_bus_free_ = begin + moving;
  done_.push({.id = request.id, .at = begin + moving + latency(model_.cache_latency)});
}

Timing::Channel& Timing::earliest_channel() {
  return *std::min_element(channels_.begin(), channels_.end(),
                           [](const Channel& a, const Channel& b) { return a.free_at < b.free_at; });
}

// What a write to the medium reads first: the block at its start and the block at its end, where it covers a
// part of them only. The start of a piece that continues another was paid for as that one's end.
Instant Timing::partial_blocks(std::uint64_t offset, std::uint64_t length, bool continues) const {
  const auto block = static_cast<std::uint64_t>(model_.block);
  if (block == 0 || length == 0) {
    return Instant::zero();
  }
  const std::uint64_t end = offset + length;
  const bool at_start = !continues && offset % block != 0;
  const bool at_end = end % block != 0 && !(at_start && offset / block == end / block);
  const Instant one = seconds(model_.read_latency) + transfer(block, model_.read_bandwidth);
  return (at_start ? one : Instant::zero()) + (at_end ? one : Instant::zero());
}

// When a request is done that some channel takes at `when`.
Instant Timing::serve(Op op, std::uint64_t offset, std::uint64_t length, Instant arrived, Instant when) {
  const auto continued = std::find_if(channels_.begin(), channels_.end(), [&](const Channel& channel) {
    return channel.last == op && channel.head == offset && arrived < channel.free_at;
  });
  const bool continues = continued != channels_.end();
  Channel& channel = continues ? *continued : earliest_channel();
  Instant start = std::max(when, channel.free_at);
  const Instant bus =
      std::max(start, bus_free_);  // the turn on the bus counts from here, whatever the latency
  if (!continues) {
    start = std::max(start, gate_);
    gate_ = model_.iops > 0 ? start + seconds(1 / model_.iops) : Instant::zero();
    start += latency(op == Op::read ? model_.read_latency : model_.write_latency);
    start += positioning(channel, offset, start);
  }
  if (op == Op::write) {
    start += partial_blocks(offset, length, continues);
  }
  const Instant moving = transfer(length, op == Op::read ? model_.read_bandwidth : model_.write_bandwidth);
  bus_free_ = bus + moving;
  channel.free_at = std::max(start, bus) + moving;
  channel.head = offset + length;
  channel.last = op;
  return channel.free_at;
}

// A disk that goes on where it was needs neither seek nor rotation: it reads ahead.
Instant Timing::positioning(const Channel& channel, std::uint64_t offset, Instant when) const {
  if (offset == channel.head || (model_.seek_full <= 0 && model_.rpm <= 0)) {
    return Instant::zero();
  }
  const auto distance =
      static_cast<double>(offset > channel.head ? offset - channel.head : channel.head - offset);
  const double turn = model_.rpm > 0 ? 60 / model_.rpm : 0;
  const double track = turn * model_.read_bandwidth;
  double out = 0;
  if (turn <= 0 || distance >= track) {
    const double share = std::sqrt(std::min(1.0, distance / static_cast<double>(size_)));
    out = model_.seek + (model_.seek_full - model_.seek) * share;
  }
  if (turn > 0) {
    const double there = std::fmod(static_cast<double>((when + seconds(out)).count()) * 1e-9 / turn, 1.0);
    const double wanted = std::fmod(static_cast<double>(offset) / track, 1.0);
    out += (wanted >= there ? wanted - there : wanted - there + 1) * turn;
  }
  return seconds(out);
}

// Among those that are there; the first one where distance does not matter, or when it was passed too often.
std::size_t Timing::nearest_waiting(Instant when) const {
  const auto depth = static_cast<std::size_t>(model_.queue_depth);
  if ((model_.seek_full <= 0 && model_.rpm <= 0) || waiting_.front().passed >= 4 * depth) {
    return 0;
  }
  const Channel& channel =
      *std::min_element(channels_.begin(), channels_.end(),
                        [](const Channel& a, const Channel& b) { return a.free_at < b.free_at; });
  std::size_t out = 0;
  Instant least = never;
  for (std::size_t i = 0; i < std::min(depth, waiting_.size()) && waiting_[i].from <= when; ++i) {
    const Instant cost = positioning(channel, waiting_[i].offset, when);
    if (cost < least) {
      least = cost;
      out = i;
    }
  }
  return out;
}

// Log-normal with this mean, and with the model's chance something on top.
Instant Timing::latency(double mean) {
  double out = mean;
  if (model_.spread > 0 && mean > 0) {
    const double variance = std::log1p(model_.spread * model_.spread);
    out = std::lognormal_distribution<double>(std::log(mean) - variance / 2, std::sqrt(variance))(random_);
  }
  if (model_.tail_rate > 0 && mean > 0 && std::bernoulli_distribution(model_.tail_rate)(random_)) {
    out += std::exponential_distribution<double>(1 / std::max(model_.tail_latency, 1e-12))(random_);
  }
  return seconds(out);
}

}  // namespace sluice::lab
