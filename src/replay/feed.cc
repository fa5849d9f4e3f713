#include "replay/feed.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "replay/scratch.h"

namespace sluice {
namespace {

// Whether what others do to the contents matters to it, or the other way round.
bool is_about_contents(const TraceEvent& event) {
  return event.operation != TraceEvent::seek && event.operation != TraceEvent::advise &&
         event.operation != TraceEvent::make_folder && event.operation != TraceEvent::sync_folder;
}

}  // namespace

Feeder::Feeder(const TraceScan& scan, const TraceReader& trace, StepSink& sink)
    : scan_(scan), trace_(trace), sink_(sink), strands_(scan.strands.size()), skipped_(scan.totals.size()) {
  strands_[0].spawned = true;
  strands_[0].base = scan.begin;
  processes_[0].strands.push_back(0);
}

Status Feeder::wait_for(std::uint32_t strand, const Mark& mark) {
  Strand& own = strands_[strand];
  std::uint64_t& waited = own.waited[mark.strand];
  if (mark.strand == strand || waited >= mark.index) {
    return {};
  }
  waited = mark.index;
  Step step;
  step.kind = Step::wait;
  step.other = mark.strand;
  step.result = static_cast<std::int64_t>(mark.index);
  if (mark.end > own.base) {
    step.latest = 1;
    step.think = mark.end - own.base;
    own.base = mark.end;
  }
  return sink_.put(strand, step, "");
}

// What the strand started and what had ended by then, it has most likely waited for.
Status Feeder::join(std::uint32_t strand, std::int64_t now) {
  std::vector<std::uint32_t>& unjoined = strands_[strand].unjoined;
  for (std::size_t i = 0; i < unjoined.size();) {
    const std::uint32_t other = unjoined[i];
    if (scan_.strands[other].end > now) {
      ++i;
      continue;
    }
    unjoined.erase(unjoined.begin() + static_cast<std::ptrdiff_t>(i));
    SLUICE_CHECK(wait_for(
        strand,
        {.strand = other, .index = scan_.strands[other].operations + 1, .end = scan_.strands[other].end}));
  }
  return {};
}

Status Feeder::spawn_next(std::uint32_t creator) {
  Strand& own = strands_[creator];
  const std::uint32_t other = scan_.strands[creator].spawned[own.spawns++];
  const ReplayStrand& about = scan_.strands[other];
  SLUICE_CHECK(join(creator, about.begin));
  const bool is_process = about.main == other;
  Process& parent = process_of(creator);
  if (is_process) {
    // It begins with the files that its parent has open, whichever thread opened them.
    for (const std::uint32_t thread : parent.strands) {
      const RecentEnds& recent = strands_[thread].recent;
      if (const std::uint64_t ended = recent.ended_by(about.begin); ended > 0 && thread != creator) {
        SLUICE_CHECK(wait_for(creator, {.strand = thread, .index = ended, .end = recent.end_of(ended)}));
      }
    }
    Process child{.open = parent.open, .strands = {other}, .slots = parent.slots};
    for (auto& [number, open] : child.open) {
      open.opened = {.strand = other};
      open.users.clear();
    }
    processes_[other] = std::move(child);
  } else {
    process_of(other).strands.push_back(other);
  }
  own.unjoined.push_back(other);
  strands_[other].spawned = true;
  strands_[other].base = own.base;
  Step step;
  step.kind = is_process ? Step::spawn_process : Step::spawn_thread;
  step.other = other;
  SLUICE_CHECK(sink_.put(creator, step, ""));
  SLUICE_CHECK(end_where_due(other));
  return end_where_due(creator);
}

Status Feeder::end_where_due(std::uint32_t strand) {
  Strand& own = strands_[strand];
  const ReplayStrand& about = scan_.strands[strand];
  if (own.ended || !own.spawned || own.index < about.operations || own.spawns < about.spawned.size()) {
    return {};
  }
  own.ended = true;
  SLUICE_CHECK(join(strand, INT64_MAX));
  own.waited.clear();
  if (process_of(strand).strands.size() == 1) {
    process_of(strand).open.clear();
  }
  Step step;
  step.kind = Step::end;
  return sink_.put(strand, step, "");
}

Status Feeder::spawn_due(std::uint32_t creator) {
  const std::vector<std::uint32_t>& all = scan_.strands[creator].spawned;
  while (strands_[creator].spawns < all.size() &&
         scan_.strands[all[strands_[creator].spawns]].spawn_after <= strands_[creator].index) {
    SLUICE_CHECK(spawn_next(creator));
  }
  return {};
}

Status Feeder::start(std::uint32_t strand) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t up = strand; !strands_[up].spawned; up = scan_.strands[up].creator) {
    missing.push_back(up);
  }
  for (; !missing.empty(); missing.pop_back()) {
    while (!strands_[missing.back()].spawned) {
      SLUICE_CHECK(spawn_next(scan_.strands[missing.back()].creator));
    }
  }
  return {};
}

