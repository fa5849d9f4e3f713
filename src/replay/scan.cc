#include "replay/scan.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "replay/names.h"
#include "trace/text.h"

namespace sluice {
namespace {

constexpr std::uint32_t most_numbers = 1U << 28U;  // of paths; more are none of ours

// An open file of the trace.
struct OpenFile {
  std::uint32_t path = 0;
  std::uint64_t position = 0;
  std::uint64_t read_to = 0;  // the furthest that anything was read
  bool appends = false;
  bool wrote = false;
  bool moved = false;  // to a file of its own
};

class Scanner {
 public:
  Scanner(const TraceReader& trace, const std::function<bool(const std::string&)>& covers, TraceScan& out)
      : trace_(trace), covers_(covers), out_(out), names_(trace, out) {
    out_.files.emplace_back();
    out_.names.emplace_back();
    out_.totals.resize(TraceEvent::started + 1);
    out_.strands.emplace_back();
  }

  void take(const TraceEvent& read) {
    const TraceEvent event = sane(read);
    const std::uint32_t strand = strand_of(event);
    if (event.operation == TraceEvent::started) {
      started(event, strand);
      return;
    }
    if (!is_replayed(event, out_.point)) {
      return;
    }
    const std::int64_t end = end_of(event);
    out_.begin = out_.operations == 0 ? event.begin : out_.begin;
    out_.end = std::max(out_.end, end);
    ++out_.operations;
    ReplayStrand& own = out_.strands[strand];
    ++own.operations;
    own.recent.add(end);
    own.end = std::max(own.end, end);
    if (event.operation != TraceEvent::open || event.flags != TraceEvent::was_open) {
      ReplayedOperation& total = out_.totals[event.operation];
      ++total.calls;
      total.original_seconds += static_cast<double>(event.duration) / 1e9;
    }
    if (event.operation == TraceEvent::open) {
      open(event);
    } else if (event.is_about_names()) {
      names_.change(event, event.operation == TraceEvent::sync_folder
                               ? is_folder_covered(event.path)
                               : is_covered(event.path) && (event.other == 0 || is_covered(event.other)));
    } else if (event.file != 0 && event.file < open_.size() && open_[event.file].path != 0) {
      act(event, open_[event.file]);
    }
  }

  void finish() {
    // Who said nothing of who started it.
    for (std::uint32_t i = 1; i < out_.strands.size(); ++i) {
      if (out_.strands[i].creator == ReplayStrand::none) {
        set_creator(i, 0);
      }
    }
    for (std::uint32_t i = 1; i < out_.strands.size(); ++i) {
      for (std::uint32_t up = out_.strands[i].creator; up != ReplayStrand::none;
           up = out_.strands[up].creator) {
        out_.strands[up].end = std::max(out_.strands[up].end, out_.strands[i].end);
      }
    }
    for (ReplayStrand& strand : out_.strands) {
      std::stable_sort(strand.spawned.begin(), strand.spawned.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(out_.strands[a].spawn_after, out_.strands[a].begin) <
               std::pair(out_.strands[b].spawn_after, out_.strands[b].begin);
      });
    }
  }

 private:
  std::uint32_t new_strand(std::uint32_t process, std::uint32_t thread, std::int64_t begin) {
    const auto out = static_cast<std::uint32_t>(out_.strands.size());
    ReplayStrand& strand = out_.strands.emplace_back();
    strand.process = process;
    strand.thread = thread;
    strand.begin = begin;
    strand.end = begin;
    strand.main = out;
    return out;
  }

  std::uint32_t strand_of(const TraceEvent& event) {
    const auto [found, is_new] = out_.by_thread.try_emplace(thread_key(event), 0);
    if (!is_new) {
      return found->second;
    }
    const auto [process, first] = mains_.try_emplace(event.process, 0);
    if (!first && out_.strands[process->second].thread == 0) {
      // So far it was known by what it started alone.
      out_.strands[process->second].thread = event.thread;
      ++out_.processes;
      return found->second = process->second;
    }
    const std::uint32_t out = found->second = new_strand(event.process, event.thread, event.begin);
    if (first) {
      process->second = out;
      ++out_.processes;
    } else {
      out_.strands[out].main = process->second;
      set_creator(out, process->second);
    }
    return out;
  }

  void started(const TraceEvent& event, std::uint32_t strand) {
    if (strand == 0 || out_.strands[strand].main != strand ||
        out_.strands[strand].creator != ReplayStrand::none) {
      return;  // it began all, or another program took the place of one
    }
    const auto parent = static_cast<std::uint32_t>(event.result);
    // The first that is not in the trace is whoever began it all.
    const auto [found, is_new] = mains_.try_emplace(parent, 0);
    if (is_new && mains_.size() > 2) {
      found->second = new_strand(parent, 0, out_.strands[strand].begin);
      set_creator(found->second, 0);
    }
    set_creator(strand, found->second);
  }

