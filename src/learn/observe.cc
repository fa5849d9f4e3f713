#include "learn/observe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "pipeline/heard.h"

namespace sluice {
namespace {

constexpr std::int64_t block_bytes = 4096;
constexpr std::int64_t piece_bytes = block_bytes / 64;
constexpr std::size_t most_blocks = 96;          // sampled of a file
constexpr std::size_t most_blocks_of_many = 12;  // where there are very many files
constexpr std::size_t many_files = 4096;
constexpr std::size_t most_open = std::size_t{1} << 17U;  // programs that are killed close nothing
constexpr std::size_t most_users = 256;                   // threads of one open file that are told apart
constexpr std::size_t most_processes = 64;
constexpr std::int64_t most_offset = std::int64_t{1} << 60U;  // more is in no file
constexpr std::uint32_t most_paths = 1U << 28U;               // numbers of a file that is none of ours

void add(std::unique_ptr<Observed>& to, const std::unique_ptr<Observed>& from) {
  if (from) {
    if (!to) {
      to = std::make_unique<Observed>();
    }
    to->add(*from);
  }
}

}  // namespace

std::size_t RequestSizes::class_of(std::uint64_t size) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(size)), class_count - 1);
}

void RequestSizes::put(std::uint64_t size, std::uint64_t count) {
  Class& one = (*classes_)[class_of(size)];
  one.count += static_cast<std::uint32_t>(count);
  one.bytes += static_cast<double>(size) * static_cast<double>(count);
}

void RequestSizes::pour() {
  classes_ = std::make_unique<Classes>();
  for (const auto& entry : frequent_.entries()) {
    put(static_cast<std::uint64_t>(entry.value), entry.count);
  }
}

void RequestSizes::add(std::uint64_t size, std::uint64_t count) {
  all_ += count;
  if (!classes_ && !frequent_.has_room_for(static_cast<std::int64_t>(size))) {
    pour();
  }
  if (classes_) {
    put(size, count);
  }
  frequent_.add(static_cast<std::int64_t>(size), count);
}

void RequestSizes::add(const RequestSizes& other) {
  if (!other.classes_) {
    for (const auto& entry : other.frequent_.entries()) {
      if (entry.count > 0) {
        add(static_cast<std::uint64_t>(entry.value), entry.count);
      }
    }
    return;
  }
  if (!classes_) {
    pour();
  }
  for (std::size_t i = 0; i < class_count; ++i) {
    (*classes_)[i].count += (*other.classes_)[i].count;
    (*classes_)[i].bytes += (*other.classes_)[i].bytes;
  }
  frequent_.add(other.frequent_);
  all_ += other.all_;
}

std::uint64_t RequestSizes::typical() const {
  const auto top = frequent_.top();
  if (top.count * 2 >= all_) {
    return static_cast<std::uint64_t>(top.value);
  }
  if (!classes_) {
    auto sorted = frequent_.entries();
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    std::uint64_t seen = 0;
    for (const auto& entry : sorted) {
      seen += entry.count;
      if (seen * 2 >= all_) {
        return static_cast<std::uint64_t>(entry.value);
      }
    }
  }
  std::uint64_t seen = 0;
  for (std::size_t i = 0; classes_ && i < class_count; ++i) {
    const Class& one = (*classes_)[i];
    seen += one.count;
    if (one.count > 0 && seen * 2 >= all_) {
      return static_cast<std::uint64_t>(one.bytes / one.count);
    }
  }
  return 0;
}

double RequestSizes::near(std::uint64_t size) const {
  if (all_ == 0) {
    return -1;
  }
  std::uint64_t out = 0;
  if (!classes_) {
    for (const auto& entry : frequent_.entries()) {
      const auto value = static_cast<std::uint64_t>(entry.value);
      out += value * 2 >= size && value <= size * 2 ? entry.count : 0;
    }
  } else {
    // By the means of classes, which are no wider than that.
    for (const Class& one : *classes_) {
      const double mean = one.count == 0 ? 0 : one.bytes / one.count;
      out += mean * 2 >= static_cast<double>(size) && mean <= static_cast<double>(size) * 2 ? one.count : 0;
    }
  }
  return static_cast<double>(out) / static_cast<double>(all_);
}