std::uint32_t Feeder::new_slot(std::uint32_t strand) {
  // One that another thread gave up could be used before that has.
  std::vector<std::uint32_t>& free = strands_[strand].free_slots;
  if (free.empty()) {
    return process_of(strand).slots++;
  }
  const std::uint32_t out = free.back();
  free.pop_back();
  return out;
}

Status Feeder::wait_for_path(std::uint32_t strand, const TraceEvent& event, std::uint32_t path,
                             bool changes) {
  if (path >= scan_.changed.size() || scan_.changed[path] == 0 || !is_about_contents(event)) {
    return {};
  }
  PathMarks& marks = paths_[path];
  std::int64_t settled = marks.settled;
  for (const auto& [other, mark] : marks.changes) {
    settled = mark.end <= event.begin ? std::max(settled, mark.begin) : settled;
  }
  if (settled > marks.settled) {
    marks.settled = settled;
    const auto is_settled = [&](const auto& one) { return one.second.end <= settled; };
    std::erase_if(marks.changes, is_settled);
    std::erase_if(marks.looks, is_settled);
  }
  for (const auto& [other, mark] : marks.changes) {
    if (mark.end <= event.begin) {
      SLUICE_CHECK(wait_for(strand, mark));
    }
  }
  for (const auto& [other, mark] : changes ? marks.looks : Marks()) {
    if (mark.end <= event.begin) {
      SLUICE_CHECK(wait_for(strand, mark));
    }
  }
  return {};
}

Status Feeder::wait_for_open(std::uint32_t strand, const TraceEvent& event, const Open& open) {
  if (open.opened.strand != strand) {
    SLUICE_CHECK(wait_for(strand, open.opened));
  }
  if (event.operation == TraceEvent::close) {
    for (const auto& [other, mark] : open.users) {
      SLUICE_CHECK(wait_for(strand, mark));
    }
  }
  return {};
}

// For those that come later.
void Feeder::note(std::uint32_t strand, const TraceEvent& event, std::uint32_t path, bool changes) {
  const Mark mark{
      .strand = strand, .index = strands_[strand].index + 1, .begin = event.begin, .end = end_of(event)};
  if (path < scan_.changed.size() && scan_.changed[path] != 0 && is_about_contents(event)) {
    (changes ? paths_[path].changes : paths_[path].looks)[strand] = mark;
  }
  const auto open = process_of(strand).open.find(event.file);
  if (open != process_of(strand).open.end() && open->second.opened.strand != strand) {
    open->second.users[strand] = mark;
  }
}

bool Feeder::changes(const TraceEvent& event) const {
  if (event.operation != TraceEvent::open || !changes_file(event) ||
      (event.flags & (O_TRUNC | O_EXCL)) != 0) {
    return changes_file(event);
  }
  // It makes the file where that is not there yet.
  const std::uint32_t file = event.file < scan_.file_of.size() ? scan_.file_of[event.file] : 0;
  const auto before = current_.find(event.path);
  return !scan_.files[file].prepared && (before == current_.end() || before->second != file);
}

// What an open becomes; `step.kind` is nothing where it is not done again.
Status Feeder::put_open(std::uint32_t strand, const TraceEvent& event, Step& step, std::string& path) {
  Process& process = process_of(strand);
  step.kind = TraceEvent::open;
  step.slot = no_slot;
  step.other = (event.mode & 0777U) | 0600U;  // whoever opens it again may have changed that meanwhile
  const bool known = event.path != 0 && !trace_.path(event.path).empty();
  if (known && event.result == -ENOENT) {
    path = "absent";
    step.flags = replayed_flags(event.flags & ~O_CREAT);
    return {};
  }
  if (event.result == -EEXIST && next_existing_ < scan_.existing.size()) {
    if (const std::uint32_t name = scan_.existing[next_existing_++]; name != 0) {
      path = Scratch::name_of(scan_, name, trace_);
      step.flags = replayed_flags(event.flags);
      return {};
    }
  }
  if (!known || event.result < 0 || event.file == 0 || event.file >= scan_.file_of.size() ||
      scan_.file_of[event.file] == 0) {
    step.kind = Step::nothing;
    return {};
  }
  const std::uint32_t file = scan_.file_of[event.file];
  const std::uint32_t name = scan_.name_of[event.file];
  current_[event.path] = file;
  const bool seen = event.flags != TraceEvent::was_open;
  step.flags = seen ? replayed_flags(event.flags) : O_RDWR | O_CREAT | O_CLOEXEC;
  path = seen && (step.flags & O_TMPFILE) == O_TMPFILE ? "flat" : Scratch::name_of(scan_, name, trace_);
  if (!seen) {
    step.kind = Step::reopen;
    step.other = no_slot;
    // The same file under the number that it had before another program took the place of this one.
    std::uint32_t best = 0;
    for (const auto& [number, open] : process.open) {
      if (open.path == event.path && number > best && scan_.file_of[number] == file) {
        best = number;
        step.other = open.slot;
      }
    }
  }
  step.slot = new_slot(strand);
  if (step.slot >= most_slots) {
    return fail(fmt::format("process {} of the trace has more than {} files open at once", event.process,
                            most_slots));
  }
  process.open[event.file] = {.slot = step.slot,
                              .path = event.path,
                              .opened = {.strand = strand,
                                         .index = strands_[strand].index + 1,
                                         .begin = event.begin,
                                         .end = end_of(event)},
                              .users = {}};
  return {};
}

