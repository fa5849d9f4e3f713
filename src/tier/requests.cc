// From requests to pieces to tiers, and back.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tier/volume_state.h"

namespace sluice::tier {

void Volume::PieceList::push(Piece& piece) {
  piece.next = nullptr;
  (first == nullptr ? first : last->next) = &piece;
  last = &piece;
}

Volume::Piece* Volume::PieceList::pop() {
  Piece* const out = first;
  first = out == nullptr ? nullptr : out->next;
  return out;
}

void Volume::submit(Request& request, Instant now) {
  now_ = now;
  request.begun = now;
  request.error = 0;
  request.next = nullptr;
  if (request.op == Op::flush) {
    ++counts_.flushes;
    request.waiter.owner = &request;
    request.waiter.done = [](FlushWaiter& waiter) {
      auto& it = *static_cast<Request*>(waiter.owner);
      it.error = waiter.error;
      it.done(it);
    };
    flusher_->flush(request.waiter);
    return;
  }
  if ((request.offset | request.length) % block_size != 0 || request.offset > size() ||
      request.length > size() - request.offset) {
    request.error = EINVAL;
    request.done(request);
    return;
  }
  switch (request.op) {
    case Op::read:
      ++counts_.reads;
      counts_.read_bytes += request.length;
      break;
    case Op::write:
      ++counts_.writes;
      counts_.written_bytes += request.length;
      break;
    default:
      ++counts_.zeroes;
  }
  request.next_offset = request.offset;
  request.open = 1;  // until every piece is made
  if (starved_ != nullptr) {
    starved_last_ = starved_last_->next = &request;
    return;
  }
  make_pieces(request);
}

void Volume::make_pieces(Request& request) {
  const std::uint64_t end = request.offset + request.length;
  const std::uint64_t chunk_size = store_->chunk_size();
  while (request.next_offset < end) {
    if (free_piece_ == nullptr) {
      (starved_ == nullptr ? starved_ : starved_last_->next) = &request;
      starved_last_ = &request;
      return;
    }
    Piece& piece = *free_piece_;
    free_piece_ = piece.next;
    piece.request = &request;
    piece.state = nullptr;
    piece.chunk = request.next_offset / chunk_size;
    piece.offset = request.next_offset % chunk_size;
    piece.length = std::min(end - request.next_offset, chunk_size - piece.offset);
    piece.data = request.data == nullptr ? nullptr : request.data + (request.next_offset - request.offset);
    piece.op = request.op;
    piece.error = 0;
    piece.tried = 0;
    piece.open = 0;
    piece.cached = false;
    request.next_offset += piece.length;
    ++request.open;
    count_access(piece);
    issue(piece);
  }
  if (--request.open == 0) {
    finish(request);
  }
}

void Volume::count_access(const Piece& piece) {
  Heat& heat = store_->heat[piece.chunk];
  std::uint16_t& count = piece.op == Op::read ? heat.reads : heat.writes;
  count = static_cast<std::uint16_t>(count + (count == 0xffff ? 0 : 1));
  store_->entries[piece.chunk].last = seconds_;
}

void Volume::issue(Piece& piece) {
  Entry& entry = store_->entries[piece.chunk];
  ChunkState* const state = (entry.flags & flag_busy) != 0 ? find_state(piece.chunk) : nullptr;
  if (state != nullptr && state->exclusive != Exclusive::none) {
    hold(piece, *state);
    return;
  }
  if (entry.mapped()) {
    issue_mapped(piece, state);
    return;
  }
  if (state != nullptr && state->fresh.exists()) {
    send(piece, std::array{state->fresh});
    return;
  }
  if (piece.op == Op::write) {
    first_write(piece, state);
    return;
  }
  if (piece.op == Op::read) {
    std::memset(piece.data, 0, piece.length);
  }
  finish(piece);
}

Place Volume::pick_copy(std::uint64_t chunk, unsigned avoid) const {
  const Entry& entry = store_->entries[chunk];
  Place best = entry.place();
  unsigned best_open = ~0U;
  const auto consider = [&](Place place) {
    const TierQueue* const queue = queues_[place.tier].get();
    if (queue != nullptr && (avoid >> place.tier & 1) == 0 && queue->open() < best_open) {
      best = place;
      best_open = queue->open();
    }
  };
  consider(best);
  const Replicas::Copies copies = store_->replicas.find(chunk);
  std::for_each_n(copies.places.begin(), copies.count, consider);
  return best;
}

// HintStor's REDIRECT: the read of a chunk that hints want elsewhere is what moves it.
void Volume::redirect(std::uint64_t chunk) {
  Entry& entry = store_->entries[chunk];
  const std::uint8_t wanted = placement_.tier[entry.label & 0xff];
  if (wanted == no_tier || wanted == entry.place().tier || entry.hints().pinned ||
      (entry.flags & flag_queued) != 0 || queues_[wanted] == nullptr || store_->slots[wanted].free() == 0) {
    return;
  }
  if (enqueue({.chunk = chunk,
               .action = Action::redirect,
               .reason = Reason::hint,
               .from = entry.place().tier,
               .to = wanted})) {
    entry.flags |= flag_queued;
    ++counts_.redirected;
  }
}

// A chunk of the map that nobody has for himself.
void Volume::issue_mapped(Piece& piece, ChunkState* state) {
  const Entry& entry = store_->entries[piece.chunk];
  const Place first = entry.place();
  const bool replicated = (entry.flags & flag_replicated) != 0;
  if (piece.op == Op::read) {
    if (state != nullptr && state->cached.exists() && piece.offset + piece.length <= state->cached_end &&
        (piece.tried >> state->cached.tier & 1) == 0) {
      piece.cached = true;
      ++counts_.prefetch_hits;
      state->cached_used = ++prefetch_clock_;
      send(piece, std::array{state->cached});
      return;
    }
    if (options_.redirect && state == nullptr && entry.label != 0 && !replicated) {
      redirect(piece.chunk);
    }
    send(piece, std::array{replicated ? pick_copy(piece.chunk, piece.tried) : first});
    return;
  }

  // Writes and zeroes.
  const bool whole = piece.op == Op::zero && piece.length == store_->chunk_size();
  const bool must_promote = replicated && queues_[first.tier] == nullptr;
  const bool must_drop = replicated && !must_promote && !options_.update_copies;
  const bool must_diverge = replicated && !must_promote && !must_drop && (entry.flags & flag_diverging) == 0;
  const bool must_uncache = state != nullptr && state->cached.exists();
  if ((whole && (state == nullptr || state->move == nullptr)) || must_promote || must_drop || must_diverge ||
      must_uncache) {
    state = state != nullptr ? state : make_state(piece.chunk);
    hold(piece, *state);
    if (must_uncache) {
      drop_cache(*state);
    } else if (must_promote) {
      state->target = pick_copy(piece.chunk, 0);
      begin_exclusive(*state, Exclusive::promote);
    } else if (whole) {
      begin_exclusive(*state, Exclusive::unmap);
    } else {
      begin_exclusive(*state, must_drop ? Exclusive::drop_copies : Exclusive::diverge);
    }
    return;
  }
  std::array<Place, most_copies + 1> places{first};
  std::size_t count = 1;
  if (replicated) {
    const Replicas::Copies copies = store_->replicas.find(piece.chunk);
    for (unsigned i = 0; i < copies.count; ++i) {
      places[count++] = copies.places[i];
    }
  }
  if (state != nullptr && state->move != nullptr && state->move->cancelled == 0 && !state->cached.exists()) {
    const Move& move = *state->move;
    if (piece.offset < move.frontier + move.window && piece.offset + piece.length > move.frontier &&
        !move.copied) {
      if (move.window > 0) {
        hold(piece, *state);  // what is copied right now
        return;
      }
      // Between two windows: a write that crosses the frontier goes to both; what lies behind is copied
      // again.
    }
    if (piece.offset < move.frontier || move.copied) {
      places[count++] = move.to;
    }
  }
  send(piece, {places.data(), count});
}

void Volume::send(Piece& piece, std::span<const Place> places) {
  const auto index = static_cast<std::size_t>(&piece - pieces_.data());
  piece_chunks_[index] = piece.chunk;
  if (piece.state == nullptr && (store_->entries[piece.chunk].flags & flag_busy) != 0) {
    piece.state = find_state(piece.chunk);
    ++piece.state->inflight;
  }
  piece.copies = static_cast<unsigned>(places.size());
  piece.good = 0;
  piece.open = piece.copies + 1;
  std::copy(places.begin(), places.end(), piece.places.begin());
  for (unsigned i = 0; i < piece.copies; ++i) {
    const Place place = piece.places[i];
    Io& io = piece.ios[i];
    io.op = piece.op;
    io.lane = piece.request->lane;
    io.priority = piece.request->priority;
    io.tier = place.tier;
    io.error = 0;
    io.offset = store_->offset(place) + piece.offset;
    io.length = piece.length;
    io.data = piece.data;
    io.owner = &piece;
    io.deadline = now_ + options_.move_deadline;
    io.done = [](Io& it) {
      auto& owner = *static_cast<Piece*>(it.owner);
      owner.volume->piece_io_done(owner, it);
    };
    if (queues_[place.tier] == nullptr) {
      --piece.open;
      piece.error = EIO;
      continue;
    }
    ++counts_.hits[place.tier];
    queues_[place.tier]->submit(io, now_);
  }
  if (--piece.open == 0) {
    piece_done(piece);
  }
}

void Volume::piece_io_done(Piece& piece, Io& io) {
  const auto i = static_cast<unsigned>(&io - piece.ios.data());
  if (io.error == 0) {
    piece.good |= 1U << i;
  } else {
    piece.error = io.error;
  }
  if (--piece.open == 0) {
    piece_done(piece);
  }
}

// Every tier has answered.
void Volume::piece_done(Piece& piece) {
  piece_chunks_[static_cast<std::size_t>(&piece - pieces_.data())] = no_chunk;
  ChunkState* const state = piece.state;
  piece.state = nullptr;
  if (state != nullptr) {
    --state->inflight;
  }
  const Entry& entry = store_->entries[piece.chunk];
  const bool failed = piece.error != 0;
  if (failed && piece.op == Op::read) {
    // Another copy may have it.
    piece.tried |= 1U << piece.places[0].tier;
    const bool was_cached = piece.cached;
    piece.cached = false;
    const Place other = was_cached ? entry.place() : pick_copy(piece.chunk, piece.tried);
    if (other.exists() && (piece.tried >> other.tier & 1) == 0 && queues_[other.tier] != nullptr) {
      piece.error = 0;
      issue(piece);
      if (state != nullptr) {
        settle(*state);
      }
      return;
    }
  } else if (failed && piece.copies > 1 && piece.good != 0) {
    // One copy has not taken it. The write is done when that copy is none any more.
    const bool first_good = (piece.good & 1) != 0;
    if (state != nullptr && state->move != nullptr && piece.places[piece.copies - 1] == state->move->to &&
        piece.good == (1U << (piece.copies - 1)) - 1) {
      cancel_move(*state->move, piece.error);
      piece.error = 0;
    } else if ((entry.flags & flag_replicated) != 0) {
      ChunkState* const own = state != nullptr ? state : make_state(piece.chunk);
      if (own->exclusive == Exclusive::none) {
        piece.error = 0;
        // It is written once more, to what is left then.
        hold(piece, *own);
        unsigned good = 0;
        while ((piece.good >> good & 1) == 0) {
          ++good;
        }
        own->target = piece.places[good];
        begin_exclusive(*own, first_good ? Exclusive::drop_copies : Exclusive::promote);
        return;
      }
    }
  }
  if (state != nullptr && state->fresh.exists() && piece.op != Op::read) {
    first_write_done(piece, *state);
  } else {
    finish(piece);
  }
  if (state != nullptr) {
    settle(*state);
  }
}

void Volume::finish(Piece& piece) {
  Request& request = *piece.request;
  if (piece.error != 0) {
    request.error = piece.error;
  }
  piece.next = free_piece_;
  free_piece_ = &piece;
  if (--request.open == 0) {
    finish(request);
  }
}

void Volume::finish(Request& request) {
  if (request.error == 0 && request.fua && request.op != Op::read) {
    request.waiter.owner = &request;
    request.waiter.done = [](FlushWaiter& waiter) {
      auto& it = *static_cast<Request*>(waiter.owner);
      it.error = waiter.error;
      it.done(it);
    };
    flusher_->flush(request.waiter);
    return;
  }
  request.done(request);
}

void Volume::fail_all(PieceList& list, int error) {
  PieceList all = std::exchange(list, {});
  while (Piece* const piece = all.pop()) {
    piece->error = error;
    finish(*piece);
  }
}

}  // namespace sluice::tier
