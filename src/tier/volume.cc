#include "tier/volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "tier/volume_state.h"

namespace sluice::tier {

Volume::Volume(std::unique_ptr<Store> store, const VolumeOptions& options)
    : store_(std::move(store)), options_(options) {
  placement_.tier.fill(no_tier);
  if (options_.clock == nullptr) {
    options_.clock = [] { return Instant(nanoseconds_of(CLOCK_MONOTONIC)); };
  }
}

Volume::~Volume() = default;

bool Volume::make_queue(unsigned tier) {
  Device* const device = store_->device(tier);
  if (device != nullptr) {
    auto scheduler = make_scheduler(options_.scheduler, options_.depth);
    queues_[tier] = std::make_unique<TierQueue>(*device, std::move(*scheduler));
  }
  return device != nullptr;
}

Result<std::unique_ptr<Volume>> Volume::open(std::span<const TierDevice> tiers, const VolumeOptions& options,
                                             Store::Loaded& notes) {
  SLUICE_TRY([[maybe_unused]] const auto scheduler, make_scheduler(options.scheduler, options.depth));
  SLUICE_TRY(auto store, Store::load(tiers, false, notes));
  std::unique_ptr<Volume> out(new Volume(std::move(store), options));
  SLUICE_CHECK(out->start());
  return out;
}

Status Volume::start() {
  for (unsigned tier = 0; tier < store_->tier_count(); ++tier) {
    make_queue(tier);
  }
  flusher_ = std::make_unique<Flusher>(Flusher::Hooks{
      .owner = this,
      .take_dirty =
          [](void* owner) {
            auto& volume = *static_cast<Volume*>(owner);
            volume.space_->flush_began();
            std::uint32_t out = std::exchange(volume.store_->dirty, 0);
            for (unsigned tier = 0; tier < most_tiers; ++tier) {
              TierQueue* const queue = volume.queues_[tier].get();
              if (queue == nullptr) {
                out &= ~(std::uint32_t{1} << tier);
              } else if (std::exchange(queue->dirty, false)) {
                out |= std::uint32_t{1} << tier;
              }
            }
            return out;
          },
      .submit = [](void* owner, Io& io) { static_cast<Volume*>(owner)->submit_io(io); },
      .ended =
          [](void* owner, std::uint32_t failed) {
            auto& volume = *static_cast<Volume*>(owner);
            for (unsigned tier = 0; tier < most_tiers; ++tier) {
              if ((failed >> tier & 1) != 0 && volume.queues_[tier] != nullptr) {
                volume.queues_[tier]->dirty = true;
              }
            }
            volume.space_->flush_ended(failed == 0);
          },
  });
  space_ = std::make_unique<Space>(*store_, *flusher_, this, [](void* owner, Io& io) {
    io.lane = Lane::background;
    static_cast<Volume*>(owner)->submit_io(io);
  });

  pieces_.resize(most_pieces);
  piece_chunks_.assign(most_pieces, no_chunk);
  for (Piece& piece : pieces_) {
    piece.volume = this;
    piece.next = free_piece_;
    free_piece_ = &piece;
  }
  states_.resize(2 * most_pieces + options_.movers + options_.prefetch_slots);
  state_buckets_.assign(states_.size(), 0);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].next = static_cast<std::uint32_t>(i + 1 < states_.size() ? i + 2 : 0);
  }
  free_state_ = states_.data();
  free_states_ = static_cast<unsigned>(states_.size());
  moves_.resize(options_.movers);
  move_memory_ = Buffer(options_.movers * window_size);
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    moves_[i].data = move_memory_.data() + i * window_size;
  }
  queue_.resize(most_operations);
  parked_.resize(most_operations);
  now_ = tokens_at_ = options_.clock();

  // Copies that may differ since the last session did not end in order.
  std::vector<Operation> again;
  store_->replicas.for_each([&](std::uint64_t chunk, Place place) {
    if ((store_->entries[chunk].flags & flag_diverging) != 0) {
      again.push_back(
          {.chunk = chunk, .action = Action::replicate, .reason = Reason::repair, .to = place.tier});
    }
  });
  for (const Operation& operation : again) {
    Operation drop = operation;
    drop.action = Action::drop;
    enqueue(drop);
    SLUICE_CHECK(run_until(
        [&] { return (store_->entries[operation.chunk].flags & (flag_replicated | flag_busy)) == 0; }));
  }
  for (const Operation& operation : again) {
    enqueue(operation);
  }
  return {};
}

void Volume::submit_io(Io& io) {
  queues_[io.tier]->submit(io, now_);
}

