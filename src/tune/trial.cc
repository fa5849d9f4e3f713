#include "tune/trial.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "base/clock.h"
#include "base/files.h"
#include "base/median.h"
#include "base/stop.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"
#include "replay/replay.h"
#include "tune/folders.h"

namespace sluice {
namespace {

// The family whose calls took longest decides where it is replayed: a replay is on one place.
const FileLoad* heaviest(const Study& study) {
  const FileLoad* out = nullptr;
  for (const FileLoad& load : study.loads) {
    if (load.home != nullptr && (out == nullptr || load.family->seconds > out->family->seconds)) {
      out = &load;
    }
  }
  return out;
}

bool is_usable(const std::string& folder, const Place& place, const Discovery& found) {
  return place_of_folder(found, folder) == &place && sys().access(folder.c_str(), W_OK | X_OK) == 0;
}

// A folder on that place in which a replay may have one of its own; "" = none.
std::string folder_on(const Place& place, const FileLoad* load, const Discovery& found) {
  std::vector<std::string> all = {current_folder(), place.path};
  if (load != nullptr) {
    all.insert(all.begin() + 1, folder_of(load->family->files.front()));
  }
  const auto usable = std::find_if(all.begin(), all.end(),
                                   [&](const std::string& one) { return is_usable(one, place, found); });
  return usable == all.end() ? "" : *usable;
}

// Where its files would be, all of them; null where some are here and others there.
const Place* moved_to(const Candidate& candidate, const Study& study) {
  double seconds = 0;
  const Place* out = nullptr;
  for (const Action& action : candidate.actions) {
    if (action.moves) {
      out = action.elsewhere;
      seconds += action.load->family->seconds;
    }
  }
  constexpr double nearly_all = 0.9;
  return seconds >= nearly_all * study.run.in_calls ? out : nullptr;
}

bool is_about(const Candidate& candidate, const Place& place) {
  return std::any_of(candidate.actions.begin(), candidate.actions.end(),
                     [&](const Action& action) { return action.load->home == &place; });
}

double seconds_of_names(const Candidate& candidate) {
  double out = 0;
  for (const Action& action : candidate.actions) {
    out += action.moves ? action.load->family->open_seconds : 0;
  }
  return out;
}

class Trials {
 public:
  Trials(const std::string& trace, const Study& study, const TrialSettings& settings)
      : trace_(trace),
        study_(study),
        settings_(settings),
        main_(heaviest(study)),
        until_(steady_seconds() + settings.seconds) {}

  // How a candidate is replayed; false where it cannot be, with the reason.
  bool prepare(Tried& tried, ReplaySettings& out) {
    const Candidate& candidate = tried.candidate;
    const bool moves = std::any_of(candidate.actions.begin(), candidate.actions.end(),
                                   [](const Action& action) { return action.moves; });
    const Place* place = moves ? moved_to(candidate, study_) : main_ == nullptr ? nullptr : main_->home;
    if (place == nullptr) {
      tried.trouble = moves ? "not replayed: only a part of its files would be moved"
                            : "not replayed: which place its files lie on is not known";
      return false;
    }
    if (!candidate.is_native() && main_ != nullptr && !is_about(candidate, *main_->home)) {
      tried.trouble = fmt::format("not replayed: its files are not on {}, where most of the time goes",
                                  main_->home->name);
      return false;
    }
    out.to = folder_on(*place, moves ? nullptr : main_, study_.storage.found);
    if (out.to.empty()) {
      tried.trouble = fmt::format("not replayed: no folder on {} may be written to", place->name);
      return false;
    }
    if (candidate.has_stages()) {
      const std::string rules = fmt::format("{}/trial-{}.toml", settings_.scratch, number_++);
      if (const Status written = write_file(rules, rules_for(study_, candidate, candidate.name)); !written) {
        tried.trouble = "not replayed: " + written.error().text();
        return false;
      }
      out.rules = {rules};
    }
    out.cold = settings_.cold;
    if (main_ != nullptr) {
      // A replay is on one place: there, files that lie on others would take what they never took.
      out.covers = [this](const std::string& path) { return home_of_folder(path) == main_->home; };
    }
    out.progress = [this, name = candidate.name](const std::string& text) {
      settings_.progress(fmt::format("{}: {}", name, text));
    };
    return true;
  }