  void set_creator(std::uint32_t strand, std::uint32_t creator) {
    for (std::uint32_t up = creator; up != ReplayStrand::none; up = out_.strands[up].creator) {
      if (up == strand) {
        creator = 0;  // numbers of processes were used again, or it is no trace of ours
        break;
      }
    }
    ReplayStrand& own = out_.strands[strand];
    own.creator = creator;
    own.spawn_after = out_.strands[creator].recent.ended_by(own.begin);
    out_.strands[creator].spawned.push_back(strand);
  }

  bool is_covered(std::uint32_t path) {
    if (path == 0 || path >= most_numbers || trace_.path(path).empty()) {
      return false;
    }
    covered_.resize(std::max<std::size_t>(covered_.size(), path + 1));
    std::optional<bool>& out = covered_[path];
    if (!out) {
      out = !covers_ || covers_(trace_.path(path));
    }
    return *out;
  }

  // The name of what is there, and must have been.
  std::uint32_t found(std::uint32_t path) {
    if (names_.file_at(path) == 0) {
      out_.files[names_.make(path, true)].prepared = true;
    }
    return names_.name_at(path);
  }

  // As a file in it would be.
  bool is_folder_covered(std::uint32_t path) {
    const std::string& text = trace_.path(path);
    return path < most_numbers && !text.empty() && (!covers_ || covers_(text + "/in-it"));
  }

  void open(const TraceEvent& event) {
    if (event.result == -EEXIST) {
      out_.existing.push_back(is_covered(event.path) ? found(event.path) : 0);
    }
    ++opens_;
    if (!is_given(event.file, opens_) || event.result < 0 || !is_covered(event.path)) {
      return;
    }
    out_.changed.resize(std::max<std::size_t>(out_.changed.size(), event.path + 1));
    std::uint32_t current = names_.file_at(event.path);
    const bool seen = event.flags != TraceEvent::was_open;
    const bool creates = seen && (event.flags & O_CREAT) != 0;
    const bool anew = creates && (event.flags & O_EXCL) != 0;
    const bool nameless = seen && (event.flags & O_TMPFILE) == O_TMPFILE;
    if (current == 0 || anew || nameless) {
      current = names_.make(event.path, !creates);
      out_.files[current].prepared = seen && !creates && !nameless;
      out_.files[current].fixed = anew;
    }
    ReplayFile& file = out_.files[current];
    if (seen && (event.flags & O_TRUNC) != 0) {
      file.size = 0;
      file.fixed = true;
    }
    if (changes_file(event)) {
      out_.changed[event.path] = 1;
    }
    open_.resize(std::max<std::size_t>(open_.size(), event.file + 1));
    out_.file_of.resize(open_.size());
    out_.name_of.resize(open_.size());
    open_[event.file] = {.path = event.path, .appends = seen && (event.flags & O_APPEND) != 0};
    out_.file_of[event.file] = current;
    out_.name_of[event.file] = names_.name_at(event.path);
  }

  void act(const TraceEvent& event, OpenFile& open) {
    ReplayFile& file = out_.files[out_.file_of[event.file]];
    const std::uint64_t moved = event.result > 0 ? static_cast<std::uint64_t>(event.result) : 0;
    const bool own = event.offset == TraceEvent::at_position;
    const auto offset = static_cast<std::uint64_t>(std::max<std::int64_t>(event.offset, 0));
    switch (event.operation) {
      case TraceEvent::read: {
        const std::uint64_t at = own ? open.position : offset;
        open.position += own ? moved : 0;
        if (event.result >= 0 && event.length > 0) {
          read(event, open, at, moved);
        }
        break;
      }
      case TraceEvent::write: {
        const std::uint64_t at = open.appends ? file.size : own ? open.position : offset;
        if (moved > 0) {
          grow(file, at + moved, moved);
          open.wrote = true;
          out_.changed[open.path] = 1;
        }
        open.position = own ? at + moved : open.position;
        break;
      }
      case TraceEvent::seek:
        if (event.result >= 0) {
          open.position = static_cast<std::uint64_t>(event.result);
          if (event.flags == SEEK_END && (event.offset <= 0 || event.result >= event.offset)) {
            was_of_size(event, open, open.position - static_cast<std::uint64_t>(event.offset));
          }
        }
        break;
      case TraceEvent::truncate:
        if (event.result == 0) {
          file.size = event.length;
          file.largest = std::max(file.largest, file.size);
          file.fixed = true;
          open.wrote = true;
          out_.changed[open.path] = 1;
        }
        break;
      case TraceEvent::allocate:
        if (event.result == 0) {
          const std::uint64_t end = offset + event.length;
          const bool grows = (event.flags & FALLOC_FL_KEEP_SIZE) == 0;
          grow(file, grows ? end : file.size, (event.flags & FALLOC_FL_PUNCH_HOLE) == 0 ? event.length : 0);
          open.wrote = true;
          out_.changed[open.path] = 1;
        }
        break;
      default:
        break;
    }
  }

