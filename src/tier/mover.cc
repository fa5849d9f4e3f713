// The operations: chunks on their way to another tier, to a further copy, or into the prefetch buffer.
#include <algorithm>
#include <cerrno>

#include "tier/volume_state.h"

namespace sluice::tier {

const char* name_of(Action action) {
  switch (action) {
    case Action::redirect:
      return "redirect";
    case Action::migrate:
      return "migrate";
    case Action::replicate:
      return "replicate";
    case Action::prefetch:
      return "prefetch";
    case Action::drop:
      break;
  }
  return "drop";
}

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::asked:
      return "asked";
    case Reason::promotion:
      return "promotion";
    case Reason::demotion:
      return "demotion";
    case Reason::hint:
      return "hint";
    case Reason::drain:
      return "drain";
    case Reason::repair:
      break;
  }
  return "repair";
}

bool Volume::enqueue(const Operation& operation) {
  if (queue_count_ + parked_count_ >= queue_.size()) {
    return false;
  }
  queue_[(queue_first_ + queue_count_++) % queue_.size()] = operation;
  return true;
}

void Volume::start_moves() {
  // Those that cannot begin now go to the end; not all are tried each time.
  constexpr std::size_t most_tries = 16;
  for (std::size_t tried = std::min(queue_count_, most_tries); tried > 0 && moving_ < moves_.size();
       --tried) {
    // Fronts must always find a state.
    if (free_states_ <= most_pieces) {
      return;
    }
    const Operation operation = queue_[queue_first_];
    queue_first_ = (queue_first_ + 1) % queue_.size();
    --queue_count_;
    switch (start_move(operation)) {
      case Started::begun:
        break;
      case Started::nothing_to_do:
        if (on_end) {
          on_end(operation, 0);
        }
        break;
      case Started::later:
        queue_[(queue_first_ + queue_count_++) % queue_.size()] = operation;
        break;
      case Started::parked:
        parked_[parked_count_++] = operation;
        break;
    }
  }
}

std::uint64_t Volume::spare_slots() const {
  std::uint64_t free = 0;
  for (unsigned tier = 0; tier < store_->tier_count(); ++tier) {
    const bool counts = queues_[tier] != nullptr && !draining(tier) && store_->persistent(tier);
    free += counts ? space_->free(tier) : 0;
  }
  const std::uint64_t owed = store_->chunks() - store_->mapped;
  return free > owed ? free - owed : 0;
}