void ReadBlocks::add(std::int64_t begin, std::int64_t bytes, std::size_t most) {
  const std::int64_t end = begin + bytes;
  const std::int64_t first = begin / block_bytes;
  std::int64_t number = first + ((rest_ - first) % modulus_ + modulus_) % modulus_;
  while (number * block_bytes < end) {
    const std::int64_t from = std::max(begin - number * block_bytes, std::int64_t{0});
    const std::int64_t to = std::min(end - number * block_bytes, block_bytes);
    auto at = std::lower_bound(blocks_.begin(), blocks_.end(), number,
                               [](const Block& block, std::int64_t wanted) { return block.number < wanted; });
    if (at == blocks_.end() || at->number != number) {
      at = blocks_.insert(at, Block{.number = number});
    }
    const std::int64_t low = from / piece_bytes;
    const std::int64_t high = (to - 1) / piece_bytes;  // the last one
    at->pieces |= (~std::uint64_t{0} >> (63 - (high - low))) << low;
    at->bytes += static_cast<double>(to - from);
    if (blocks_.size() > most) {
      thin_out();
      // The sample is another one now.
      const std::int64_t next = number + 1;
      number = next + ((rest_ - next) % modulus_ + modulus_) % modulus_;
    } else {
      number += modulus_;
    }
  }
}

void ReadBlocks::thin_out() {
  std::array<std::size_t, 3> kept = {};
  for (const Block& block : blocks_) {
    kept[static_cast<std::size_t>((block.number - rest_) / modulus_ % 3)] += 1;
  }
  const auto best = std::max_element(kept.begin(), kept.end()) - kept.begin();
  rest_ += best * modulus_;
  modulus_ *= 3;
  std::erase_if(blocks_, [&](const Block& block) { return block.number % modulus_ != rest_; });
}

ReadBlocks::Sum ReadBlocks::sum() const {
  std::vector<std::pair<double, double>> passes;  // with the bytes
  for (const Block& block : blocks_) {
    const auto different = static_cast<double>(std::popcount(block.pieces) * piece_bytes);
    passes.emplace_back(block.bytes / different, different);
  }
  std::sort(passes.begin(), passes.end());
  passes.resize(passes.size() - passes.size() / 10);
  Sum out;
  for (const auto& [ratio, different] : passes) {
    out.read += ratio * different;
    out.different += different;
  }
  return out;
}

void Observed::add(const Observed& other) {
  calls += other.calls;
  bytes += other.bytes;
  nanoseconds += other.nanoseconds;
  pattern.add(other.pattern);
  together.add(other.together);
  sizes.add(other.sizes);
}

void ObservedFile::add(const ObservedFile& other) {
  sluice::add(read, other.read);
  sluice::add(write, other.write);
  files += other.files;
  opens += other.opens;
  calls += other.calls;
  nanoseconds += other.nanoseconds;
  open_nanoseconds += other.open_nanoseconds;
  syncs += other.syncs;
  synced_writes += other.synced_writes;
  synced_files += other.synced_files;
  made_files += other.made_files;
  removed_files += other.removed_files;
  renamed_files += other.renamed_files;
  created_files += other.created_files;
  unknown_sizes += other.unknown_sizes;
  size += other.size;
  interleaved += other.interleaved;
  passes_read += other.passes_read;
  passes_different += other.passes_different;
  heard = later(heard, other.heard);
  processes = std::max(processes, other.processes);
  partners.add(other.partners);
  for (const auto& [site, count] : other.sites) {
    add_site(site, count);
  }
}

void ObservedFile::add_site(std::uint32_t site, std::uint64_t count) {
  const auto found =
      std::find_if(sites.begin(), sites.end(), [&](const auto& one) { return one.first == site; });
  if (found != sites.end()) {
    found->second += count;
  } else if (site != 0 && sites.size() < most_sites) {
    sites.emplace_back(site, count);
  }
}