  static void grow(ReplayFile& file, std::uint64_t size, std::uint64_t bytes) {
    file.size = std::max(file.size, size);
    file.largest = std::max(file.largest, file.size);
    file.written += bytes;
  }

  void read(const TraceEvent& event, OpenFile& open, std::uint64_t at, std::uint64_t moved) {
    open.read_to = std::max(open.read_to, moved > 0 ? at + moved : 0);
    ReplayFile& file = out_.files[out_.file_of[event.file]];
    if (moved == event.length) {
      at_least(event, open, at + moved);
    } else if (moved > 0) {
      was_of_size(event, open, at + moved);
    } else if (file.size > at) {
      was_of_size(event, open, at);
    } else {
      file.fixed = true;
    }
  }

  void at_least(const TraceEvent& event, OpenFile& open, std::uint64_t size) {
    ReplayFile& file = out_.files[out_.file_of[event.file]];
    if (size > file.size) {
      raise(event, open, size, false);
    }
  }

  void was_of_size(const TraceEvent& event, OpenFile& open, std::uint64_t size) {
    ReplayFile& file = out_.files[out_.file_of[event.file]];
    if (size != file.size) {
      raise(event, open, size, true);
    } else {
      file.fixed = true;
    }
  }

  // The file has another size than it would have: by what was in it before, or because it is another one.
  void raise(const TraceEvent& event, OpenFile& open, std::uint64_t size, bool exact) {
    std::uint32_t& own = out_.file_of[event.file];
    const bool possible = !out_.files[own].fixed && !out_.files[own].follows && size >= out_.files[own].size;
    if (!possible) {
      if (open.wrote || open.moved) {
        return;  // it will be counted as another result
      }
      own = names_.make(open.path, true);
      out_.name_of[event.file] = names_.name_at(open.path);
      open.moved = true;
    }
    ReplayFile& file = out_.files[own];
    file.prepared = true;
    file.initial = std::max({file.initial, size, possible ? 0 : open.read_to});
    file.size = std::max(file.size, file.initial);
    file.largest = std::max(file.largest, file.size);
    file.fixed = file.fixed || exact;
  }

  const TraceReader& trace_;
  const std::function<bool(const std::string&)>& covers_;
  TraceScan& out_;
  std::unordered_map<std::uint32_t, std::uint32_t> mains_;  // strand by process
  std::vector<OpenFile> open_;                              // by number
  std::uint64_t opens_ = 0;
  PathNames names_;
  std::vector<std::optional<bool>> covered_;  // by path
};

}  // namespace

TraceEvent sane(TraceEvent event) {
  constexpr std::int64_t most = std::int64_t{1} << 60U;  // nanoseconds, 36 years
  event.begin = std::clamp<std::int64_t>(event.begin, 0, most);
  event.duration = std::clamp<std::int64_t>(event.duration, 0, most);
  return event;
}

bool is_replayed(const TraceEvent& event, std::uint8_t point) {
  return event.point == point && event.operation != TraceEvent::started &&
         !operation_name(event.operation).empty();
}

bool changes_file(const TraceEvent& event) {
  switch (event.operation) {
    case TraceEvent::open:
      return event.result >= 0 && event.flags != TraceEvent::was_open &&
             (event.flags & (O_CREAT | O_TRUNC)) != 0;
    case TraceEvent::write:
    case TraceEvent::truncate:
    case TraceEvent::allocate:
      return true;
    case TraceEvent::remove:
    case TraceEvent::rename:
    case TraceEvent::link:
      return event.result >= 0;
    default:
      return false;
  }
}

int replayed_flags(std::int32_t flags) {
  constexpr int kept =
      O_ACCMODE | O_APPEND | O_CREAT | O_EXCL | O_TRUNC | O_SYNC | O_DSYNC | O_DIRECT | O_TMPFILE;
  return (flags & kept & ~O_DIRECTORY) | ((flags & O_TMPFILE) == O_TMPFILE ? O_TMPFILE : 0) | O_CLOEXEC;
}

std::uint64_t TraceScan::room() const {
  std::uint64_t out = 0;
  for (const ReplayFile& file : files) {
    const std::uint64_t one = file.initial + std::min(file.written, file.largest);
    out = one < file.initial || out + one < out ? ~std::uint64_t{0} : out + one;
  }
  return out;
}

Result<TraceScan> scan_trace(TraceReader& trace, std::uint8_t point,
                             const std::function<bool(const std::string&)>& covers) {
  TraceScan out;
  out.point = point;
  Scanner scanner(trace, covers, out);
  TraceEvent event;
  for (;;) {
    SLUICE_TRY(const bool more, trace.next(event));
    if (!more) {
      break;
    }
    scanner.take(event);
  }
  scanner.finish();
  if (out.operations == 0) {
    return fail(EBADMSG, trace.trouble().empty()
                             ? "the trace has no operation to do again"
                             : "the trace has no operation to do again: " + trace.trouble())
        .advise("`sluice trace show` shows what is in it");
  }
  return out;
}

}  // namespace sluice