Volume::Started Volume::start_move(const Operation& asked) {
  Operation operation = asked;
  if (operation.to < store_->tier_count() && !store_->persistent(operation.to) &&
      (operation.action == Action::migrate || operation.action == Action::redirect)) {
    operation.action = Action::replicate;  // a volatile tier never has the only copy
  }
  if (operation.chunk >= store_->chunks()) {
    return Started::nothing_to_do;
  }
  Entry& entry = store_->entries[operation.chunk];
  entry.flags &= static_cast<std::uint16_t>(~flag_queued);
  ChunkState* state = (entry.flags & flag_busy) != 0 ? find_state(operation.chunk) : nullptr;
  if (state != nullptr && (state->move != nullptr || state->exclusive != Exclusive::none ||
                           state->fresh.exists() || state->wants_slot)) {
    return Started::later;
  }
  const bool replicated = (entry.flags & flag_replicated) != 0;
  if (operation.action == Action::drop) {
    if (!replicated) {
      return Started::nothing_to_do;
    }
    state = state != nullptr ? state : make_state(operation.chunk);
    begin_exclusive(*state, Exclusive::drop_copies);
    return Started::begun;
  }
  const Place first = entry.place();
  const bool by_policy = operation.reason == Reason::promotion || operation.reason == Reason::demotion;
  if (!first.exists() || (operation.from != no_tier && operation.from != first.tier) ||
      (by_policy && entry.hints().pinned) || operation.to >= store_->tier_count() ||
      (operation.to == first.tier && operation.action != Action::replicate)) {
    return Started::nothing_to_do;
  }
  const Place from = replicated ? pick_copy(operation.chunk, 0) : first;
  if (queues_[from.tier] == nullptr) {
    return Started::parked;
  }
  if (operation.action == Action::replicate) {
    const Replicas::Copies copies = store_->replicas.find(operation.chunk);
    const auto* const end = copies.places.begin() + copies.count;
    if (first.tier == operation.to || copies.count == copies.places.size() ||
        store_->replicas.count() == store_->replicas.most() ||
        std::any_of(copies.places.begin(), end, [&](Place it) { return it.tier == operation.to; })) {
      return Started::nothing_to_do;
    }
  }
  if (operation.action == Action::prefetch) {
    if (options_.prefetch_slots == 0 || replicated || (state != nullptr && state->cached.exists())) {
      return Started::nothing_to_do;
    }
    if (prefetched_ >= options_.prefetch_slots) {
      return evict_prefetched(operation.chunk) ? Started::later : Started::nothing_to_do;
    }
  } else if (state != nullptr && state->cached.exists()) {
    drop_cache(*state);
    return Started::later;
  }
  if (draining(operation.to) || queues_[operation.to] == nullptr) {
    return Started::parked;
  }
  // A further copy stays, so it leaves room for moves.
  const std::uint64_t spare = spare_slots();
  if (operation.reason != Reason::drain && store_->persistent(operation.to) &&
      spare <= (operation.action == Action::replicate ? moves_.size() + 2 : 0)) {
    return operation.action == Action::prefetch ? Started::nothing_to_do : Started::parked;
  }
  const std::uint64_t slot = space_->take_any(operation.to);
  if (slot == no_slot) {
    if (operation.action == Action::prefetch) {
      return Started::nothing_to_do;  // short of space: a prefetch is not worth waiting for
    }
    return evict_prefetched(operation.chunk) ? Started::later : Started::parked;
  }

  Move& move = *std::find_if(moves_.begin(), moves_.end(), [](const Move& it) { return !it.active; });
  std::byte* const data = move.data;
  move = Move{};
  move.data = data;
  move.volume = this;
  move.active = true;
  move.operation = operation;
  move.from = from;
  move.to = {.tier = operation.to, .slot = slot};
  state = state != nullptr ? state : make_state(operation.chunk);
  move.state = state;
  state->move = &move;
  ++moving_;
  if (operation.action == Action::prefetch) {
    state->cached = move.to;
    state->cached_end = 0;
    state->cached_used = ++prefetch_clock_;
    ++prefetched_;
  }
  next_window(move);
  return Started::begun;
}

bool Volume::writes_overlap(const ChunkState& state, std::uint64_t from, std::uint64_t end) const {
  for (std::size_t i = 0; i < piece_chunks_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (piece_chunks_[i] == state.chunk && piece.op != Op::read && piece.offset < end &&
        piece.offset + piece.length > from) {
      return true;
    }
  }
  return false;
}

void Volume::next_window(Move& move) {
  ChunkState& state = *move.state;
  const std::uint64_t chunk_size = store_->chunk_size();
  if (move.frontier == chunk_size) {
    move_copied(move);
    return;
  }
  const std::uint64_t length = std::min(window_size, chunk_size - move.frontier);
  // A window waits for the writes to it that are under way; settle() comes back here after each of them.
  if (writes_overlap(state, move.frontier, move.frontier + length) ||
      (options_.move_rate > 0 && tokens_ < 0)) {
    return;
  }
  tokens_ -= static_cast<double>(length);
  move.window = length;
  Io& io = move.io;
  io = Io{};
  io.op = Op::read;
  io.lane = Lane::background;
  io.deadline = now_ + options_.move_deadline;
  io.tier = move.from.tier;
  io.offset = store_->offset(move.from) + move.frontier;
  io.length = length;
  io.data = move.data;
  io.owner = &move;
  io.done = [](Io& it) {
    auto& owner = *static_cast<Move*>(it.owner);
    owner.volume->window_io_done(owner, it);
  };
  submit_io(io);
}

void Volume::window_io_done(Move& move, Io& io) {
  ChunkState& state = *move.state;
  if (io.error == 0 && io.op == Op::read && move.cancelled == 0) {
    io.op = Op::write;
    io.tier = move.to.tier;
    io.offset = store_->offset(move.to) + move.frontier;
    io.deadline = now_ + options_.move_deadline;
    io.done = [](Io& it) {
      auto& owner = *static_cast<Move*>(it.owner);
      owner.volume->window_io_done(owner, it);
    };
    submit_io(io);
    return;
  }
  if (io.error != 0 && move.cancelled == 0) {
    move.cancelled = io.error;
  }
  if (move.cancelled == 0) {
    move.frontier += move.window;
    if (state.cached.exists()) {
      state.cached_end = move.frontier;
    }
  }
  move.window = 0;
  if (state.exclusive == Exclusive::none) {
    reissue(state);
  }
  settle(state);
}

