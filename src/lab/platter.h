// The bytes of a device, and which of them a power cut would lose. The store below has the newest bytes; of
// every block that was written since the last flush, what it held before is kept aside. A flush forgets that,
// a power cut puts it back.
//
// Calls give 0 or an errno. One thread at a time.
#pragma once

#include <bitset>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "lab/store.h"

namespace sluice::lab {

// Numbers of blocks; cheap where few of many are in it.
class BlockSet {
 public:
  [[nodiscard]] bool contains(std::uint64_t block) const;
  void put(std::uint64_t block, bool in);
  void clear() { groups_.clear(), count_ = 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Where [block, end) first has another answer than at `block`.
  [[nodiscard]] std::uint64_t run_end(std::uint64_t block, std::uint64_t end) const;
  // The first block in it from `block` on, or `end`.
  [[nodiscard]] std::uint64_t first_from(std::uint64_t block, std::uint64_t end) const;

 private:
  static constexpr std::uint64_t group_size = 512;
  using Group = std::bitset<group_size>;
  [[nodiscard]] const Group* find(std::uint64_t block) const;

  std::map<std::uint64_t, Group> groups_;  // none is empty
  std::uint64_t count_ = 0;
};

class Platter {
 public:
  static Result<std::unique_ptr<Platter>> create(std::unique_ptr<Store> store, std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // REQUIRES: within the size.
  int read(std::uint64_t offset, Bytes out);
  // With `safe` a power cut does not lose it: the device has no cache.
  int write(std::uint64_t offset, ConstBytes data, bool safe);
  // Safe at once. A device may forget what was discarded whenever it likes, and may keep what was not
  // flushed.
  int discard(std::uint64_t offset, std::uint64_t length);
  int flush();
  // Loses what was written since the last flush, but for a share of blocks chosen by chance.
  int power_cut(double survive, std::mt19937_64& random);
  // Loses everything.
  int wipe();
  // Bytes since the last flush.
  [[nodiscard]] std::uint64_t unsafe() const { return changed_.count() * block_size; }

 private:
  Platter(std::unique_ptr<Store> store, std::unique_ptr<Store> before, std::uint64_t size);
  int keep_before(std::uint64_t block, std::uint64_t end);
  int write_blocks(std::uint64_t block, ConstBytes data, bool safe);
  int write_part(std::uint64_t offset, ConstBytes data, bool safe);
  static int patch(Store& store, std::uint64_t offset, ConstBytes data);
  int copy(Store& from, Store& to, std::uint64_t block, std::uint64_t end);
  int forget();

  std::unique_ptr<Store> store_;
  std::unique_ptr<Store> before_;  // what changed_ blocks held at the last flush
  std::uint64_t size_;
  BlockSet changed_;               // written since the last flush, and not safe
  std::uint64_t kept_ = 0;         // blocks put into before_ since its room was given back
  std::vector<std::byte> buffer_;  // for copying
};

}  // namespace sluice::lab
