#include "report/view.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "trace/family.h"
#include "trace/pattern.h"
#include "trace/text.h"

namespace sluice {
namespace {

constexpr std::size_t most_members = 32;    // of a family, before it becomes one row
constexpr std::size_t most_tracked = 4096;  // rows in memory, before the smaller half is put together
constexpr std::size_t operation_count = TraceEvent::sync_folder + 1;

bool takes_longer(const ViewRow& a, const ViewRow& b) {
  return a.nanoseconds != b.nanoseconds ? a.nanoseconds > b.nanoseconds : a.name < b.name;
}

// Where the request before ended, and the gap that it left.
struct Last {
  std::int64_t end = -1;
  std::int64_t gap = 0;
};

// One call as it is counted.
struct Call {
  std::uint8_t operation = 0;
  bool failed = false;
  std::int64_t begin = 0;
  std::uint64_t duration = 0;
  std::uint64_t moved = 0;
  std::uint64_t length = 0;
  std::int64_t offset = 0;
  enum class Next : std::uint8_t { none, sequential, strided, random } next = Next::none;
};

void count(ViewRequests& requests, const Call& call) {
  ++requests.calls;
  requests.nanoseconds += call.duration;
  requests.failures += call.failed ? 1 : 0;
  if (call.next == Call::Next::none) {
    return;
  }
  requests.bytes += call.moved;
  ++(call.next == Call::Next::sequential ? requests.sequential
     : call.next == Call::Next::strided  ? requests.strided
                                         : requests.random);
  const auto bits = static_cast<std::size_t>(std::bit_width(call.length));
  ViewRequests::Class& size = requests.sizes[std::min(bits, ViewRequests::classes - 1)];
  ++size.calls;
  size.bytes += call.length;
  size.nanoseconds += call.duration;
}

LaneKind kind_of(std::uint8_t operation) {
  return operation == TraceEvent::read    ? LaneKind::read
         : operation == TraceEvent::write ? LaneKind::write
                                          : LaneKind::other;
}

void count(ViewRow& row, const Grid& grid, const Call& call) {
  ++row.calls;
  row.failures += call.failed ? 1 : 0;
  row.nanoseconds += call.duration;
  switch (call.operation) {
    case TraceEvent::read:
      count(row.read, call);
      break;
    case TraceEvent::write:
      count(row.write, call);
      break;
    case TraceEvent::open:
      ++row.opens;
      break;
    case TraceEvent::sync:
    case TraceEvent::sync_folder:
      ++row.syncs;
      row.sync_nanoseconds += call.duration;
      break;
    default:
      break;
  }
  grid.put(row.lane, kind_of(call.operation), call.begin, static_cast<std::int64_t>(call.duration),
           call.moved);
}

// Rows under a number. Once there are too many, those that took least are put into `others`.
class Rows {
 public:
  ViewRow* find(std::uint32_t number) {
    const auto found = rows_.find(number);
    return found == rows_.end() ? nullptr : found->second.get();
  }
  ViewRow& make(std::uint32_t number) {
    auto& row = rows_[number];
    row = std::make_unique<ViewRow>();
    return *row;
  }
  void take(std::uint32_t number, ViewRow& into) {
    const auto found = rows_.find(number);
    if (found != rows_.end()) {
      into.add(*found->second);
      rows_.erase(found);
    }
  }
  [[nodiscard]] bool is_full() const { return rows_.size() >= most_tracked; }
  void prune(std::size_t keep) {
    if (rows_.size() <= keep) {
      return;
    }
    std::vector<std::pair<const ViewRow*, std::uint32_t>> all;
    for (const auto& [number, row] : rows_) {
      all.emplace_back(row.get(), number);
    }
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep), all.end(),
                     [](const auto& a, const auto& b) { return takes_longer(*a.first, *b.first); });
    for (std::size_t i = keep; i < all.size(); ++i) {
      take(all[i].second, others_);
    }
  }
  void halve() {
    others_.lane.halve();
    for (auto& [number, row] : rows_) {
      row->lane.halve();
    }
  }
  std::vector<ViewRow> sorted() {
    std::vector<ViewRow> out;
    for (auto& [number, row] : rows_) {
      out.push_back(std::move(*row));
    }
    std::sort(out.begin(), out.end(), takes_longer);
    return out;
  }
  ViewRow& others() { return others_; }

 private:
  std::unordered_map<std::uint32_t, std::unique_ptr<ViewRow>> rows_;
  ViewRow others_;
};

// Files, those of one family together once they are many.
class Files {
 public:
  explicit Files(const TraceReader& trace) : trace_(trace) {}

