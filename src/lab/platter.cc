#include "lab/platter.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::lab {
namespace {

constexpr std::uint64_t copy_blocks = 256;
// Beyond this the room of what was flushed is given back at once.
constexpr std::uint64_t keep_blocks = 16384;

std::uint64_t blocks_of(std::uint64_t bytes) {
  return (bytes + block_size - 1) / block_size;
}

}  // namespace

const BlockSet::Group* BlockSet::find(std::uint64_t block) const {
  const auto found = groups_.find(block / group_size);
  return found == groups_.end() ? nullptr : &found->second;
}

bool BlockSet::contains(std::uint64_t block) const {
  const Group* group = find(block);
  return group != nullptr && group->test(block % group_size);
}

void BlockSet::put(std::uint64_t block, bool in) {
  auto found = groups_.find(block / group_size);
  if (found == groups_.end()) {
    if (!in) {
      return;
    }
    found = groups_.emplace(block / group_size, Group{}).first;
  }
  count_ += in ? 1U : 0U;
  count_ -= found->second.test(block % group_size) ? 1U : 0U;
  found->second.set(block % group_size, in);
  if (found->second.none()) {
    groups_.erase(found);
  }
}

std::uint64_t BlockSet::run_end(std::uint64_t block, std::uint64_t end) const {
  if (!contains(block)) {
    return first_from(block, end);
  }
  do {
    ++block;
  } while (block < end && contains(block));
  return block;
}

std::uint64_t BlockSet::first_from(std::uint64_t block, std::uint64_t end) const {
  for (auto at = groups_.lower_bound(block / group_size); at != groups_.end(); ++at) {
    const std::uint64_t start = at->first * group_size;
    for (std::uint64_t i = std::max(block, start); i < start + group_size; ++i) {
      if (i >= end) {
        return end;
      }
      if (at->second.test(i - start)) {
        return i;
      }
    }
  }
  return end;
}

Result<std::unique_ptr<Platter>> Platter::create(std::unique_ptr<Store> store, std::uint64_t size) {
  SLUICE_TRY(auto before, store->scratch());
  return std::unique_ptr<Platter>(new Platter(std::move(store), std::move(before), size));
}

Platter::Platter(std::unique_ptr<Store> store, std::unique_ptr<Store> before, std::uint64_t size)
    : store_(std::move(store)), before_(std::move(before)), size_(size), buffer_(copy_blocks * block_size) {}

int Platter::copy(Store& from, Store& to, std::uint64_t block, std::uint64_t end) {
  while (block < end) {
    const std::uint64_t count = std::min(end - block, copy_blocks);
    const Bytes piece = Bytes(buffer_).first(count * block_size);
    int error = from.read(block * block_size, piece);
    error = error != 0 ? error : to.write(block * block_size, piece);
    if (error != 0) {
      return error;
    }
    block += count;
  }
  return 0;
}

// What the blocks hold now is put aside, unless something older is there already.
int Platter::keep_before(std::uint64_t block, std::uint64_t end) {
  while (block < end) {
    const std::uint64_t next = changed_.run_end(block, end);
    if (!changed_.contains(block)) {
      if (const int error = copy(*store_, *before_, block, next); error != 0) {
        return error;
      }
      kept_ += next - block;
      for (std::uint64_t i = block; i < next; ++i) {
        changed_.put(i, true);
      }
    }
    block = next;
  }
  return 0;
}

int Platter::write_blocks(std::uint64_t block, ConstBytes data, bool safe) {
  const std::uint64_t end = block + data.size() / block_size;
  if (!safe) {
    if (const int error = keep_before(block, end); error != 0) {
      return error;
    }
  }
  if (const int error = store_->write(block * block_size, data); error != 0) {
    return error;
  }
  for (; safe && block < end; ++block) {
    changed_.put(block, false);
  }
  return 0;
}

int Platter::patch(Store& store, std::uint64_t offset, ConstBytes data) {
  std::array<std::byte, block_size> whole;
  const std::uint64_t start = offset / block_size * block_size;
  if (const int error = store.read(start, whole); error != 0) {
    return error;
  }
  std::memcpy(whole.data() + (offset - start), data.data(), data.size());
  return store.write(start, whole);
}

// Within one block. Safe bytes are put into what a power cut would bring back, too; the rest of the block
// stays as unsafe as it was.
int Platter::write_part(std::uint64_t offset, ConstBytes data, bool safe) {
  const std::uint64_t block = offset / block_size;
  int error = safe ? 0 : keep_before(block, block + 1);
  if (error == 0 && safe && changed_.contains(block)) {
    error = patch(*before_, offset, data);
  }
  return error != 0 ? error : patch(*store_, offset, data);
}

int Platter::read(std::uint64_t offset, Bytes out) {
  const std::uint64_t skip = offset % block_size;
  if (skip == 0 && out.size() % block_size == 0) {
    return store_->read(offset, out);
  }
  std::vector<std::byte> whole(blocks_of(skip + out.size()) * block_size);
  const int error = store_->read(offset - skip, whole);
  if (error == 0) {
    std::memcpy(out.data(), whole.data() + skip, out.size());
  }
  return error;
}

int Platter::write(std::uint64_t offset, ConstBytes data, bool safe) {
  while (!data.empty()) {
    const std::uint64_t skip = offset % block_size;
    std::size_t length = data.size() / block_size * block_size;
    const bool part = skip != 0 || length == 0;
    if (part) {
      length = std::min<std::size_t>(block_size - skip, data.size());
    }
    const int error = part ? write_part(offset, data.first(length), safe)
                           : write_blocks(offset / block_size, data.first(length), safe);
    if (error != 0) {
      return error;
    }
    offset += length;
    data = data.subspan(length);
  }
  return 0;
}

int Platter::discard(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t from = blocks_of(offset);
  const std::uint64_t to = (offset + length) / block_size;
  const std::vector<std::byte> zeros(block_size);
  if (from > to) {  // within one block
    return write(offset, ConstBytes(zeros).first(length), true);
  }
  int error = write(offset, ConstBytes(zeros).first(from * block_size - offset), true);
  if (error == 0) {
    error = write(to * block_size, ConstBytes(zeros).first(offset + length - to * block_size), true);
  }
  if (error != 0 || to == from) {
    return error;
  }
  for (std::uint64_t block = from; (block = changed_.first_from(block, to)) < to;) {
    changed_.put(block, false);
  }
  return store_->discard(from * block_size, (to - from) * block_size);
}

int Platter::forget() {
  changed_.clear();
  if (kept_ < keep_blocks) {
    return 0;
  }
  kept_ = 0;
  return before_->discard(0, size_);
}

int Platter::flush() {
  return forget();
}

int Platter::power_cut(double survive, std::mt19937_64& random) {
  std::bernoulli_distribution survives(survive);
  const std::uint64_t end = size_ / block_size;
  for (std::uint64_t block = 0; (block = changed_.first_from(block, end)) < end; ++block) {
    if (survive <= 0 || !survives(random)) {
      if (const int error = copy(*before_, *store_, block, block + 1); error != 0) {
        return error;
      }
    }
  }
  return forget();
}

int Platter::wipe() {
  const int error = store_->discard(0, size_);
  return error != 0 ? error : forget();
}

}  // namespace sluice::lab