void Feeder::put_change(const TraceEvent& event, Step& step, std::string& names) {
  const ReplayChange change =
      next_change_ < scan_.changes.size() ? scan_.changes[next_change_++] : ReplayChange();
  const bool two = event.operation == TraceEvent::rename || event.operation == TraceEvent::link;
  step.kind = event.operation;
  step.slot = no_slot;
  step.flags = event.flags;
  if (change.name != 0) {
    names = Scratch::name_of(scan_, change.name, trace_);
    names += two ? '\0' + Scratch::name_of(scan_, change.other, trace_) : "";
  } else if (event.result == -ENOENT && event.operation != TraceEvent::make_folder) {
    names = "absent";
    names += two ? std::string("\0absent", 7) : "";
  } else {
    step.kind = Step::nothing;
  }
}

Status Feeder::take(const TraceEvent& read) {
  const TraceEvent event = sane(read);
  const auto found = scan_.by_thread.find(thread_key(event));
  if (found == scan_.by_thread.end()) {
    return {};
  }
  const std::uint32_t strand = found->second;
  Strand& own = strands_[strand];
  SLUICE_CHECK(start(strand));
  // What came since the trace was scanned is left out.
  if (!is_replayed(event, scan_.point) || own.index >= scan_.strands[strand].operations) {
    return {};
  }
  SLUICE_CHECK(spawn_due(strand));
  SLUICE_CHECK(join(strand, event.begin));
  Process& process = process_of(strand);
  const auto open = process.open.find(event.file);
  const bool opens = event.operation == TraceEvent::open;
  const bool renames = event.is_about_names();
  const std::uint32_t path = opens || renames             ? event.path
                             : open != process.open.end() ? open->second.path
                                                          : 0;
  const bool changes = this->changes(event);
  Step step;
  std::string name;
  SLUICE_CHECK(wait_for_path(strand, event, path, changes));
  if (renames) {
    SLUICE_CHECK(wait_for_path(strand, event, event.other, changes));
    put_change(event, step, name);
  } else if (!opens && open != process.open.end()) {
    SLUICE_CHECK(wait_for_open(strand, event, open->second));
    step.kind = event.operation;
    step.slot = open->second.slot;
    step.flags = event.flags;
    step.length = event.length;
    step.offset = event.offset;
  } else if (opens) {
    SLUICE_CHECK(put_open(strand, event, step, name));
  } else {
    step.kind = Step::nothing;
  }
  step.result = event.result;
  step.think = std::max<std::int64_t>(event.begin - own.base, 0);
  note(strand, event, path, changes);
  if (renames) {
    note(strand, event, event.other, changes);
  }
  if (event.operation == TraceEvent::close && open != process.open.end()) {
    own.free_slots.push_back(open->second.slot);
    process.open.erase(open);
  }
  if (step.kind == Step::nothing) {
    ReplayedOperation& skipped = skipped_[event.operation];
    ++skipped.calls;
    skipped.original_seconds += static_cast<double>(end_of(event) - event.begin) / 1e9;
  }
  // What is not done again takes its time all the same.
  own.base = std::max(own.base, step.kind == Step::nothing ? event.begin : end_of(event));
  ++own.index;
  own.recent.add(end_of(event));
  SLUICE_CHECK(sink_.put(strand, step, name));
  return end_where_due(strand);
}

Status Feeder::finish() {
  for (std::uint32_t i = 0; i < strands_.size(); ++i) {
    SLUICE_CHECK(start(i));
    SLUICE_CHECK(end_where_due(i));
  }
  return {};
}

}  // namespace sluice
