#include "intent/vocabulary.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

using enum ArgumentKind;

constexpr std::array<Parameter, 0> nothing = {};
constexpr std::array one_size = {Parameter{size}};
constexpr std::array one_duration = {Parameter{duration}};
constexpr std::array one_name = {Parameter{name}};
constexpr std::array extents = {Parameter{extent}};
constexpr std::array loss = {Parameter{probability}, Parameter{.kind = duration, .optional = true}};
constexpr std::array how_often = {Parameter{keyword, "once|seldom|often"}};
constexpr std::array tagged = {Parameter{name},
                               Parameter{keyword, "write-intensive|read-intensive|archival|unknown", true}};
constexpr std::array urgency = {Parameter{keyword, "foreground|background"},
                                Parameter{.kind = duration, .optional = true}};
constexpr std::array divided = {Parameter{keyword, "block|cyclic|*"}};
constexpr std::array lying = {Parameter{keyword, "block|*"}};

constexpr std::array words = {
    WordInfo{"global", Slot::visibility, true, nothing, false, "global",
             "visible to every process of the job on every machine"},
    WordInfo{"local", Slot::visibility, true, nothing, false, "local", "visible on this machine only"},
    WordInfo{"persist", Slot::durability, true, nothing, false, "persist", "must survive a reboot"},
    WordInfo{"temp", Slot::durability, true, nothing, false, "temp",
             "may vanish after the job; the program deletes it"},
    WordInfo{"totalsize", Slot::total_size, true, one_size, false, "totalsize(S)",
             "must fit: free space, quota and the file system's largest file"},
    WordInfo{"MTTDL", Slot::mttdl, true, one_duration, false, "MTTDL(D)",
             "mean time to data loss of this much data is at least D"},
    WordInfo{"availability", Slot::availability, true, loss, false, "availability(P[, D])",
             "the probability of losing the data during D is at most P; D defaults to the forecast time"},
    WordInfo{"archive", Slot::archive, true, nothing, false, "archive", "needs a place labelled archive"},
    WordInfo{"tamperproof", Slot::tamperproof, true, nothing, false, "tamperproof",
             "needs a place labelled tamperproof"},
    WordInfo{"random", Slot::pattern, false, nothing, false, "random", "requests go anywhere in the file"},
    WordInfo{"sequential", Slot::pattern, false, nothing, false, "sequential",
             "each request begins where the last one ended"},
    WordInfo{"strided", Slot::pattern, false, one_size, false, "strided(S)", "requests begin S bytes apart"},
    WordInfo{"read", Slot::operation, false, nothing, false, "read", "mostly read"},
    WordInfo{"write", Slot::operation, false, nothing, false, "write", "mostly written"},
    WordInfo{"readwrite", Slot::operation, false, nothing, false, "readwrite", "read and written alike"},
    WordInfo{"size-per-IO", Slot::request_size, false, one_size, false, "size-per-IO(S)",
             "typical size of one request"},
    WordInfo{"sync", Slot::sync, false, nothing, false, "sync", "every request is flushed"},
    WordInfo{"reuse", Slot::reuse, false, how_often, false, "reuse(once|seldom|often)",
             "how often the data is read again"},
    WordInfo{"stream", Slot::stream, false, tagged, false,
             "stream(TAG[, write-intensive|read-intensive|archival|unknown])",
             "belongs with other data of that tag"},
    WordInfo{"priority", Slot::priority, false, urgency, false, "priority(foreground|background[, D])",
             "background work yields until its deadline D"},
    WordInfo{"prefetch", Slot::prefetch, false, nothing, false, "prefetch",
             "fetch to the fastest local place before it is asked for"},
    WordInfo{"group", Slot::group, false, one_name, false, "group(NAME)",
             "read and written together with others of that name"},
    WordInfo{"shape", Slot::shape, false, extents, true, "shape(N,M,...)", "an array: its extents"},
    WordInfo{"procs", Slot::procs, false, extents, true, "procs(P,Q,...)",
             "how many processes divide each dimension"},
    WordInfo{"partition", Slot::partition, false, divided, true, "partition(block|cyclic|*, ...)",
             "how each dimension is divided among them"},
    WordInfo{"stored", Slot::stored, false, lying, true, "stored(block|*, ...)",
             "how each dimension lies in storage"},
};

}  // namespace

std::span<const WordInfo> vocabulary() {
  return words;
}

const WordInfo* find_word(std::string_view name) {
  // Asked for every place of a plan: no copies.
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto same = [&](char a, char b) { return small(a) == small(b); };
  for (const WordInfo& word : words) {
    if (std::equal(word.name.begin(), word.name.end(), name.begin(), name.end(), same)) {
      return &word;
    }
  }
  return nullptr;
}

}  // namespace sluice
