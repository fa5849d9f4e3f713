// A tiered volume: a row of blocks whose chunks live on several tiers and move between them while they are
// used.
//
// One thread owns a volume and calls everything here. The front submits requests and calls advance() whenever
// a device may have completed something, or when advance() asked to be called. Nothing is allocated between
// open() and close(), so that a machine short of memory can write back through the volume.
// docs/internals/volume.md tells how requests, chunk states, moves and flushes go together.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tier/flusher.h"
#include "tier/operation.h"
#include "tier/request.h"
#include "tier/space.h"
#include "tier/store.h"
#include "tier/tier_queue.h"

namespace sluice::tier {

struct VolumeOptions {
  Instant (*clock)() = nullptr;  // for what blocks; null is the monotonic clock
  std::string scheduler = "adaptive";
  unsigned depth = 64;   // requests under way on a tier
  unsigned movers = 4;   // chunks that are copied at a time
  double move_rate = 0;  // bytes a second; 0 is as fast as the schedulers let
  Instant move_deadline = std::chrono::milliseconds(500);  // how long a mover's request may be deferred
  std::uint64_t prefetch_slots = 0;
  bool update_copies = false;  // on a write: update further copies instead of dropping them
  bool redirect = true;        // a read of a chunk that hints want elsewhere moves it
};

// Where chunks of a label go first. Row: Entry::label without the pin.
struct Placement {
  std::array<std::uint8_t, 256> tier{};  // no_tier: the default
  std::uint8_t fallback = 0;             // tier of chunks without a label
};

struct VolumeCounts {
  std::uint64_t reads = 0, writes = 0, flushes = 0, zeroes = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::array<std::uint64_t, most_tiers> hits{};  // pieces served by each tier
  std::uint64_t prefetch_hits = 0;
  std::array<std::uint64_t, reasons> moved_chunks{};  // by reason
  std::array<std::uint64_t, reasons> moved_bytes{};
  std::uint64_t replicated = 0, prefetched = 0, redirected = 0, cancelled = 0, returned = 0;
  std::uint64_t held = 0;      // requests that had to wait for a chunk
  std::uint64_t no_space = 0;  // first writes that failed
};

class Volume {
 public:
  static Result<std::unique_ptr<Volume>> open(std::span<const TierDevice> tiers, const VolumeOptions& options,
                                              Store::Loaded& notes);
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  [[nodiscard]] std::uint64_t size() const { return store_->chunks() * store_->chunk_size(); }

  // `done` may be called before this returns.
  void submit(Request& request, Instant now);
  // Everything that can go on goes on. Returns when it has to be called again at the latest.
  Instant advance(Instant now);
  // Whether a device or the map has work under way.
  [[nodiscard]] bool idle() const;
  // Blocking: lets everything come to its end, then ends the session in order.
  Status close();

  // False: the queue of operations is full.
  bool enqueue(const Operation& operation);
  [[nodiscard]] std::size_t queued() const { return queue_count_; }
  [[nodiscard]] std::size_t pending() const { return parked_count_; }
  [[nodiscard]] unsigned moving() const { return moving_; }
  // Forgets what waits; what has begun is finished.
  void clear_queue();
  // Chunks whose moves were given up: (operation, errno). Called from advance().
  std::function<void(const Operation&, int error)> on_end;

  void set_placement(const Placement& placement) { placement_ = placement; }
  // What hints say of a chunk from now on.
  void label(std::uint64_t chunk, const Label& label, std::uint16_t stream);
  // New chunks go elsewhere, and those there are moved away, until undrain(). Refused where the other tiers
  // have no room for them.
  Status drain(unsigned tier);
  void undrain(unsigned tier);
  [[nodiscard]] bool draining(unsigned tier) const { return (draining_ >> tier & 1) != 0; }
  // Blocks on the map's journal only. A smaller size unmaps nothing: the chunks cut off must be unmapped.
  Status resize(std::uint64_t chunks);
  Status add_tier(const TierDevice& tier);
  // Whether it may be removed once it is empty: the others could hold the whole volume, and it has no map.
  [[nodiscard]] Status check_removable(unsigned tier) const;
  // Refused where it still holds something, too.
  Status remove_tier(unsigned tier);

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] const Space& space() const { return *space_; }
  [[nodiscard]] TierQueue* queue(unsigned tier) { return queues_[tier].get(); }
  [[nodiscard]] const VolumeCounts& counts() const { return counts_; }
  [[nodiscard]] const VolumeOptions& options() const { return options_; }
  // Free slots beyond those that the volume's unwritten chunks will need. Copies take only these.
  [[nodiscard]] std::uint64_t spare_slots() const;
  // The chunk is in the prefetch buffer, or on its way there.
  [[nodiscard]] bool prefetched(std::uint64_t chunk) const;