// What waits for slots may find some now.
void Volume::retry_waiting() {
  const std::size_t count = std::exchange(parked_count_, 0);
  for (std::size_t i = 0; i < count; ++i) {
    enqueue(parked_[i]);
  }
  for (ChunkState& state : states_) {
    if (state.chunk != no_chunk && state.wants_slot && state.exclusive == Exclusive::none) {
      reissue(state);
      if (state.chunk != no_chunk) {
        settle(state);
      }
    }
  }
}

Instant Volume::advance(Instant now) {
  const double passed = std::chrono::duration<double>(now - tokens_at_).count();
  tokens_ = std::min(tokens_ + passed * options_.move_rate, options_.move_rate * 0.1);
  tokens_at_ = now_ = now;
  if (now >= next_second_) {
    seconds_ = static_cast<std::uint32_t>(time(nullptr));
    next_second_ = now + std::chrono::seconds(1);
    space_->hurry();
  }
  Instant next = next_second_;
  for (const auto& queue : queues_) {
    if (queue != nullptr) {
      next = std::min(next, queue->advance(now));
    }
  }
  while (starved_ != nullptr && free_piece_ != nullptr) {
    Request& request = *starved_;
    starved_ = request.next;
    request.next = nullptr;
    make_pieces(request);
  }
  if (options_.move_rate > 0 && moving_ > 0) {
    for (const Move& move : moves_) {
      if (move.active && move.window == 0) {
        settle(*move.state);
      }
    }
    next = std::min(next, now + std::chrono::milliseconds(5));
  }
  space_->advance();
  if (space_->take_news()) {
    retry_waiting();
  }
  continue_drain();
  start_moves();
  if (queue_count_ > 0 && moving_ < moves_.size()) {
    next = std::min(next, now + std::chrono::milliseconds(5));
  }
  store_->advance();
  flusher_->advance();
  for (const auto& queue : queues_) {
    if (queue != nullptr) {
      queue->device().kick();
    }
  }
  return next;
}

bool Volume::idle() const {
  const bool pieces = std::any_of(piece_chunks_.begin(), piece_chunks_.end(),
                                  [](std::uint64_t chunk) { return chunk != no_chunk; });
  return !pieces && starved_ == nullptr && moving_ == 0 && store_->idle() && flusher_->idle() &&
         space_->idle();
}

Status Volume::run_until(const std::function<bool()>& done) {
  // A device that never answers must not keep us for ever.
  constexpr Instant patience = std::chrono::seconds(120);
  const Instant begun = options_.clock();
  while (!done()) {
    const Instant now = options_.clock();
    if (now - begun > patience) {
      return fail("a tier does not answer", "look at the devices under the volume");
    }
    advance(now);
    for (const auto& queue : queues_) {
      if (queue != nullptr && !done()) {
        queue->device().wait();
      }
    }
  }
  return {};
}

Status Volume::commit_and_wait(const Record& record) {
  Commit commit;
  bool done = false;
  commit.records[0] = record;
  commit.count = 1;
  commit.owner = &done;
  commit.done = [](Commit& it) { *static_cast<bool*>(it.owner) = true; };
  store_->commit(commit);
  SLUICE_CHECK(run_until([&] { return done; }));
  if (commit.error != 0) {
    return fail(commit.error, "cannot write the map");
  }
  return {};
}

void Volume::clear_queue() {
  for (; queue_count_ > 0; --queue_count_, queue_first_ = (queue_first_ + 1) % queue_.size()) {
    const std::uint64_t chunk = queue_[queue_first_].chunk;
    if (chunk < store_->chunks()) {
      store_->entries[chunk].flags &= static_cast<std::uint16_t>(~flag_queued);
    }
  }
  for (; parked_count_ > 0; --parked_count_) {
    const std::uint64_t chunk = parked_[parked_count_ - 1].chunk;
    if (chunk < store_->chunks()) {
      store_->entries[chunk].flags &= static_cast<std::uint16_t>(~flag_queued);
    }
  }
}

Status Volume::close() {
  clear_queue();
  draining_ = 0;
  SLUICE_CHECK(run_until([this] { return idle(); }));
  // Its copies are the same from here on.
  std::vector<std::uint64_t> same;
  store_->replicas.for_each([&](std::uint64_t chunk, Place) {
    if ((store_->entries[chunk].flags & flag_diverging) != 0) {
      same.push_back(chunk);
    }
  });
  if (!same.empty()) {
    // The copies first, then the word that they agree.
    FlushWaiter waiter;
    bool done = false;
    waiter.owner = &done;
    waiter.done = [](FlushWaiter& it) { *static_cast<bool*>(it.owner) = true; };
    flusher_->flush(waiter);
    SLUICE_CHECK(run_until([&] { return done; }));
    for (const std::uint64_t chunk : same) {
      Record record{.chunk = chunk, .entry = store_->entries[chunk], .type = RecordType::entry};
      record.entry.flags &= static_cast<std::uint16_t>(~flag_diverging);
      if (waiter.error == 0) {
        SLUICE_CHECK(commit_and_wait(record));
      }
    }
  }
  return store_->close();
}

