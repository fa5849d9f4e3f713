// Chunks that are not simply there: first writes, and changes that need a chunk for themselves for a moment.
#include <algorithm>
#include <cerrno>

#include "tier/volume_state.h"

namespace sluice::tier {
namespace {

std::size_t bucket_of(std::uint64_t chunk, std::size_t buckets) {
  return (chunk * 0x9e3779b97f4a7c15U >> 32) % buckets;
}

}  // namespace

Volume::ChunkState* Volume::find_state(std::uint64_t chunk) const {
  std::uint32_t i = state_buckets_[bucket_of(chunk, state_buckets_.size())];
  while (states_[i - 1].chunk != chunk) {
    i = states_[i - 1].next;
  }
  return const_cast<ChunkState*>(&states_[i - 1]);
}

Volume::ChunkState* Volume::make_state(std::uint64_t chunk) {
  ChunkState* const state = free_state_;
  free_state_ = state->next == 0 ? nullptr : &states_[state->next - 1];
  --free_states_;
  *state = ChunkState{};
  state->volume = this;
  state->chunk = chunk;
  std::uint32_t& head = state_buckets_[bucket_of(chunk, state_buckets_.size())];
  state->next = head;
  head = static_cast<std::uint32_t>(state - states_.data()) + 1;
  store_->entries[chunk].flags |= flag_busy;
  for (std::size_t i = 0; i < piece_chunks_.size(); ++i) {
    if (piece_chunks_[i] == chunk) {
      pieces_[i].state = state;
      ++state->inflight;
    }
  }
  return state;
}

void Volume::hold(Piece& piece, ChunkState& state) {
  ++counts_.held;
  state.held.push(piece);
}

void Volume::reissue(ChunkState& state) {
  ++state.inflight;  // the state stays while its pieces are sent
  PieceList all = std::exchange(state.held, {});
  while (Piece* const piece = all.pop()) {
    issue(*piece);
  }
  --state.inflight;
}

void Volume::settle(ChunkState& state) {
  if (state.exclusive != Exclusive::none) {
    if (!state.running && state.inflight == 0) {
      run_exclusive(state);
    }
    return;
  }
  if (state.move != nullptr) {
    Move& move = *state.move;
    if (move.window == 0 && move.cancelled != 0) {
      if (move.flushing) {
        return;
      }
      begin_exclusive(state, Exclusive::give_up);
    } else if (move.flushed) {
      begin_exclusive(
          state, move.operation.action == Action::replicate ? Exclusive::add_copy : Exclusive::switch_tier);
    } else if (move.window == 0 && !move.copied) {
      next_window(move);
    }
    return;
  }
  if (state.inflight > 0 || !state.held.empty() || state.committing) {
    return;
  }
  if (state.fresh.exists()) {
    // No write of the first ones has succeeded.
    space_->give_back(std::exchange(state.fresh, {}), true);
  }
  if (state.cached.exists() || state.wants_slot) {
    return;
  }
  store_->entries[state.chunk].flags &= static_cast<std::uint16_t>(~flag_busy);
  std::uint32_t* link = &state_buckets_[bucket_of(state.chunk, state_buckets_.size())];
  const auto own = static_cast<std::uint32_t>(&state - states_.data()) + 1;
  while (*link != own) {
    link = &states_[*link - 1].next;
  }
  *link = state.next;
  state.chunk = no_chunk;
  state.next = free_state_ == nullptr ? 0 : static_cast<std::uint32_t>(free_state_ - states_.data()) + 1;
  free_state_ = &state;
  ++free_states_;
}

std::uint8_t Volume::first_tier(std::uint64_t chunk) const {
  const std::uint8_t wanted = placement_.tier[store_->entries[chunk].label & 0xff];
  return wanted == no_tier ? placement_.fallback : wanted;
}

void Volume::first_write(Piece& piece, ChunkState* state) {
  state = state != nullptr ? state : make_state(piece.chunk);
  // The tier it should be on, then slower ones, then faster ones.
  const unsigned count = store_->tier_count();
  const unsigned wanted = first_tier(piece.chunk);
  bool expecting = false;
  for (unsigned tried = 0; tried < count; ++tried) {
    const unsigned tier = wanted + tried < count ? wanted + tried : count - 1 - tried;
    if (draining(tier) || queues_[tier] == nullptr || !store_->persistent(tier)) {
      continue;
    }
    const std::uint64_t slot = space_->take_clean(tier);
    if (slot != no_slot) {
      state->fresh = {.tier = static_cast<std::uint8_t>(tier), .slot = slot};
      state->wants_slot = false;
      send(piece, std::array{state->fresh});
      return;
    }
    expecting = expecting || space_->is_expecting(tier);
  }
  if (expecting || evict_prefetched(piece.chunk)) {
    state->wants_slot = true;
    hold(piece, *state);
    return;
  }
  ++counts_.no_space;
  piece.error = ENOSPC;
  state->wants_slot = false;
  finish(piece);
  settle(*state);
}

void Volume::first_write_done(Piece& piece, ChunkState& state) {
  if (piece.error != 0) {
    finish(piece);
    return;
  }
  state.unrecorded.push(piece);
  if (!state.committing) {
    state.committing = true;
    Entry entry = store_->entries[piece.chunk];
    entry.set_place(state.fresh);
    entry.flags = 0;
    state.commit.count = 0;
    put_entry(state, entry);
    state.commit.owner = &state;
    state.commit.done = [](Commit& commit) {
      auto& it = *static_cast<ChunkState*>(commit.owner);
      it.volume->first_commit_done(it);
    };
    store_->commit(state.commit);
  }
}

void Volume::first_commit_done(ChunkState& state) {
  state.committing = false;
  state.fresh = {};  // of a record that failed nobody knows whether it is there: its slot stays in use
  PieceList all = std::exchange(state.unrecorded, {});
  ++state.inflight;
  while (Piece* const piece = all.pop()) {
    piece->error = state.commit.error;
    finish(*piece);
  }
  --state.inflight;
  settle(state);
}

void Volume::put_entry(ChunkState& state, const Entry& entry) {
  state.commit.records[state.commit.count++] = {
      .chunk = state.chunk, .entry = entry, .type = RecordType::entry};
}

void Volume::put_replica(ChunkState& state, RecordType type, Place place) {
  Record& record = state.commit.records[state.commit.count++];
  record = {.chunk = state.chunk, .entry = {}, .type = type};
  record.entry.set_place(place);
}

void Volume::begin_exclusive(ChunkState& state, Exclusive what) {
  const bool ends_move =
      what == Exclusive::unmap || what == Exclusive::promote || what == Exclusive::drop_copies;
  if (ends_move && state.move != nullptr && state.move->cancelled == 0) {
    state.move->cancelled = ECANCELED;
  }
  state.exclusive = what;
  state.running = false;
  if (state.inflight == 0) {
    run_exclusive(state);
  }
}

// Nobody but us uses the chunk.
void Volume::run_exclusive(ChunkState& state) {
  state.running = true;
  state.commit.count = 0;
  state.leaving = {};
  Entry entry = store_->entries[state.chunk];
  const auto leave = [&state](Place place) {
    if (place.exists()) {
      state.leaving.places[state.leaving.count++] = place;
    }
  };
  const Replicas::Copies copies = store_->replicas.find(state.chunk);
  const auto drop_copies_but = [&](Place stays) {
    for (unsigned i = 0; i < copies.count; ++i) {
      put_replica(state, RecordType::drop_replica, copies.places[i]);
      if (copies.places[i] != stays) {
        leave(copies.places[i]);
      }
    }
  };
  switch (state.exclusive) {
    case Exclusive::none:
      return;
    case Exclusive::unmap:
      // The entry's own slot is left with the commit; there is room for its copies in `leaving`.
      state.target = entry.place();
      entry.set_place({});
      entry.flags = 0;
      put_entry(state, entry);
      drop_copies_but({});
      break;
    case Exclusive::drop_copies:
      entry.flags &= static_cast<std::uint16_t>(~flag_diverging);
      put_entry(state, entry);
      drop_copies_but({});
      break;
    case Exclusive::diverge:
      entry.flags |= flag_diverging;
      put_entry(state, entry);
      break;
    case Exclusive::promote: {
      const Place old = entry.place();
      if (old == state.target) {  // no other copy is there
        end_exclusive(state, EIO);
        return;
      }
      entry.set_place(state.target);
      entry.flags &= static_cast<std::uint16_t>(~flag_diverging);
      put_entry(state, entry);
      drop_copies_but(state.target);
      if (queues_[old.tier] != nullptr) {
        leave(old);
      }
      break;
    }
    case Exclusive::switch_tier: {
      Move& move = *state.move;
      leave(entry.place());
      const bool down = move.to.tier > entry.place().tier;
      if (!down && (entry.flags & flag_demoted) != 0) {
        ++counts_.returned;
      }
      entry.set_place(move.to);
      entry.flags =
          static_cast<std::uint16_t>(down ? entry.flags | flag_demoted : entry.flags & ~flag_demoted);
      put_entry(state, entry);
      break;
    }
    case Exclusive::add_copy:
      put_replica(state, RecordType::add_replica, state.move->to);
      break;
    case Exclusive::drop_cache:
    case Exclusive::give_up:
      if (state.cached.exists()) {
        space_->give_back(state.cached, true);
        --prefetched_;
        state.cached = {};
        state.cached_end = 0;
      } else {
        space_->give_back(state.move->to, true);
      }
      if (state.exclusive == Exclusive::give_up) {
        move_ended(*state.move, state.move->cancelled);
      }
      end_exclusive(state, 0);
      return;
  }
  state.commit.owner = &state;
  state.commit.done = [](Commit& commit) {
    auto& it = *static_cast<ChunkState*>(commit.owner);
    it.volume->exclusive_committed(it);
  };
  store_->commit(state.commit);
}

void Volume::exclusive_committed(ChunkState& state) {
  if (state.commit.error != 0) {
    if (state.move != nullptr && state.move->cancelled == 0) {
      // Whether the record is there is not known, so the slot may not be used for anything else.
      move_ended(*state.move, state.commit.error);
    }
    end_exclusive(state, state.commit.error);
    return;
  }
  // What a power cut must not bring back is made durable before anybody writes.
  const bool durable = state.exclusive == Exclusive::drop_copies || state.exclusive == Exclusive::diverge ||
                       state.exclusive == Exclusive::promote;
  if (durable) {
    state.flush.owner = &state;
    state.flush.done = [](FlushWaiter& waiter) {
      auto& it = *static_cast<ChunkState*>(waiter.owner);
      it.volume->end_exclusive(it, waiter.error);
    };
    flusher_->flush(state.flush);
    return;
  }
  if (state.exclusive == Exclusive::unmap && state.target.exists() && queues_[state.target.tier] != nullptr) {
    space_->leave(state.target);
  }
  if (state.exclusive == Exclusive::switch_tier || state.exclusive == Exclusive::add_copy) {
    const Operation& done = state.move->operation;
    const auto reason = static_cast<std::size_t>(done.reason);
    if (state.exclusive == Exclusive::add_copy) {
      ++counts_.replicated;
    } else {
      ++counts_.moved_chunks[reason];
    }
    counts_.moved_bytes[reason] += store_->chunk_size();
    move_ended(*state.move, 0);
  }
  end_exclusive(state, 0);
}

void Volume::end_exclusive(ChunkState& state, int error) {
  for (unsigned i = 0; i < state.leaving.count && error == 0; ++i) {
    space_->leave(state.leaving.places[i]);
  }
  state.leaving = {};
  state.exclusive = Exclusive::none;
  state.running = false;
  ++state.inflight;
  error != 0 ? fail_all(state.held, EIO) : reissue(state);
  --state.inflight;
  settle(state);
}

}  // namespace sluice::tier
