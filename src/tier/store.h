// The map of a volume and how it is kept: an image of all entries, a journal of what changed since, both on
// two tiers. A change is committed when its record was written on them (not flushed: a flush of the volume
// flushes these devices too). docs/internals/volume.md has the rules.
//
// create() and load() block and belong to no thread; afterwards everything is for the engine's thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tier/blocking.h"
#include "tier/device.h"
#include "tier/format.h"
#include "tier/map.h"

namespace sluice::tier {

// A tier as it is given to create() and load(). The device outlives the store.
struct TierDevice {
  std::string name;
  Device* device = nullptr;
  bool persistent = true;
  std::uint64_t size = 0;  // how much of the device to use; 0 is all of it
};

struct VolumePlan {
  std::uint64_t chunk_size = 1 << 20;
  std::uint64_t size = 0;       // of the volume; 0 is what the tiers hold, less a reserve for moves
  std::uint64_t most_size = 0;  // that it may be resized to; 0 is four times the size
};

// Records that are committed together. The owner keeps it alive until `done`.
struct Commit {
  std::array<Record, 4> records{};
  unsigned count = 0;
  int error = 0;
  void (*done)(Commit&) = nullptr;
  void* owner = nullptr;
  Commit* next = nullptr;
};

class Store {
 public:
  // What the tiers would become. An error says which tier does not do.
  static Result<LabelBlock> plan(const VolumePlan& plan, std::span<const TierDevice> tiers);
  // Writes labels and an empty map. Tiers are in the order from fast to slow.
  static Status create(const LabelBlock& label, std::span<const TierDevice> tiers);
  // The label of a device, or an error where it has none.
  static Result<LabelBlock> read_label(Device& device);

  struct Loaded {
    std::vector<std::string> notes;  // what was damaged and where it was taken from instead
    bool was_clean = true;           // the last session ended in order
  };
  // Assembles the volume of what is there, in any order; a tier that is missing stays a null device. Starts
  // a session, unless `look_only`, where nothing is written.
  static Result<std::unique_ptr<Store>> load(std::span<const TierDevice> tiers, bool look_only, Loaded& out);

  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] const LabelBlock& label() const { return label_; }
  [[nodiscard]] std::uint64_t chunk_size() const { return label_.chunk_size; }
  [[nodiscard]] std::uint64_t chunks() const { return label_.chunks; }
  [[nodiscard]] unsigned tier_count() const { return tier_count_; }
  [[nodiscard]] std::string tier_name(unsigned tier) const;
  [[nodiscard]] bool persistent(unsigned tier) const { return label_.tiers[tier].persistent != 0; }
  // Null: the tier is missing or was removed.
  [[nodiscard]] Device* device(unsigned tier) const { return devices_[tier]; }
  [[nodiscard]] std::uint64_t offset(Place place) const {
    return slots_offset_[place.tier] + place.slot * label_.chunk_size;
  }

  std::vector<Entry> entries;  // resized only by resize()
  std::vector<Heat> heat;
  std::uint64_t mapped = 0;  // entries that have a place
  Replicas replicas;
  std::array<Slots, most_tiers> slots;

  // Applied to `entries`, `replicas` and the label when it is written, just before `done`.
  void commit(Commit& commit);
  // Starts what can be started. Call after polling the devices.
  void advance();
  [[nodiscard]] bool idle() const;
  // Begins a checkpoint, unless one is under way.
  void checkpoint();
  [[nodiscard]] bool checkpointing() const { return step_ != Step::none; }
  // Devices that hold records or pages that no flush has covered yet. The flusher clears it.
  std::uint32_t dirty = 0;

  // Blocking; between requests of users. The engine has drained before.
  Status add_tier(const TierDevice& tier);
  // It is there and holds no copy of the map.
  [[nodiscard]] Status check_removable(unsigned tier) const;
  Status remove_tier(unsigned tier);
  // Ends the session in order: checkpoint, flush, clean label. REQUIRES: idle apart from that.
  Status close();

  struct Counts {
    std::uint64_t commits = 0, journal_blocks = 0, checkpoints = 0, bytes = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // Map tiers that have failed since the volume was opened.
  [[nodiscard]] std::uint32_t failed_maps() const { return failed_maps_; }

 private:
  friend class StoreLoader;
  Store() = default;

  enum class Step : std::uint8_t { none, pages, flush, head, head_flush, end };
  static constexpr std::size_t batch_blocks = 8;
  static constexpr std::size_t slice_pages = 64;

  void reserve_memory();
  // False: the record does not fit the volume.
  bool apply(const Record& record);
  void start_batch();
  void batch_done();
  void begin_checkpoint();
  void begin_pages();
  void advance_checkpoint();
  void slice_done(Io& io);
  void fill_page(std::byte* block, std::uint64_t number);
  // The same to each copy of the map; `open` is how many requests that makes.
  void write_maps(std::uint64_t offset, std::byte* data, std::uint64_t length, Op op, std::array<Io, 2>& ios,
                  unsigned& open, void (*done)(Io&));
  void map_failed(unsigned which);
  // Blocking. A label of the next session on every tier.
  Status write_labels();
  Status run_until_idle();
  [[nodiscard]] bool map_works(unsigned which) const;

  LabelBlock label_{};
  unsigned tier_count_ = 0;
  std::array<Device*, most_tiers> devices_{};
  std::array<std::uint64_t, most_tiers> slots_offset_{};
  std::uint32_t failed_maps_ = 0;

  // The journal.
  unsigned set_ = 0;  // whose journal is being written
  std::uint64_t generation_ = 0;
  std::uint64_t next_block_ = 0;
  bool unfinished_ = false;    // the set whose journal is written has no complete image yet
  Commit* waiting_ = nullptr;  // first of those not yet in a batch
  Commit* waiting_last_ = nullptr;
  Commit* batch_ = nullptr;  // first of those being written
  std::array<Io, 2> batch_ios_{};
  unsigned batch_open_ = 0;
  unsigned batch_good_ = 0;
  std::byte* batch_data_ = nullptr;

  // The checkpoint.
  Step step_ = Step::none;
  std::uint64_t page_ = 0;
  std::array<Io, 2> slice_ios_{};
  unsigned slice_open_ = 0;
  unsigned slice_good_ = 1;
  std::byte* slice_data_ = nullptr;
  std::vector<ReplicaRow> replica_rows_;  // as they were when it began
  std::uint64_t replica_row_count_ = 0;

  bool labels_due_ = false;
  bool checkpoint_due_ = false;
  Buffer memory_;
  Counts counts_{};
};

}  // namespace sluice::tier