  // Once each, in turn, so that what changes meanwhile hits all of them. False where the time is over before
  // all had their turn.
  Result<bool> round(std::vector<Tried>& all, std::vector<ReplaySettings>& how) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].trouble.empty()) {
        continue;
      }
      how[i].limit = until_ - steady_seconds();
      if (how[i].limit <= 0) {
        return false;
      }
      Folders folders;
      const Status made = folders.make(all[i].candidate);
      const auto replayed = made ? replay(trace_, how[i]) : Result<Replayed>(made.error());
      SLUICE_CHECK(Stop::check());
      if (replayed) {
        all[i].replayed.push_back(replayed->seconds + replayed->after_seconds);
        original_ = replayed->original_seconds;
      } else if (replayed.error().number == ETIMEDOUT && steady_seconds() >= until_) {
        return false;
      } else {
        all[i].trouble = "not replayed: " + replayed.error().text();
      }
    }
    return true;
  }

  // What had no turn, or one more than others.
  void even_out(std::vector<Tried>& all, unsigned rounds) const {
    for (Tried& one : all) {
      if (one.replayed.size() > rounds && rounds > 0) {
        one.replayed.resize(rounds);
      } else if (one.replayed.empty() && one.trouble.empty()) {
        one.trouble = fmt::format("not replayed: the {} that --replay allows for all of them were over",
                                  human_duration(settings_.seconds));
      }
    }
  }

  Status run(std::vector<Tried>& all, unsigned rounds) {
    std::vector<ReplaySettings> how(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].trouble.empty()) {
        prepare(all[i], how[i]);
      }
    }
    for (unsigned i = 0; i < rounds && all.front().trouble.empty(); ++i) {
      SLUICE_TRY(const bool whole, round(all, how));
      if (!whole) {
        even_out(all, i);
        break;
      }
    }
    judge(all);
    return {};
  }

 private:
  // By the folder that a file is in; many are in one.
  const Place* home_of_folder(const std::string& file) {
    const auto [found, is_new] = homes_.try_emplace(folder_of(file));
    if (is_new) {
      found->second = place_of_folder(study_.storage.found, found->first);
    }
    return found->second;
  }

  // What replays say of the whole run. They have no more than its calls: what it did besides is in their
  // pace.
  void judge(std::vector<Tried>& all) const {
    const std::vector<double>& native = all.front().replayed;
    if (native.empty()) {
      return;
    }
    const double beside = std::max(study_.run.seconds - original_, 0.0);
    const auto whole = [](std::vector<double> replayed, double other) {
      std::for_each(replayed.begin(), replayed.end(), [&](double& seconds) { seconds += other; });
      return replayed;
    };
    for (Tried& one : all) {
      if (one.replayed.size() != native.size() || !one.trouble.empty()) {
        continue;
      }
      // A replay of what is moved is all on the other place, and the links are looked up where they are now.
      const double names = seconds_of_names(one.candidate);
      const double other = beside + (one.candidate.has_stages() ? settings_.starting : 0);
      std::for_each(one.replayed.begin(), one.replayed.end(), [&](double& seconds) { seconds += names; });
      const auto [least, most] = std::minmax_element(one.replayed.begin(), one.replayed.end());
      one.by_replay =
          Expected{.seconds = other + median(one.replayed), .low = other + *least, .high = other + *most};
      if (!one.candidate.is_native()) {
        one.gain = gain_of(whole(native, beside), whole(one.replayed, other));
      }
    }
  }

  const std::string& trace_;
  const Study& study_;
  const TrialSettings& settings_;
  const FileLoad* main_;
  std::unordered_map<std::string, const Place*> homes_;
  double until_;  // when the time for all of them is over
  unsigned number_ = 0;
  double original_ = 0;  // seconds from the first call to the last
};

// Those that gained, one after the other, together.
std::optional<Candidate> best_together(const std::vector<Tried>& all, const TracedRun& run) {
  std::vector<const Tried*> better;
  for (const Tried& one : all) {
    if (one.gain && one.gain->is_better()) {
      better.push_back(&one);
    }
  }
  std::sort(better.begin(), better.end(),
            [](const Tried* a, const Tried* b) { return a->by_replay->seconds < b->by_replay->seconds; });
  std::optional<Candidate> out;
  bool several = false;
  for (const Tried* one : better) {
    if (!out) {
      out = one->candidate;
    } else if (auto both = combined(*out, one->candidate, run)) {
      several = several || both->actions.size() > out->actions.size();
      out = std::move(both);
    }
  }
  return several ? out : std::nullopt;
}

}  // namespace

Result<std::vector<Tried>> try_out(const std::string& trace, const Study& study,
                                   std::vector<Candidate> candidates, const TrialSettings& settings) {
  std::vector<Tried> out;
  for (Candidate& candidate : candidates) {
    out.push_back({.candidate = std::move(candidate)});
  }
  if (out.size() < 2 || settings.seconds <= 0) {
    return out;
  }
  // The program as it is takes as long as it took, and nothing that is tried should take much longer.
  const double round = study.run.seconds * static_cast<double>(out.size());
  const auto rounds = static_cast<unsigned>(
      std::min(static_cast<double>(settings.rounds), settings.seconds / std::max(round, 1e-3)));
  if (rounds == 0) {
    for (Tried& one : out) {
      one.trouble = fmt::format("not replayed: that takes about {}, and --replay allows {}",
                                human_duration(round), human_duration(settings.seconds));
    }
    return out;
  }
  Trials trials(trace, study, settings);
  SLUICE_CHECK(trials.run(out, rounds));
  if (auto together = best_together(out, study.run)) {
    std::vector<Tried> more = {{.candidate = out.front().candidate}, {.candidate = std::move(*together)}};
    SLUICE_CHECK(trials.run(more, rounds));
    out.push_back(std::move(more.back()));
  }
  return out;
}

const Tried* best_of(const std::vector<Tried>& all) {
  const Tried* out = nullptr;
  for (const Tried& one : all) {
    if (one.gain && one.gain->is_better() &&
        (out == nullptr || one.by_replay->seconds < out->by_replay->seconds)) {
      out = &one;
    }
  }
  const bool replayed =
      std::any_of(all.begin(), all.end(), [](const Tried& one) { return !one.replayed.empty(); });
  if (out != nullptr || replayed || all.empty()) {
    return out;
  }
  // The worst of it is better than what was measured.
  for (const Tried& one : all) {
    const Expected& model = one.candidate.model;
    if (!one.candidate.is_native() && model.high < all.front().candidate.model.seconds &&
        (out == nullptr || model.seconds < out->candidate.model.seconds)) {
      out = &one;
    }
  }
  return out;
}

}  // namespace sluice