std::uint64_t ObservedFile::requests() const {
  return (read ? read->calls : 0) + (write ? write->calls : 0);
}

std::uint64_t ObservedFile::bytes() const {
  return (read ? read->bytes : 0) + (write ? write->bytes : 0);
}

void Observer::open(const TraceEvent& event) {
  const bool known = event.flags != TraceEvent::was_open;
  if (known && (event.flags & O_TMPFILE) == O_TMPFILE) {
    nameless_ += 1;
    return;
  }
  if (event.path == 0 || event.path >= most_paths || event.result < 0) {
    return;
  }
  if (event.path >= files_.size()) {
    files_.resize(event.path + 1);
    live_.resize(event.path + 1);
  }
  ObservedFile& file = files_[event.path];
  const bool writes = known && (event.flags & O_ACCMODE) != O_RDONLY;
  if (file.opens == 0 && file.calls == 0) {
    file.files = 1;
    const bool made = writes && ((event.flags & O_TRUNC) != 0 || (event.flags & O_EXCL) != 0);
    file.made_files = made ? 1 : 0;
    file.created_files = writes && (event.flags & O_CREAT) != 0 ? 1 : 0;
    file.unknown_sizes = known && (event.flags & O_APPEND) != 0 && !made ? 1 : 0;
  }
  file.removed_files = 0;  // it is there again
  file.opens += known ? 1 : 0;
  file.calls += known ? 1 : 0;
  file.add_site(event.site, 1);
  file.nanoseconds += static_cast<std::uint64_t>(event.duration);
  file.open_nanoseconds += static_cast<std::uint64_t>(event.duration);
  if (event.file != 0) {
    if (open_.size() >= most_open) {
      forget_old();
    }
    Open& open = open_[event.file];
    open = {};
    open.path = event.path;
    open.syncs = known && (event.flags & O_DSYNC) != 0;  // O_SYNC has that bit too
    open.appends = known && (event.flags & O_APPEND) != 0;
    open.last_used = events_;
  }
}

void Observer::change_names(const TraceEvent& event) {
  if (event.result < 0 || event.path >= files_.size() || files_[event.path].files == 0) {
    return;  // it is not about a file that was used
  }
  ObservedFile& file = files_[event.path];
  file.removed_files = event.operation == TraceEvent::remove ? 1 : file.removed_files;
  file.renamed_files =
      event.operation == TraceEvent::rename || event.operation == TraceEvent::link ? 1 : file.renamed_files;
}

// Those of programs that ended without closing them, most likely.
void Observer::forget_old() {
  std::vector<std::uint64_t> used;
  used.reserve(open_.size());
  for (const auto& [number, open] : open_) {
    used.push_back(open.last_used);
  }
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), middle, used.end());
  std::erase_if(open_, [&](const auto& one) { return one.second.last_used <= *middle; });
}

Observer::User& Observer::user_of(Open& open, std::uint32_t thread) {
  if (open.last_user < open.users.size() && open.users[open.last_user].thread == thread) {
    return open.users[open.last_user];
  }
  for (std::size_t i = 0; i < open.users.size(); ++i) {
    if (open.users[i].thread == thread) {
      open.last_user = i;
      return open.users[i];
    }
  }
  if (open.users.size() < most_users) {
    live_[open.path].users += 1;
    open.users.push_back({.thread = thread, .followers = {}});
    open.last_user = open.users.size() - 1;
    return open.users.back();
  }
  return open.users[thread % most_users];
}

// A request on another file than the one before of the same thread, while that is still open.
void Observer::interleave(const TraceEvent& event, const Open& open) {
  Last& last = last_[event.thread];
  if (last.file != 0 && last.path != open.path && open_.count(last.file) != 0) {
    ObservedFile& file = files_[open.path];
    file.interleaved += 1;
    file.partners.add(last.path);
  }
  last = {.file = event.file, .path = open.path};
}

