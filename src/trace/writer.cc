#include "trace/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

// Of compression. Paths are few, and as long as many events.
constexpr int event_level = 3;
constexpr int path_level = 7;

}  // namespace

Result<TraceWriter> TraceWriter::create(const std::string& path) {
  UniqueFd fd(sys().open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) {
    return Errno().fail(fmt::format("cannot make trace {}", quote(path)));
  }
  std::string head(trace_magic);
  head.append(reinterpret_cast<const char*>(&trace_version), sizeof trace_version);
  head.resize(trace_head_bytes);
  TraceWriter out(path, std::move(fd));
  if (Status status = write_all(out.fd_.get(), head, path); !status) {
    static_cast<void>(sys().unlink(path.c_str()));
    return std::move(status).error();
  }
  out.bytes_ = head.size();
  return out;
}

Status TraceWriter::put_block(TraceBlock block, std::string_view raw) {
  packed_.resize(ZSTD_compressBound(raw.size()));
  const int level = block.kind == TraceBlock::paths ? path_level : event_level;
  const std::size_t size =
      ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(), raw.data(), raw.size(), level);
  if (ZSTD_isError(size) != 0) {
    return fail(ENOMEM, fmt::format("cannot compress a piece of trace {}: {}", quote(path_),
                                    ZSTD_getErrorName(size)));
  }
  block.raw = static_cast<std::uint32_t>(raw.size());
  block.stored = static_cast<std::uint32_t>(size);
  block.check = XXH64(packed_.data(), size, 0);
  // One write: whoever is killed leaves it whole, or the last one cut.
  const std::string bytes = print_head(block) + packed_.substr(0, size);
  SLUICE_CHECK(write_all(fd_.get(), bytes, path_));
  bytes_ += bytes.size();
  return {};
}

Status TraceWriter::begin(const Json& about) {
  return put_block({.kind = TraceBlock::about}, about.dump());
}

std::uint32_t TraceWriter::number_of(std::string_view path) {
  const auto [found, is_new] = numbers_.try_emplace(std::string(path), numbers_.size() + 1);
  if (is_new) {
    new_paths_.emplace_back(path);
  }
  return found->second;
}

Status TraceWriter::put_paths() {
  if (new_paths_.empty()) {
    return {};
  }
  const std::string raw = encode_paths(new_paths_);
  const auto count = static_cast<std::uint32_t>(new_paths_.size());
  new_paths_.clear();
  return put_block({.kind = TraceBlock::paths, .count = count}, raw);
}

Status TraceWriter::put_events(std::vector<TraceEvent>& events) {
  if (events.empty()) {
    return {};
  }
  SLUICE_CHECK(put_paths());  // those that they name come before
  const auto by_begin = [](const TraceEvent& a, const TraceEvent& b) { return a.begin < b.begin; };
  const auto [first, last] = std::minmax_element(events.begin(), events.end(), by_begin);
  const TraceBlock block{.kind = TraceBlock::events,
                         .count = static_cast<std::uint32_t>(events.size()),
                         .process = events.front().process,
                         .thread = events.front().thread,
                         .first = first->begin,
                         .last = last->begin};
  const std::string raw = encode_events(events);
  events.clear();
  return put_block(block, raw);
}

Status TraceWriter::add(const TraceEvent& event) {
  const std::pair key{event.process, event.thread};
  if (last_ == nullptr || last_->first != key) {
    last_ = &*waiting_.try_emplace(key).first;
  }
  std::vector<TraceEvent>& events = last_->second;
  events.push_back(event);
  ++events_;
  return events.size() < TraceBlock::most_events ? Status() : put_events(events);
}

Status TraceWriter::flush() {
  for (auto& [thread, events] : waiting_) {
    SLUICE_CHECK(put_events(events));
  }
  waiting_.clear();
  last_ = nullptr;
  return {};
}

Status TraceWriter::finish(const Json& end) {
  SLUICE_CHECK(flush());
  SLUICE_CHECK(put_paths());
  return put_block({.kind = TraceBlock::end}, end.dump());
}

}  // namespace sluice
