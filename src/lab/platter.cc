#include "lab/platter.h"

#include <algorithm>
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
  SLUICE_TRY(auto fresh, store->scratch());
  return std::unique_ptr<Platter>(new Platter(std::move(store), std::move(fresh), size));
}

Platter::Platter(std::unique_ptr<Store> stable, std::unique_ptr<Store> fresh, std::uint64_t size)
    : stable_(std::move(stable)), fresh_(std::move(fresh)), size_(size), edge_(copy_blocks * block_size) {}

int Platter::read_blocks(std::uint64_t block, Bytes out) {
  const std::uint64_t end = block + out.size() / block_size;
  for (std::uint64_t done = 0; block < end;) {
    const std::uint64_t next = fresh_blocks_.run_end(block, end);
    const std::uint64_t length = (next - block) * block_size;
    Store& store = fresh_blocks_.contains(block) ? *fresh_ : *stable_;
    if (const int error = store.read(block * block_size, out.subspan(done, length)); error != 0) {
      return error;
    }
    done += length;
    block = next;
  }
  return 0;
}

int Platter::write_blocks(std::uint64_t block, ConstBytes data, bool safe) {
  if (const int error = (safe ? stable_ : fresh_)->write(block * block_size, data); error != 0) {
    return error;
  }
  const std::uint64_t end = block + data.size() / block_size;
  scratch_used_ += safe ? 0 : end - block;
  for (; block < end; ++block) {
    fresh_blocks_.put(block, !safe);
  }
  return 0;
}

int Platter::read(std::uint64_t offset, Bytes out) {
  const std::uint64_t first = offset / block_size;
  const std::uint64_t skip = offset % block_size;
  if (skip == 0 && out.size() % block_size == 0) {
    return read_blocks(first, out);
  }
  std::vector<std::byte> whole(blocks_of(skip + out.size()) * block_size);
  const int error = read_blocks(first, whole);
  if (error == 0) {
    std::memcpy(out.data(), whole.data() + skip, out.size());
  }
  return error;
}

int Platter::write(std::uint64_t offset, ConstBytes data, bool safe) {
  while (!data.empty()) {
    const std::uint64_t block = offset / block_size;
    const std::uint64_t skip = offset % block_size;
    std::size_t length = data.size() / block_size * block_size;
    if (skip != 0 || length == 0) {
      // Part of a block: the rest of it comes along.
      length = std::min<std::size_t>(block_size - skip, data.size());
      const Bytes whole = Bytes(edge_).first(block_size);
      if (const int error = read_blocks(block, whole); error != 0) {
        return error;
      }
      std::memcpy(whole.data() + skip, data.data(), length);
      if (const int error = write_blocks(block, whole, safe); error != 0) {
        return error;
      }
    } else if (const int error = write_blocks(block, data.first(length), safe); error != 0) {
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
  if (from > to || from * block_size > offset + length) {
    return write(offset, ConstBytes(zeros).first(length), true);
  }
  if (const int error = write(offset, ConstBytes(zeros).first(from * block_size - offset), true);
      error != 0) {
    return error;
  }
  if (const int error =
          write(to * block_size, ConstBytes(zeros).first(offset + length - to * block_size), true);
      error != 0) {
    return error;
  }
  for (std::uint64_t block = from; (block = fresh_blocks_.first_from(block, to)) < to;) {
    fresh_blocks_.put(block, false);
  }
  return to > from ? stable_->discard(from * block_size, (to - from) * block_size) : 0;
}

int Platter::copy_to_stable(std::uint64_t block, std::uint64_t end) {
  while (block < end) {
    const std::uint64_t count = std::min(end - block, copy_blocks);
    const Bytes piece = Bytes(edge_).first(count * block_size);
    int error = fresh_->read(block * block_size, piece);
    error = error != 0 ? error : stable_->write(block * block_size, piece);
    if (error != 0) {
      return error;
    }
    block += count;
  }
  return 0;
}

int Platter::forget_fresh() {
  fresh_blocks_.clear();
  if (scratch_used_ < keep_blocks) {
    return 0;
  }
  scratch_used_ = 0;
  return fresh_->discard(0, size_);
}

int Platter::flush() {
  const std::uint64_t end = size_ / block_size;
  for (std::uint64_t block = 0; (block = fresh_blocks_.first_from(block, end)) < end;) {
    const std::uint64_t next = fresh_blocks_.run_end(block, end);
    if (const int error = copy_to_stable(block, next); error != 0) {
      return error;
    }
    block = next;
  }
  return forget_fresh();
}

int Platter::power_cut(double survive, std::mt19937_64& random) {
  std::bernoulli_distribution survives(survive);
  const std::uint64_t end = size_ / block_size;
  for (std::uint64_t block = 0; survive > 0 && (block = fresh_blocks_.first_from(block, end)) < end;
       ++block) {
    if (survives(random)) {
      if (const int error = copy_to_stable(block, block + 1); error != 0) {
        return error;
      }
    }
  }
  return forget_fresh();
}

int Platter::wipe() {
  const int error = stable_->discard(0, size_);
  return error != 0 ? error : forget_fresh();
}

}  // namespace sluice::lab
