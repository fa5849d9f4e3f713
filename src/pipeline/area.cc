#include "pipeline/area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace sluice {

constinit std::atomic<Area*> area_of_process = nullptr;

namespace {

constinit std::atomic<bool> parted = false;

// For an area that is nobody else's: nothing of it is kept back, told or taken out any more.
void end_copy(Area& area) {
  area.over = 1;
  area.keeps_small = 0;
  area.keeping = 0;
  area.pending_live = 0;
  if (area.trace != 0) {
    area.at<AreaTrace>(area.trace)->over = 1;  // nobody would take records out of it
  }
}

}  // namespace

// Fowler, Noll and Vo.
std::uint64_t path_hash(std::string_view path) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : path) {
    out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return out ^ (out >> 32);
}

bool is_area(const void* memory, std::size_t bytes) {
  const auto* area = static_cast<const Area*>(memory);
  return bytes >= sizeof(Area) && area->magic == area_magic && area->version == area_version &&
         area->bytes == bytes && area->files + area_files * sizeof(AreaFile) <= bytes &&
         (area->moves == 0 || area->moves + moves_bytes <= bytes) &&
         (area->pending == 0 || area->pending + pending_buckets * sizeof(std::uint32_t) <= bytes) &&
         (area->trace == 0 || area->trace + AreaTrace::bytes(AreaTrace::most_chunks) <= bytes) &&
         (area->parts == 0 || area->parts + sizeof(AreaParts) <= bytes) &&
         (area->buffers == 0 || (area->block_count <= most_blocks &&
                                 area->buffers + area_buffers * sizeof(Buffer) <= area->blocks &&
                                 area->blocks + area->block_count * block_stride <= bytes));
}

bool has_other_root(const Area& area) {
  const int saved = errno;
  struct stat root {};
  const bool same = syscall(SYS_newfstatat, AT_FDCWD, "/", &root, 0) == 0 &&
                    root.st_dev == area.root_device && root.st_ino == area.root_inode;
  errno = saved;
  return !same;
}

bool has_parted() {
  return parted.load(std::memory_order_relaxed);
}

void part_from_area() {
  Area* area = this_area();
  if (area == nullptr || parted.load()) {
    return;
  }
  const int saved = errno;
  const auto fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, area->own_path.data(), O_RDONLY | O_CLOEXEC));
  if (fd >= 0 &&
      syscall(SYS_mmap, area, area->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) >= 0) {
    end_copy(*area);
    parted.store(true);
  }
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  errno = saved;
}

