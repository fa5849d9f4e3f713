#include "tune/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/stop.h"
#include "base/units.h"

namespace sluice {
namespace {

// A program that does something else each time cannot be compared by its time.
void note_other_work(std::uint64_t first, const ProgramRun& last, Comparison& out) {
  if (last.account->is_object() && !is_same_work(first, last.bytes())) {
    out.same_work = false;
    out.notes.push_back(
        fmt::format("the program did not do the same work: with these files it moved {} in the first run and "
                    "{} in the last",
                    human_size(first), human_size(last.bytes())));
  }
}

// The runs of a pair.
class Pair {
 public:
  Pair(const Runs& runs, const std::string& rules, Moves& moves, const ProgramRun& first,
       const CompareSettings& settings)
      : runs_(runs), moves_(moves), first_(first), has_rules_(!rules.empty()) {
    // What is counted can be held against the first run.
    options_ = {"--stage", "stats"};
    if (has_rules_) {
      options_.insert(options_.end(), {"--rules", rules});
    }
    if (settings.limit > 0) {
      limit_ = settings.limit;
    }
  }

  Result<double> as_it_is() const {
    SLUICE_CHECK(moves_.back());
    SLUICE_CHECK(runs_.prepare());
    SLUICE_TRY(const ProgramRun before, runs_.natively(limit_));
    SLUICE_CHECK(Stop::check());
    if (before.stopped || exit_status(before.ended) != exit_status(first_.ended)) {
      return fail(fmt::format("the program ended with status {} this time, and with {} the first",
                              exit_status(before.ended), exit_status(first_.ended)),
                  "--before can put its outputs back");
    }
    return before.ended.seconds;
  }

  // Adds its time, where it did not break. Data is moved first: outputs stay where that cannot be, and what
  // was copied is not in memory where caches are dropped.
  Status under(Compared& out) const {
    if (const Status moved = moves_.there(); !moved) {
      SLUICE_CHECK(Stop::check());
      out.hindrance = moved.error().text();
      return {};
    }
    SLUICE_CHECK(runs_.prepare());
    SLUICE_CHECK(Stop::check());
    SLUICE_TRY(out.last, runs_.under(options_, limit_));
    SLUICE_CHECK(Stop::check());  // that it failed is not for the rules, then
    out.broke = out.last.stopped || exit_status(out.last.ended) != exit_status(first_.ended);
    if (out.broke) {
      return moves_.back();
    }
    // Without rules nobody needs Sluice to run the program so again.
    out.comparison.after.push_back(has_rules_ ? out.last.ended.seconds : out.last.program_seconds());
    return {};
  }

  // Either order, for one run leaves the next something: data that is still written, a busy device.
  Status both(bool swapped, Compared& out, const std::function<void(bool rules)>& progress) const {
    if (swapped) {
      progress(true);
      SLUICE_CHECK(under(out));
    }
    if (!out.has_ended()) {
      progress(false);
      SLUICE_TRY(const double before, as_it_is());
      out.comparison.before.push_back(before);
    }
    if (!swapped) {
      progress(true);
      SLUICE_CHECK(under(out));
    }
    return {};
  }

 private:
  const Runs& runs_;
  Moves& moves_;
  const ProgramRun& first_;
  bool has_rules_;
  std::vector<std::string> options_;
  std::optional<double> limit_;
};

Status run_pairs(const Pair& pair, const CompareSettings& settings, Compared& out) {
  Comparison& seen = out.comparison;
  // Under the rules first: what breaks is known at once.
  if (settings.warm_up) {
    SLUICE_CHECK(pair.both(true, out, [&](bool rules) {
      settings.progress(fmt::format("{}, to warm up", rules ? "under the rules" : "as it is"));
    }));
    seen.before.clear();
    seen.after.clear();
  }
  for (std::size_t i = 1; !out.has_ended() && !settings.looks.is_last(seen.gain); ++i) {
    SLUICE_CHECK(pair.both(i % 2 == 0, out, [&](bool rules) {
      settings.progress(fmt::format(
          "{}, run {} of {}", rules ? "under the rules" : "as it is", i,
          range_text(fmt::format("{}", settings.looks.least()), fmt::format("{}", settings.looks.most()))));
    }));
    seen.gain = settings.looks.gain(seen.before, seen.after);
  }
  return {};
}

}  // namespace

bool is_same_work(std::uint64_t one, std::uint64_t other) {
  constexpr double alike = 0.9;
  return static_cast<double>(std::min(one, other)) >= alike * static_cast<double>(std::max(one, other));
}

Result<Compared> compare(const Runs& runs, const std::string& rules, Moves& moves, const ProgramRun& first,
                         const CompareSettings& settings) {
  Compared out;
  const Pair pair(runs, rules, moves, first, settings);
  Status ran = run_pairs(pair, settings, out);
  if (!ran) {
    Error error = std::move(ran).error();
    if (const Status back = moves.back(); !back) {
      error.advice += (error.advice.empty() ? "" : "; ") + back.error().text();
    }
    return error;
  }
  if (!out.has_ended()) {
    note_other_work(settings.bytes, out.last, out.comparison);
    constexpr std::uint64_t worth_a_word = std::uint64_t{1} << 20;
    if (settings.read >= worth_a_word && !runs.cold) {
      out.comparison.notes.push_back(fmt::format(
          "it reads {}, which each run may have found in memory: --caches drop compares without that",
          human_size(settings.read)));
    }
  }
  return out;
}

}  // namespace sluice