void Volume::label(std::uint64_t chunk, const Label& label, std::uint16_t stream) {
  store_->entries[chunk].set_hints(label);
  store_->entries[chunk].set_stream(stream);
}

Status Volume::drain(unsigned tier) {
  if (tier >= store_->tier_count() || queues_[tier] == nullptr) {
    return bad_input("there is no such tier");
  }
  std::uint64_t room = 0;
  for (unsigned other = 0; other < store_->tier_count(); ++other) {
    const bool counts =
        other != tier && queues_[other] != nullptr && !draining(other) && store_->persistent(other);
    room += counts ? space_->free(other) : 0;
  }
  const std::uint64_t used = store_->slots[tier].count() - space_->free(tier);
  if (used > room) {
    return fail(
        fmt::format("tier {} holds {}, and the others have room for {}", quote(store_->tier_name(tier)),
                    print_size(used * store_->chunk_size()), print_size(room * store_->chunk_size())),
        "add a tier first, or trim what is not used (fstrim)");
  }
  draining_ |= std::uint32_t{1} << tier;
  drain_cursor_[tier] = 0;
  return {};
}

void Volume::undrain(unsigned tier) {
  draining_ &= ~(std::uint32_t{1} << tier);
}

bool Volume::prefetched(std::uint64_t chunk) const {
  return (store_->entries[chunk].flags & flag_busy) != 0 && find_state(chunk)->cached.exists();
}

Status Volume::resize(std::uint64_t chunks) {
  const LabelBlock& label = store_->label();
  if (chunks == 0 || chunks > label.most_chunks) {
    return bad_input(fmt::format("the map has room for {}", print_size(label.most_chunks * label.chunk_size)),
                     "make a new volume for more");
  }
  std::uint64_t slots = 0;
  for (unsigned tier = 0; tier < store_->tier_count(); ++tier) {
    slots += store_->persistent(tier) ? store_->slots[tier].count() : 0;
  }
  const std::uint64_t most = slots - (store_->tier_count() > 1 ? std::max<std::uint64_t>(2, slots / 50) : 0);
  if (chunks > most) {
    return bad_input(fmt::format("the tiers hold {}", print_size(most * label.chunk_size)),
                     "add a tier first");
  }
  for (std::uint64_t chunk = chunks; chunk < store_->chunks(); ++chunk) {
    if (store_->entries[chunk].mapped() || (store_->entries[chunk].flags & flag_busy) != 0) {
      return bad_input("there is data in the part that would be cut off",
                       "shrink the file system on it, then trim what lies behind it (blkdiscard)");
    }
  }
  return commit_and_wait({.chunk = chunks, .entry = {}, .type = RecordType::resize});
}

Status Volume::add_tier(const TierDevice& tier) {
  SLUICE_CHECK(store_->add_tier(tier));
  make_queue(store_->tier_count() - 1);
  space_->resize(store_->tier_count() - 1);
  return {};
}

Status Volume::check_removable(unsigned tier) const {
  SLUICE_CHECK(store_->check_removable(tier));
  std::uint64_t slots = 0;
  for (unsigned other = 0; other < store_->tier_count(); ++other) {
    slots += other == tier || !store_->persistent(other) ? 0 : store_->slots[other].count();
  }
  if (slots < store_->chunks()) {
    return fail(fmt::format("without tier {} the tiers hold {}, and the volume has {}",
                            quote(store_->tier_name(tier)), print_size(slots * store_->chunk_size()),
                            print_size(size())),
                "add a tier first, or make the volume smaller with `sluice volume resize`");
  }
  return {};
}

Status Volume::remove_tier(unsigned tier) {
  SLUICE_CHECK(check_removable(tier));
  // Slots that were left become free with a flush.
  const Slots& own = store_->slots[tier];
  const bool only_leaving = space_->free(tier) == own.count();
  SLUICE_CHECK(run_until([&] {
    space_->hurry();
    return moving_ == 0 && flusher_->idle() && space_->idle() && (own.used() == 0 || !only_leaving);
  }));
  SLUICE_CHECK(store_->remove_tier(tier));
  queues_[tier].reset();
  undrain(tier);
  return {};
}

}  // namespace sluice::tier