 private:
  struct Piece;
  struct ChunkState;
  struct Move;
  enum class Exclusive : std::uint8_t;
  struct PieceList {
    Piece* first = nullptr;
    Piece* last = nullptr;
    void push(Piece& piece);
    Piece* pop();
    [[nodiscard]] bool empty() const { return first == nullptr; }
  };

  Volume(std::unique_ptr<Store> store, const VolumeOptions& options);
  Status start();
  bool make_queue(unsigned tier);
  Status run_until(const std::function<bool()>& done);
  Status commit_and_wait(const Record& record);

  // requests.cc: from requests to pieces to tiers and back
  void make_pieces(Request& request);
  void issue(Piece& piece);
  void issue_mapped(Piece& piece, ChunkState* state);
  void redirect(std::uint64_t chunk);
  void send(Piece& piece, std::span<const Place> places);
  void piece_io_done(Piece& piece, Io& io);
  void piece_done(Piece& piece);
  void finish(Piece& piece);
  void finish(Request& request);
  void fail_all(PieceList& list, int error);
  [[nodiscard]] Place pick_copy(std::uint64_t chunk, unsigned avoid) const;
  void count_access(const Piece& piece);

  // chunk_state.cc: chunks that are not simply there
  ChunkState* find_state(std::uint64_t chunk) const;
  ChunkState* make_state(std::uint64_t chunk);  // there is always one: start_moves() leaves one a piece
  void hold(Piece& piece, ChunkState& state);
  void reissue(ChunkState& state);
  void settle(ChunkState& state);  // frees it, or goes on with what waits for its pieces
  void first_write(Piece& piece, ChunkState* state);
  std::uint8_t first_tier(std::uint64_t chunk) const;
  void first_write_done(Piece& piece, ChunkState& state);
  void first_commit_done(ChunkState& state);
  void begin_exclusive(ChunkState& state, Exclusive what);
  void run_exclusive(ChunkState& state);
  void exclusive_committed(ChunkState& state);
  void end_exclusive(ChunkState& state, int error);
  void put_entry(ChunkState& state, const Entry& entry);
  void put_replica(ChunkState& state, RecordType type, Place place);

  // mover.cc: the operations
  void start_moves();
  enum class Started : std::uint8_t { begun, nothing_to_do, later, parked };
  Started start_move(const Operation& operation);
  void next_window(Move& move);
  void window_io_done(Move& move, Io& io);
  void move_copied(Move& move);
  void move_ended(Move& move, int error);
  void cancel_move(Move& move, int error);
  bool evict_prefetched(std::uint64_t except);
  void drop_cache(ChunkState& state);
  void continue_drain();
  std::uint8_t drain_target(unsigned tier) const;

  void retry_waiting();
  void submit_io(Io& io);
  [[nodiscard]] bool writes_overlap(const ChunkState& state, std::uint64_t from, std::uint64_t end) const;

  std::unique_ptr<Store> store_;
  VolumeOptions options_;
  Placement placement_{};
  std::array<std::unique_ptr<TierQueue>, most_tiers> queues_;
  std::unique_ptr<Flusher> flusher_;
  std::unique_ptr<Space> space_;
  Instant now_{};
  std::uint32_t seconds_ = 0;  // Unix time of now_
  Instant next_second_{};

  std::vector<Piece> pieces_;
  std::vector<std::uint64_t> piece_chunks_;  // of the pieces under way; no_chunk for the others
  Piece* free_piece_ = nullptr;
  Request* starved_ = nullptr;  // requests that wait for a piece
  Request* starved_last_ = nullptr;

  std::vector<ChunkState> states_;
  std::vector<std::uint32_t> state_buckets_;
  ChunkState* free_state_ = nullptr;
  unsigned free_states_ = 0;

  std::vector<Move> moves_;
  unsigned moving_ = 0;
  Buffer move_memory_;
  std::vector<Operation> queue_;  // a ring
  std::size_t queue_first_ = 0;
  std::size_t queue_count_ = 0;
  std::vector<Operation> parked_;
  std::size_t parked_count_ = 0;
  double tokens_ = 0;
  Instant tokens_at_{};
  std::uint64_t prefetched_ = 0;  // slots in use by the buffer
  std::uint64_t prefetch_clock_ = 0;

  std::uint32_t draining_ = 0;
  std::array<std::uint64_t, most_tiers> drain_cursor_{};

  VolumeCounts counts_{};
};

}  // namespace sluice::tier