  [[nodiscard]] bool is_known(std::uint32_t path) const { return path < known_.size() && known_[path]; }
  // Stays where it is as long as generation() is the same.
  ViewRow& row_of(std::uint32_t path) {
    const std::string& name = trace_.path(path);
    if (name.empty()) {
      path = 0;  // a number that is none of the trace's
    }
    if (ViewRow* row = rows_.find(path)) {
      return *row;
    }
    if (path >= known_.size()) {
      known_.resize(path + 1);
    }
    const std::uint64_t is_new = known_[path] ? 0 : 1;
    known_[path] = true;
    count_ += is_new;
    const std::string glob = family_of(name);
    Family& family = families_[glob];
    if (family.row != 0) {
      if (ViewRow* row = rows_.find(family.row)) {
        row->files += is_new;
        return *row;
      }
      family = {};  // it was pruned
    }
    if (rows_.is_full()) {
      ++generation_;
      rows_.prune(most_tracked / 2);
      families_.clear();
      return row_of(path);
    }
    if (glob != name && family.members.size() == most_members) {
      ++generation_;
      family.row = next_family_++;
      ViewRow& row = rows_.make(family.row);
      for (const std::uint32_t member : family.members) {
        rows_.take(member, row);
      }
      family.members = {};
      row.name = glob;
      row.files += 1;
      return row;
    }
    family.members.push_back(path);
    ViewRow& row = rows_.make(path);
    row.name = name;
    row.files = 1;
    return row;
  }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  Rows& rows() { return rows_; }

 private:
  struct Family {
    std::uint32_t row = 0;  // of all of them together
    std::vector<std::uint32_t> members;
  };

  const TraceReader& trace_;
  Rows rows_;
  std::unordered_map<std::string, Family> families_;
  std::vector<bool> known_;
  std::uint64_t count_ = 0;
  std::uint64_t generation_ = 0;
  std::uint32_t next_family_ = 1U << 31U;  // beyond the numbers of paths
};

class Maker {
 public:
  Maker(const TraceReader& trace, std::uint8_t point) : trace_(trace), files_(trace), point_(point) {}

  void take(const TraceEvent& event) {
    ViewRow& process = process_of(event);
    const std::int64_t begin = std::clamp<std::int64_t>(event.begin, 0, Grid::latest);
    const std::int64_t duration = std::clamp<std::int64_t>(event.duration, 0, Grid::latest - begin);
    if (begin + duration > end_) {
      end_ = begin + duration;
      for (unsigned i = grid_.grow_to(end_); i > 0; --i) {
        files_.rows().halve();
        processes_.halve();
      }
    }
    if (event.operation == TraceEvent::started) {
      process.name = trace_.path(event.path);
      process.parent = static_cast<std::uint32_t>(event.result);
      return;
    }
    if (event.point != point_ || event.operation >= operation_count ||
        event.operation == TraceEvent::advise || operation_name(event.operation).empty()) {
      return;
    }
    ++events_;
    ViewRow* file = file_of(event);
    if (event.operation == TraceEvent::open && event.flags == TraceEvent::was_open) {
      return;
    }
    Call call{.operation = event.operation,
              .failed = event.result < 0,
              .begin = begin,
              .duration = static_cast<std::uint64_t>(duration),
              .length = event.length};
    follow(event, call);
    TraceView::Operation& operation = operations_[event.operation];
    ++operation.calls;
    operation.failures += call.failed ? 1 : 0;
    operation.nanoseconds += call.duration;
    count(process, grid_, call);
    process.files += event.operation == TraceEvent::open && !call.failed ? 1 : 0;
    if (file != nullptr) {
      count(*file, grid_, call);
      file->lane.touch(grid_.bin_of(begin), kind_of(event.operation), call.offset, call.moved);
    }
    if (event.operation == TraceEvent::close) {
      open_.erase(event.file);
    }
  }

  TraceView finish() {
    TraceView out;
    out.events = events_;
    out.seconds = static_cast<double>(end_) / 1e9;
    out.bin_seconds = static_cast<double>(grid_.width()) / 1e9;
    for (std::size_t i = 0; i < operation_count; ++i) {
      operations_[i].name = operation_name(static_cast<std::uint8_t>(i));
      if (operations_[i].calls > 0) {
        out.operations.push_back(operations_[i]);
      }
    }
    std::sort(out.operations.begin(), out.operations.end(),
              [](const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; });
    out.file_count = files_.count();
    files_.rows().prune(TraceView::most_rows);
    out.files = files_.rows().sorted();
    out.other_files = files_.rows().others();
    // One that was inherited and only closed again tells nothing.
    std::erase_if(out.files, [&](const ViewRow& row) {
      const bool is_nothing = row.opens + row.read.calls + row.write.calls + row.syncs + row.failures == 0;
      out.file_count -= is_nothing ? row.files : 0;
      return is_nothing;
    });
    for (const ViewRow& row : out.files) {
      out.all.add(row);
    }
    out.all.add(out.other_files);
    out.process_count = known_processes_.size();
    processes_.prune(TraceView::most_rows);
    out.processes = processes_.sorted();
    out.other_processes = processes_.others();
    out.all.threads = threads_.size();
    return out;
  }

 private:
  struct Open {
    std::uint32_t path = 0;
    ViewRow* row = nullptr;
    std::uint64_t generation = 0;  // in which row is
    std::array<Last, 2> last = {};
  };