void Observer::request(const TraceEvent& event, Open& open, std::int64_t offset) {
  const bool write = event.operation == TraceEvent::write;
  ObservedFile& file = files_[open.path];
  Live& live = live_[open.path];
  auto& observed = write ? file.write : file.read;
  if (!observed) {
    observed = std::make_unique<Observed>();
  }
  observed->calls += 1;
  observed->bytes += static_cast<std::uint64_t>(event.result);
  observed->nanoseconds += static_cast<std::uint64_t>(event.duration);
  if (event.result == 0) {
    return;  // the end of the file
  }
  observed->sizes.add(event.length);
  // An own position is shared by all who have the open file, and the end of a file by all who append to it.
  const bool appends = write && open.appends;
  const bool shared = event.offset == TraceEvent::at_position;
  if (appends) {
    live.together[1].count(observed->pattern, offset, event.result);
  } else {
    user_of(open, shared ? 0 : event.thread)
        .followers[write ? 1 : 0]
        .count(observed->pattern, offset, event.result);
    if (live.users > 1) {
      live.together[write ? 1 : 0].count(observed->together, offset, event.result);
    }
  }
  if (write) {
    file.synced_writes += open.syncs ? 1 : 0;
    file.synced_files = open.syncs ? 1 : file.synced_files;
    live.unsynced += open.syncs ? 0U : 1U;
  } else {
    live.blocks.add(offset, event.result, files_.size() > many_files ? most_blocks_of_many : most_blocks);
  }
  file.size = std::max(file.size, static_cast<std::uint64_t>(offset + event.result));
  if (std::find(live.processes.begin(), live.processes.end(), event.process) == live.processes.end() &&
      live.processes.size() < most_processes) {
    live.processes.push_back(event.process);
  }
  interleave(event, open);
}

void Observer::add(const TraceEvent& event) {
  events_ += 1;
  const std::int64_t offset = positions_.offset_of(event);
  if (event.operation == TraceEvent::open) {
    open(event);
    return;
  }
  if (event.is_about_names()) {
    change_names(event);
    return;
  }
  const auto found = open_.find(event.file);
  if (event.file == 0 || found == open_.end()) {
    return;
  }
  Open& open = found->second;
  open.last_used = events_;
  ObservedFile& file = files_[open.path];
  file.calls += 1;
  file.nanoseconds += static_cast<std::uint64_t>(event.duration);
  const bool good = event.result >= 0;
  switch (event.operation) {
    case TraceEvent::read:
    case TraceEvent::write:
      if (good && offset >= 0 && offset < most_offset && event.result < most_offset) {
        request(event, open, offset);
      }
      break;
    case TraceEvent::sync:
      if (good) {
        file.syncs += 1;
        // One sync for one write; of two threads both may write before both sync.
        if (std::uint64_t& unsynced = live_[open.path].unsynced; unsynced > 0) {
          file.synced_writes += 1;
          unsynced -= 1;
        }
        file.synced_files = 1;
      }
      break;
    case TraceEvent::truncate:
    case TraceEvent::seek:
      // The end that was asked for, or cut to.
      file.size = std::max(file.size, static_cast<std::uint64_t>(positions_.size_of(open.path)));
      file.unknown_sizes = event.flags == SEEK_END ? 0 : file.unknown_sizes;
      break;
    case TraceEvent::advise: {
      std::atomic<std::uint32_t> heard = file.heard;
      hear(heard, event.flags);
      file.heard = heard;
      break;
    }
    case TraceEvent::close:
      open_.erase(found);
      break;
    default:
      break;
  }
}

std::vector<ObservedFile> Observer::finish() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const ReadBlocks::Sum sum = live_[i].blocks.sum();
    files_[i].passes_read = sum.read;
    files_[i].passes_different = sum.different;
    files_[i].processes = static_cast<std::uint32_t>(live_[i].processes.size());
  }
  live_.clear();
  return std::move(files_);
}

}  // namespace sluice
