#include "tune/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "base/units.h"

namespace sluice {
namespace {

// A program that does something else each time cannot be compared by its time.
void note_other_work(std::uint64_t first, const ProgramRun& last, Comparison& out) {
  const auto before = static_cast<double>(first);
  const auto after = static_cast<double>(last.bytes());
  constexpr double alike = 0.1;
  if (last.account.is_object() && std::abs(before - after) > alike * std::max(before, after)) {
    out.same_work = false;
    out.notes.push_back(
        fmt::format("the program did not do the same work: with these files it moved {} in the first run and "
                    "{} in the last",
                    human_size(first), human_size(static_cast<std::uint64_t>(after))));
  }
}

// One pair of runs.
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

 private:
  const Runs& runs_;
  Moves& moves_;
  const ProgramRun& first_;
  bool has_rules_;
  std::vector<std::string> options_;
  std::optional<double> limit_;
};

Status run_pairs(const Pair& pair, const ProgramRun& first, const CompareSettings& settings, Compared& out) {
  const unsigned pairs = std::max(settings.repeat, 1U);
  for (unsigned i = 0; i < pairs && !out.broke && out.hindrance.empty(); ++i) {
    SLUICE_CHECK(Stop::check());
    double before = first.program_seconds();
    if (settings.repeat > 0) {
      settings.progress(fmt::format("as it is, run {} of {}", i + 1, pairs));
      SLUICE_TRY(before, pair.as_it_is());
    }
    out.comparison.before.push_back(before);
    settings.progress(fmt::format("under the rules, run {} of {}", i + 1, pairs));
    SLUICE_CHECK(pair.under(out));
  }
  return {};
}

}  // namespace

Result<Compared> compare(const Runs& runs, const std::string& rules, Moves& moves, const ProgramRun& first,
                         const CompareSettings& settings) {
  Compared out;
  const Pair pair(runs, rules, moves, first, settings);
  if (Status ran = run_pairs(pair, first, settings, out); !ran) {
    Error error = std::move(ran).error();
    if (const Status back = moves.back(); !back) {
      error.advice += (error.advice.empty() ? "" : "; ") + back.error().text();
    }
    return error;
  }
  if (!out.broke && out.hindrance.empty()) {
    note_other_work(settings.bytes, out.last, out.comparison);
    constexpr std::uint64_t worth_a_word = std::uint64_t{1} << 20;
    if (settings.repeat == 0 && settings.read >= worth_a_word && !runs.cold) {
      out.comparison.notes.push_back(fmt::format(
          "the first run has read {}, which the second may have found in memory: --repeat N compares "
          "without that",
          human_size(settings.read)));
    }
    out.comparison.gain = gain_of(out.comparison.before, out.comparison.after, settings.noise);
  }
  return out;
}

}  // namespace sluice