void Volume::move_copied(Move& move) {
  move.copied = true;
  ChunkState& state = *move.state;
  if (state.cached.exists()) {
    ++counts_.prefetched;
    move_ended(move, 0);
    settle(state);
    return;
  }
  move.flush.owner = &move;
  move.flush.done = [](FlushWaiter& waiter) {
    auto& owner = *static_cast<Move*>(waiter.owner);
    if (waiter.error != 0 && owner.cancelled == 0) {
      owner.cancelled = waiter.error;
    }
    owner.flushed = owner.cancelled == 0;
    owner.flushing = false;
    owner.volume->settle(*owner.state);
  };
  move.flushing = true;
  flusher_->flush(move.flush);
}

void Volume::cancel_move(Move& move, int error) {
  if (move.cancelled == 0) {
    move.cancelled = error;
    move.flushed = false;
    ++counts_.cancelled;
  }
}

// The move's slot is in the map, or given back.
void Volume::move_ended(Move& move, int error) {
  move.state->move = nullptr;
  move.active = false;
  --moving_;
  if (on_end) {
    on_end(move.operation, error);
  }
}

bool Volume::evict_prefetched(std::uint64_t except) {
  ChunkState* oldest = nullptr;
  for (ChunkState& state : states_) {
    const bool usable =
        state.chunk != no_chunk && state.chunk != except && state.cached.exists() && state.move == nullptr;
    if (usable && state.exclusive == Exclusive::drop_cache) {
      return true;  // one is on its way out
    }
    if (usable && state.exclusive == Exclusive::none &&
        (oldest == nullptr || state.cached_used < oldest->cached_used)) {
      oldest = &state;
    }
  }
  if (oldest != nullptr) {
    drop_cache(*oldest);
  }
  return oldest != nullptr;
}

void Volume::drop_cache(ChunkState& state) {
  if (state.move != nullptr) {
    cancel_move(*state.move, ECANCELED);
    if (state.move->window == 0 && state.exclusive == Exclusive::none) {
      begin_exclusive(state, Exclusive::give_up);
    }
  } else if (state.exclusive == Exclusive::none) {
    begin_exclusive(state, Exclusive::drop_cache);
  }
}

std::uint8_t Volume::drain_target(unsigned tier) const {
  // The next slower one that has room, then the next faster.
  const unsigned count = store_->tier_count();
  for (unsigned tried = 1; tried < count; ++tried) {
    const unsigned other = tier + tried < count ? tier + tried : count - 1 - tried;
    if (!draining(other) && queues_[other] != nullptr && store_->persistent(other) &&
        store_->slots[other].free() > 0) {
      return static_cast<std::uint8_t>(other);
    }
  }
  return no_tier;
}

void Volume::continue_drain() {
  constexpr std::size_t ahead = 64;
  constexpr std::uint64_t look = 1 << 14;
  for (unsigned tier = 0; tier < store_->tier_count(); ++tier) {
    if (!draining(tier) || queue_count_ >= ahead || store_->slots[tier].used() == 0) {
      continue;
    }
    const std::uint8_t to = drain_target(tier);
    std::uint64_t& at = drain_cursor_[tier];
    for (std::uint64_t looked = 0; looked < look && queue_count_ < ahead; ++looked) {
      at = at + 1 < store_->chunks() ? at + 1 : 0;
      const Entry& entry = store_->entries[at];
      if (entry.place().tier == tier && to != no_tier && (entry.flags & flag_busy) == 0) {
        enqueue({.chunk = at,
                 .action = Action::migrate,
                 .reason = Reason::drain,
                 .from = static_cast<std::uint8_t>(tier),
                 .to = to});
      } else if ((entry.flags & flag_replicated) != 0) {
        const Replicas::Copies copies = store_->replicas.find(at);
        if (std::any_of(copies.places.begin(), copies.places.begin() + copies.count,
                        [tier](Place it) { return it.tier == tier; })) {
          enqueue({.chunk = at, .action = Action::drop, .reason = Reason::drain});
        }
      }
    }
  }
}

}  // namespace sluice::tier
