#include "trace/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

// Compressed, much takes little: a small file must not fill the memory.
constexpr std::uint64_t most_path_bytes = 1U << 30U;  // of all paths

// As much as there is, at most that many bytes.
Result<std::string> read_at(int fd, std::uint64_t at, std::size_t bytes, const std::string& path) {
  std::string out(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(fd, out.data() + done, bytes - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Errno().fail(fmt::format("cannot read {}", quote(path)));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

}  // namespace

Result<TraceReader> TraceReader::open(const std::string& path, std::uint64_t most_at_once) {
  UniqueFd fd(sys().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (!fd) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  TraceReader out(path, std::move(fd));
  out.most_at_once_ = most_at_once;
  SLUICE_CHECK(out.index());
  return out;
}

Result<std::string> TraceReader::unpack(const TraceBlock& block, std::uint64_t at) {
  SLUICE_TRY(const std::string packed, read_at(fd_.get(), at + TraceBlock::head_bytes, block.stored, path_));
  std::string out(block.raw, '\0');
  if (packed.size() != block.stored || XXH64(packed.data(), packed.size(), 0) != block.check ||
      ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) != out.size()) {
    return fail(EBADMSG, fmt::format("{} is damaged {} bytes from its beginning", quote(path_), at));
  }
  return out;
}

Result<bool> TraceReader::index_block(std::uint64_t& at) {
  SLUICE_TRY(const std::string head, read_at(fd_.get(), at, TraceBlock::head_bytes, path_));
  if (head.empty() && !end_->is_null()) {
    return false;
  }
  struct stat about {};
  if (fstat(fd_.get(), &about) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(path_)));
  }
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (head.size() < TraceBlock::head_bytes) {
    trouble_ = fmt::format("it was cut after {} bytes", size);
    return false;
  }
  const TraceBlock block = parse_head(head);
  if (block.kind < TraceBlock::about || block.kind > TraceBlock::end || block.raw > TraceBlock::most_bytes ||
      block.stored > TraceBlock::most_bytes ||
      (block.kind == TraceBlock::events && block.count > TraceBlock::most_events)) {
    trouble_ = fmt::format("it is damaged {} bytes from its beginning", at);
    return false;
  }
  if (at + TraceBlock::head_bytes + block.stored > size) {
    trouble_ = fmt::format("it was cut after {} bytes", size);
    return false;
  }
  if (block.kind == TraceBlock::events) {
    const auto [known, is_new] =
        stream_of_.try_emplace(std::uint64_t{block.process} << 32U | block.thread, streams_.size());
    if (is_new) {
      streams_.emplace_back();
    }
    streams_[known->second].blocks.emplace_back(block, at);
    count_ += block.count;
  } else {
    if (block.kind == TraceBlock::paths) {
      path_bytes_ += block.raw + std::uint64_t{std::min(block.count, block.raw)} * sizeof(std::string);
      if (path_bytes_ > most_path_bytes) {
        return fail(E2BIG, fmt::format("{} has more paths than fit in memory", quote(path_)));
      }
    }
    auto raw = unpack(block, at);
    if (!raw && raw.error().number != EBADMSG) {
      return std::move(raw).error();
    }
    Json& json = block.kind == TraceBlock::about ? *about_ : *end_;
    if (raw && block.kind != TraceBlock::paths) {
      json = parse_json(*raw);
    }
    if (!raw || (block.kind == TraceBlock::paths ? !decode_paths(block, *raw, paths_) : !json.is_object())) {
      trouble_ = fmt::format("it is damaged {} bytes from its beginning", at);
      return false;
    }
  }
  at += TraceBlock::head_bytes + block.stored;
  return true;
}

Status TraceReader::index() {
  SLUICE_TRY(const std::string head, read_at(fd_.get(), 0, trace_head_bytes, path_));
  std::uint32_t version = 0;
  if (head.size() < trace_head_bytes || !head.starts_with(trace_magic)) {
    return fail(EBADMSG, fmt::format("{} is no trace of Sluice's", quote(path_)))
        .advise("`sluice run --trace FILE -- CMD` makes one");
  }
  head.copy(reinterpret_cast<char*>(&version), sizeof version, trace_magic.size());
  if (version != trace_version) {
    return fail(EBADMSG, fmt::format("{} has version {} of the format, and this program reads {}",
                                     quote(path_), version, trace_version))
        .advise("use the Sluice that made it");
  }
  at_ = trace_head_bytes;
  return look_again();
}

Status TraceReader::look_again() {
  trouble_.clear();
  for (bool more = true; more;) {
    SLUICE_TRY(more, index_block(at_));
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!streams_[i].waits) {
      push(i);
    }
  }
  return {};
}

Status TraceReader::fill(Stream& stream) {
  stream.next_event = 0;
  in_memory_ -= stream.events.size();
  stream.events.clear();
  while (stream.events.empty() && stream.next_block < stream.blocks.size()) {
    const auto& [block, at] = stream.blocks[stream.next_block++];
    auto raw = unpack(block, at);
    if (!raw && raw.error().number != EBADMSG) {
      return std::move(raw).error();
    }
    if (!raw || !decode_events(block, *raw, stream.events)) {
      trouble_ = fmt::format("it is damaged {} bytes from its beginning", at);
      stream.events.clear();
    }
  }
  in_memory_ += stream.events.size();
  if (in_memory_ > most_at_once_) {
    return fail(E2BIG, fmt::format("{} has too many threads at once: their calls do not fit in memory",
                                   quote(path_)))
        .advise("record fewer processes in a trace");
  }
  // They stand in the order in which they ended, which is nearly always that in which they began.
  const auto begins_first = [](const TraceEvent& a, const TraceEvent& b) { return a.begin < b.begin; };
  if (!std::is_sorted(stream.events.begin(), stream.events.end(), begins_first)) {
    std::stable_sort(stream.events.begin(), stream.events.end(), begins_first);
  }
  return {};
}

void TraceReader::push(std::size_t index) {
  Stream& stream = streams_[index];
  stream.waits = stream.next_event < stream.events.size() || stream.next_block < stream.blocks.size();
  if (!stream.waits) {
    in_memory_ -= stream.events.size();
    std::vector<TraceEvent>().swap(stream.events);
    stream.next_event = 0;
    return;
  }
  heap_.push_back(index);
  std::push_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
}

const std::string& TraceReader::path(std::uint32_t number) const {
  static const std::string none;
  return number == 0 || number > paths_.size() ? none : paths_[number - 1];
}

Result<bool> TraceReader::next(TraceEvent& event) {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), [this](auto a, auto b) { return is_later(a, b); });
    const std::size_t index = heap_.back();
    heap_.pop_back();
    Stream& stream = streams_[index];
    if (stream.next_event < stream.events.size()) {
      event = stream.events[stream.next_event++];
      // Who counts by path has no room for numbers of none.
      for (std::uint32_t* path : {&event.path, &event.other, &event.site}) {
        *path = *path <= paths_.size() ? *path : 0;
      }
      push(index);
      return true;
    }
    // Its next block is due; another stream may have an earlier event than that one really has.
    stream.waits = false;
    SLUICE_CHECK(fill(stream));
    push(index);
  }
  return false;
}

}  // namespace sluice