void* room_for_copy(const Area& area) {
  void* out =
      mmap(nullptr, area.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return out == MAP_FAILED ? nullptr : out;
}

void give_room_back(const Area& area, void* room) {
  munmap(room, area.bytes);
}

void leave_area(Area& area, void* room) {
  const std::uint64_t bytes = area.bytes;
  const std::uint64_t records = area.trace == 0 ? bytes : area.trace;
  std::memcpy(room, static_cast<const void*>(&area), area.buffers == 0 ? records : area.blocks);
  if (area.trace != 0) {
    std::memcpy(static_cast<std::byte*>(room) + records, area.at<void>(records), sizeof(AreaTrace));
  }
  end_copy(*static_cast<Area*>(room));
  parted.store(true);
  if (mremap(room, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, &area) == MAP_FAILED) {
    mmap(&area, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
}

void let_go_of_inherited(Area& area) {
  const auto self = static_cast<std::uint32_t>(look_up_lock_owner());
  const auto free_one = [&](std::atomic<std::uint32_t>& lock) {
    std::uint32_t owner = self;
    lock.compare_exchange_strong(owner, 0);
  };
  free_one(area.pending_lock);
  std::for_each(area.name_locks.begin(), area.name_locks.end(), free_one);
  std::for_each(area.removers.begin(), area.removers.end(), free_one);
  for (AreaNaming& row : area.all_namings()) {
    free_one(row.lock);
  }
  for (Buffer& buffer : area.all_buffers()) {
    free_one(buffer.lock);
  }
  if (area.parts != 0) {
    auto& parts = *area.at<AreaParts>(area.parts);
    free_one(parts.lock);
    for (AreaPart& part : parts.parts) {
      free_one(part.lock);
    }
  }
  for_each_pending(area, [&](Pending& file) { free_one(file.lock); });
}

void Traffic::count(std::uint64_t moved, std::uint64_t size) {
  bytes.fetch_add(moved, std::memory_order_relaxed);
  const auto bits = static_cast<std::size_t>(std::bit_width(size));
  sizes[std::min<std::size_t>(bits, area_size_classes - 1)].fetch_add(1, std::memory_order_relaxed);
}

void Traffic::count_pattern(LastRequest& last, std::int64_t begin, std::int64_t moved) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const std::int64_t end = last.end.exchange(begin + moved, relaxed);
  const std::int64_t gap = end < 0 ? 0 : begin - end;
  const std::int64_t gap_before = last.gap.exchange(gap, relaxed);
  (gap == 0 ? sequential : gap == gap_before ? strided : random).fetch_add(1, relaxed);
}

std::span<const AreaRule> Area::all_rules() const {
  return {at<AreaRule>(rules), rule_count};
}

std::span<const PatternToken> Area::tokens_of(const AreaRule& rule) const {
  return {at<PatternToken>(tokens) + rule.tokens, rule.token_count};
}

std::string_view Area::prefix_of(const AreaRule& rule) const {
  return {at<char>(text) + rule.prefix, rule.prefix_size};
}

std::string_view Area::stages_of(const AreaRule& rule) const {
  return {at<char>(text) + rule.stages, rule.stages_size};
}

const AreaRule* Area::rule_for(std::string_view path) const {
  for (const AreaRule& rule : all_rules()) {
    const std::string_view prefix = prefix_of(rule);
    const std::span<const PatternToken> pattern = tokens_of(rule);
    // Most rules are for all that is in a folder: no open is to pay for the automaton then.
    const bool all = pattern.size() == 1 && pattern[0].kind == PatternToken::Kind::deep_star;
    if (path.starts_with(prefix) && (all || pattern_matches(pattern, path.substr(prefix.size())))) {
      return &rule;
    }
  }
  return nullptr;
}

std::span<AreaFile> Area::all_files() {
  return {at<AreaFile>(files), area_files};
}

std::string_view Area::path_of(const AreaFile& file) const {
  return {at<char>(paths) + file.path, file.path_size};
}

// A row is claimed by one, filled, and shown to the others. Who finds one that is being made takes the next
// instead of waiting for somebody who may have been killed: a file then has two rows, which the account adds
// up.
AreaFile* Area::file(std::string_view path, std::uint32_t point) {
  const std::span<AreaFile> rows = all_files();
  const std::uint64_t first = path_hash(path);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    AreaFile& row = rows[(first + i) & (rows.size() - 1)];
    std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == 2 && row.point == point && path_of(row) == path) {
      return &row;
    }
    if (state != 0 || !row.state.compare_exchange_strong(state, 1)) {
      continue;
    }
    const auto size = static_cast<std::uint32_t>(path.size());
    const std::uint32_t used = paths_used.fetch_add(size);
    if (used + size > area_paths) {
      paths_used.fetch_sub(size);
      row.state.store(0, std::memory_order_release);
      break;
    }
    std::memcpy(at<char>(paths) + used, path.data(), size);
    row.path = used;
    row.path_size = size;
    row.point = point;
    row.state.store(2, std::memory_order_release);
    return &row;
  }
  return nullptr;
}

AreaFile* Area::known_file(std::string_view path) {
  const std::span<AreaFile> rows = all_files();
  const std::uint64_t first = path_hash(path);
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    AreaFile& row = rows[(first + i) & (rows.size() - 1)];
    const std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == 0) {
      break;
    }
    if (state == 2 && path_of(row) == path) {
      return &row;
    }
  }
  return nullptr;
}

namespace {

// Sets all that is said of an open file. Its lock and generation stay.
void clear(Buffer& buffer) {
  buffer.writes = 0;
  buffer.length = 0;
  buffer.base = 0;
  buffer.end = 0;
  buffer.position = -1;
  buffer.disturbed = false;
  buffer.unwritten = false;
  buffer.wait = 0;
  buffer.poor = 0;
  buffer.retired = false;
  buffer.leased = false;
  buffer.held = 0;
}

}  // namespace

