#include "trace/export/workload.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>

#include "trace/family.h"

namespace sluice {
namespace {

constexpr double nearly_all = 0.75;

std::int64_t rounded(std::int64_t value) {
  return value <= 0 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

}  // namespace

void Frequencies::round() {
  std::map<std::int64_t, std::uint64_t> out;
  for (const auto& [value, count] : all_) {
    out[rounded(value)] += count;
  }
  all_ = std::move(out);
  rounded_ = true;
}

void Frequencies::add(std::int64_t value) {
  ++all_[rounded_ ? rounded(value) : value];
  ++count_;
  if (all_.size() > most_exact) {
    round();
  }
}

std::vector<std::pair<std::int64_t, double>> Frequencies::top(std::size_t most) const {
  std::vector<std::pair<std::int64_t, double>> out;
  for (const auto& [value, count] : all_) {
    out.emplace_back(value, static_cast<double>(count) / static_cast<double>(count_));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  out.resize(std::min(out.size(), most));
  return out;
}

std::uint64_t FamilyRequests::typical() const {
  return count == 0 ? 0 : static_cast<std::uint64_t>(sizes.top(1).front().first);
}

std::string FamilyRequests::pattern() const {
  const auto steps = static_cast<double>(follow + forward + back);
  if (count == 0) {
    return "";
  }
  if (static_cast<double>(follow) >= nearly_all * steps) {
    return "sequential";
  }
  return static_cast<double>(forward) >= nearly_all * steps && gaps.top(1).front().second >= nearly_all
             ? "strided"
             : "random";
}

std::int64_t FamilyRequests::gap() const {
  return forward == 0 ? 0 : gaps.top(1).front().first;
}

TracedWorkload::File& TracedWorkload::file_of(const std::string& path) {
  const auto [found, is_new] = files_.try_emplace(path);
  if (is_new) {
    const auto [family, is_first] = by_name_.try_emplace(family_of(path), families_.size());
    if (is_first) {
      families_.emplace_back();
    }
    found->second.family = family->second;
    TracedFamily& its = families_[family->second];
    // One that is alone keeps its own name.
    its.name = ++its.files == 1 ? path : family->first;
  }
  return found->second;
}

void TracedWorkload::add(const TraceEvent& event, const std::string& path) {
  const std::int64_t offset = positions_.offset_of(event);
  if (path.empty() || event.operation == TraceEvent::started || event.is_about_names() || event.result < 0) {
    return;
  }
  File& file = file_of(path);
  TracedFamily& family = families_[file.family];
  const auto key = [&](bool writes) { return std::uint64_t{event.file} << 1U | (writes ? 1U : 0U); };
  switch (event.operation) {
    case TraceEvent::open:
      family.direct = family.direct || (event.flags != TraceEvent::was_open && (event.flags & O_DIRECT) != 0);
      return;
    case TraceEvent::close:
      ends_.erase(key(false));
      ends_.erase(key(true));
      return;
    case TraceEvent::sync:
      ++(event.flags == 0 ? family.syncs : family.data_syncs);
      return;
    case TraceEvent::read:
    case TraceEvent::write:
      break;
    default:
      return;
  }
  // What cannot be an offset is of a file that nobody of ours wrote.
  std::int64_t end_of_it = 0;
  std::int64_t end_of_time = 0;
  if (event.result == 0 || offset < 0 || __builtin_add_overflow(offset, event.result, &end_of_it) ||
      __builtin_add_overflow(event.begin, event.duration, &end_of_time)) {
    return;
  }
  const bool writes = event.operation == TraceEvent::write;
  FamilyRequests& requests = writes ? family.write : family.read;
  if (requests.count == 0) {
    requests.first = event.begin;
  }
  requests.last = std::max(requests.last, end_of_time);
  requests.processes.insert(event.process);
  std::set<std::uint32_t>& users = writes ? file.writers : file.readers;
  users.insert(event.process);
  requests.sharing = std::max(requests.sharing, users.size());
  requests.extent = std::max(requests.extent, static_cast<std::uint64_t>(end_of_it));
  ++requests.count;
  requests.bytes += static_cast<std::uint64_t>(event.result);
  requests.sizes.add(event.result);
  const auto [end, is_first] = ends_.try_emplace(key(writes), offset);
  if (!is_first) {
    const std::int64_t gap = offset - end->second;
    ++(gap == 0 ? requests.follow : gap > 0 ? requests.forward : requests.back);
    if (gap > 0) {
      requests.gaps.add(gap);
    }
  }
  end->second = end_of_it;
}

std::vector<TracedFamily> TracedWorkload::families() const {
  std::vector<TracedFamily> out;
  for (const TracedFamily& family : families_) {
    if (family.read.count + family.write.count > 0) {
      out.push_back(family);
    }
  }
  return out;
}

}  // namespace sluice