  ViewRow& process_of(const TraceEvent& event) {
    ViewRow* row = processes_.find(event.process);
    if (row == nullptr) {
      if (processes_.is_full()) {
        processes_.prune(most_tracked / 2);
      }
      row = &processes_.make(event.process);
      row->process = event.process;
      known_processes_.insert(event.process);
    }
    if (threads_.insert(std::uint64_t{event.process} << 32U | event.thread).second) {
      ++row->threads;
    }
    return *row;
  }

  // The row of the file that a call is about; none where nobody saw it opened.
  ViewRow* file_of(const TraceEvent& event) {
    if ((event.operation == TraceEvent::open && event.file == 0) ||
        event.operation == TraceEvent::sync_folder) {
      return &files_.row_of(event.path);
    }
    if (event.is_about_names()) {
      return files_.is_known(event.path) ? &files_.row_of(event.path) : nullptr;
    }
    if (event.operation == TraceEvent::open) {
      open_[event.file] = {.path = event.path};
    }
    const auto found = open_.find(event.file);
    if (found == open_.end()) {
      return nullptr;
    }
    Open& open = found->second;
    if (open.row == nullptr || open.generation != files_.generation()) {
      open.row = &files_.row_of(open.path);
      open.generation = files_.generation();
    }
    return open.row;
  }

  // What a read or write moved, and how it follows the one before.
  void follow(const TraceEvent& event, Call& call) {
    const std::int64_t offset = positions_.offset_of(event);
    const bool write = event.operation == TraceEvent::write;
    if (event.result < 0 || (!write && event.operation != TraceEvent::read)) {
      return;
    }
    call.offset = offset;
    if (event.result == 0) {
      return;  // the end of the file tells nothing of sizes
    }
    call.moved = static_cast<std::uint64_t>(event.result);
    const auto open = open_.find(event.file);
    Last none;
    Last& last = open == open_.end() ? none : open->second.last[write ? 1 : 0];
    // Wraps where the trace is none of ours.
    const auto gap = static_cast<std::int64_t>(
        last.end < 0 ? 0 : static_cast<std::uint64_t>(offset) - static_cast<std::uint64_t>(last.end));
    call.next = gap == 0          ? Call::Next::sequential
                : gap == last.gap ? Call::Next::strided
                                  : Call::Next::random;
    last = {.end = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) + call.moved), .gap = gap};
  }

  const TraceReader& trace_;
  Files files_;
  Rows processes_;
  Grid grid_;
  TracePositions positions_;
  std::unordered_map<std::uint32_t, Open> open_;
  std::unordered_set<std::uint64_t> threads_;
  std::unordered_set<std::uint32_t> known_processes_;
  std::array<TraceView::Operation, operation_count> operations_;
  std::uint64_t events_ = 0;
  std::int64_t end_ = 0;
  std::uint8_t point_;
};

}  // namespace

void ViewRequests::add(const ViewRequests& more) {
  calls += more.calls;
  failures += more.failures;
  bytes += more.bytes;
  nanoseconds += more.nanoseconds;
  sequential += more.sequential;
  strided += more.strided;
  random += more.random;
  for (std::size_t i = 0; i < classes; ++i) {
    sizes[i].calls += more.sizes[i].calls;
    sizes[i].bytes += more.sizes[i].bytes;
    sizes[i].nanoseconds += more.sizes[i].nanoseconds;
  }
}

std::string ViewRequests::pattern() const {
  return std::string(pattern_of(sequential, strided, random));
}

std::uint64_t ViewRequests::typical() const {
  std::uint64_t all = 0;
  for (const Class& size : sizes) {
    all += size.calls;
  }
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    seen += sizes[i].calls;
    if (all > 0 && seen * 2 >= all) {
      return sizes[i].calls == all ? bytes / all : i == 0 ? 0 : std::uint64_t{1} << (i - 1);
    }
  }
  return 0;
}

void ViewRow::add(const ViewRow& more) {
  files += more.files;
  threads += more.threads;
  read.add(more.read);
  write.add(more.write);
  opens += more.opens;
  syncs += more.syncs;
  sync_nanoseconds += more.sync_nanoseconds;
  calls += more.calls;
  failures += more.failures;
  nanoseconds += more.nanoseconds;
  lane.add(more.lane);
}

Result<TraceView> view_of(TraceReader& trace, std::uint8_t point) {
  Maker maker(trace, point);
  TraceEvent event;
  for (;;) {
    SLUICE_TRY(const bool more, trace.next(event));
    if (!more) {
      break;
    }
    maker.take(event);
  }
  TraceView out = maker.finish();
  out.about = trace.about();
  out.end = trace.end();
  out.trouble = trace.trouble();
  const Json points = out.about->is_object() ? out.about->value("points", Json::array()) : Json::array();
  if (points.is_array() && point < points.size() && points[point].is_string()) {
    out.point = points[point].get<std::string>();
  }
  return out;
}

}  // namespace sluice