Buffer* Area::take_buffer(pid_t process, std::uint64_t started) {
  const std::span<Buffer> all = all_buffers();
  const std::uint32_t first = next_buffer.load(std::memory_order_relaxed);
  // Those of processes that ended without a word are looked for when there are no others.
  for (const bool of_dead : {false, true}) {
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const std::uint32_t index = (first + i) % area_buffers;
      Buffer& buffer = all[index];
      std::uint32_t generation = buffer.generation.load(std::memory_order_acquire);
      const bool taken = (generation & 1) != 0;
      if (taken && (!of_dead || buffer.block != 0 || is_alive(buffer))) {
        continue;
      }
      if (buffer.generation.compare_exchange_strong(generation, generation + (taken ? 2 : 1))) {
        clear(buffer);
        buffer.process = process;
        buffer.started = started;
        next_buffer.store(index + 1, std::memory_order_relaxed);
        return &buffer;
      }
    }
  }
  return nullptr;
}

void Area::give_back(Buffer& buffer) {
  buffer.generation.fetch_add(1, std::memory_order_release);
}

// Without this a file system of memory that is full would end the program. That one may want some of it for
// itself, and takes what is not there: half of it stays. One without a limit has no blocks.
bool Area::give_memory(std::uint32_t index) const {
  const auto fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, own_path.data(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct statfs space {};
  const bool enough =
      fd >= 0 && syscall(SYS_fstatfs, fd, &space) == 0 &&
      (space.f_blocks == 0 ||
       static_cast<std::uint64_t>(space.f_bavail) * static_cast<std::uint64_t>(space.f_bsize) >=
           block_stride +
               static_cast<std::uint64_t>(space.f_blocks) / 2 * static_cast<std::uint64_t>(space.f_bsize));
  const bool out = enough && syscall(SYS_fallocate, fd, 0, blocks + index * block_stride, block_stride) == 0;
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  return out;
}

std::uint32_t Area::take_block() {
  for (const std::uint32_t wanted : {1U, 0U}) {
    for (std::uint32_t i = 0; i < block_count; ++i) {
      std::uint32_t state = wanted;
      if (block_states[i].state.load(std::memory_order_relaxed) != wanted ||
          !block_states[i].state.compare_exchange_strong(state, 2)) {
        continue;
      }
      if (wanted == 1 || give_memory(i)) {
        return i + 1;
      }
      block_states[i].state.store(0);
      return 0;
    }
  }
  return 0;
}

void Area::ready_blocks(std::uint32_t count) {
  std::uint32_t ready = 0;
  for (std::uint32_t i = 0; i < block_count && ready < count; ++i) {
    std::uint32_t state = block_states[i].state.load(std::memory_order_relaxed);
    if (state == 0 && block_states[i].state.compare_exchange_strong(state, 2)) {
      if (!give_memory(i)) {
        block_states[i].state.store(0);
        return;
      }
      // Pages begin where the file's do. Where there is no such call whoever uses it waits for them.
      syscall(SYS_madvise, at<std::byte>(blocks + i * block_stride), block_stride, MADV_POPULATE_WRITE);
      free_block(i + 1);
      state = 1;
    }
    ready += state == 1 ? 1 : 0;
  }
}

std::uint64_t unwritten_end(std::uint64_t device, std::uint64_t inode) {
  std::uint64_t out = 0;
  Area* area = this_area();
  if (area == nullptr || area->unwritten.load(std::memory_order_relaxed) == 0) [[likely]] {
    return out;
  }
  area->unwritten = 0;
  for (const Buffer& buffer : area->all_buffers()) {
    const std::uint64_t length = buffer.length.load(std::memory_order_acquire);
    if ((buffer.generation & 1) == 0 || buffer.block == 0 || length == 0 || !buffer.unwritten) {
      continue;
    }
    area->unwritten = 1;
    if (buffer.inode == inode && buffer.device == device) {
      out = std::max(out, buffer.base + length);
    }
  }
  return out;
}

void Area::count_flush(const Buffer& buffer) {
  kept_writes.fetch_add(buffer.writes, std::memory_order_relaxed);
  kept_bytes.fetch_add(buffer.length, std::memory_order_relaxed);
  kept_flushes.fetch_add(1, std::memory_order_relaxed);
}

void Area::give_block_back(Buffer& buffer) {
  const std::uint32_t index = buffer.block.exchange(0) - 1;
  block_states[index].state.store(1, std::memory_order_release);
  keeping.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace sluice
