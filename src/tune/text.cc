#include "tune/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/median.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/statistics.h"

namespace sluice {
namespace {

std::string span_text(const Expected& value) {
  if (value.low == value.high) {
    return human_duration(value.seconds);
  }
  return fmt::format("{} ({} to {})", human_duration(value.seconds), human_duration(value.low),
                     human_duration(value.high));
}

Json json_of(const Expected& value) {
  return {{"seconds", value.seconds}, {"low", value.low}, {"high", value.high}};
}

Json json_of(const Gain& gain) {
  return {{"ratio", gain.ratio}, {"low", gain.low}, {"high", gain.high}, {"pairs", gain.pairs}};
}

Json json_of(const Tried& tried) {
  Json actions = Json::array();
  for (const Action& action : tried.candidate.actions) {
    Json row;
    put_bytes(row, "files", action.load->family->pattern);
    row["stages"] = action.stages;
    row["place"] = action.elsewhere == nullptr ? "" : action.elsewhere->name;
    row["moves"] = action.moves;
    row["why"] = action.why;
    actions.push_back(std::move(row));
  }
  return {{"name", tried.candidate.name},
          {"actions", std::move(actions)},
          {"risks", tried.candidate.risks},
          {"moved", tried.candidate.moved},
          {"model", json_of(tried.candidate.model)},
          {"replay", tried.by_replay ? json_of(*tried.by_replay) : Json()},
          {"replayed", tried.replayed},
          {"gain", tried.gain ? json_of(*tried.gain) : Json()},
          {"trouble", tried.trouble}};
}

// "3.1 times as fast (2.8 to 3.4)"
std::string gain_text(const Gain& gain) {
  const bool faster = gain.ratio >= 1;
  const double factor = faster ? gain.ratio : 1 / gain.ratio;
  const double low = faster ? gain.low : 1 / gain.high;
  const double high = faster ? gain.high : 1 / gain.low;
  return fmt::format("{:.3g} times as {} ({:.3g} to {:.3g})", factor, faster ? "fast" : "slow", low, high);
}

std::optional<double> error_of(const Tuned& tuned) {
  const Expected* forecast = predicted(tuned);
  if (forecast == nullptr || !tuned.comparison || tuned.comparison->after.empty()) {
    return std::nullopt;
  }
  const double measured = median(tuned.comparison->after);
  return std::abs(forecast->seconds - measured) / measured;
}

ReportFigure as_figure(const Expected& value) {
  return {.value = value.seconds, .low = value.low, .high = value.high};
}

}  // namespace

const Expected* predicted(const Tuned& tuned) {
  if (tuned.chosen == nullptr) {
    return nullptr;
  }
  return tuned.chosen->by_replay ? &*tuned.chosen->by_replay : &tuned.chosen->candidate.model;
}

std::string candidates_text(const std::vector<Tried>& tried, const Style& style) {
  Table table({{.title = "CANDIDATE", .shrink = Shrink::end},
               {.title = "BY MODEL", .align = Align::right},
               {.title = "BY REPLAY", .align = Align::right},
               {.title = "GAIN", .align = Align::right},
               {.title = "NOTE", .shrink = Shrink::end, .drop = 1}});
  for (const Tried& one : tried) {
    const bool better = one.gain && one.gain->is_better();
    table.add(
        {one.candidate.name, span_text(one.candidate.model), one.by_replay ? span_text(*one.by_replay) : "-",
         one.gain ? fmt::format("{:.2f}", one.gain->ratio) : "-", escape(one.trouble)},
        better ? Colour::green : Colour::plain);
  }
  return table.print(style);
}

std::string choice_text(const Tried& chosen, const Style& style) {
  std::string out = style.paint(Colour::bold, chosen.candidate.name) + "\n";
  for (const Action& action : chosen.candidate.actions) {
    const std::string what =
        action.moves ? fmt::format("moved to {}", action.elsewhere->name) : join(action.stages, ", ");
    out += fmt::format("  {} ({}): {}\n", escape(action.load->family->glob), action.why, escape(what));
  }
  for (const std::string& line : chosen.candidate.risks) {
    out += fmt::format("  know that {}\n", escape(line));
  }
  return out;
}

std::string outcome_text(const Tuned& tuned, const Style& style) {
  if (!tuned.comparison || tuned.comparison->after.empty()) {
    return "";
  }
  const Comparison& seen = *tuned.comparison;
  Table table({{.title = "", .align = Align::left},
               {.title = "TIME", .align = Align::right},
               {.title = "RUNS", .align = Align::right}});
  const auto runs = [](const std::vector<double>& all) { return fmt::format("{}", all.size()); };
  table.add({"before", human_duration(median(seen.before)), runs(seen.before)});
  if (const Expected* forecast = predicted(tuned)) {
    table.add({"predicted", span_text(*forecast), tuned.chosen->by_replay ? "by replay" : "by model"});
  }
  table.add({"after", human_duration(median(seen.after)), runs(seen.after)}, Colour::green);
  std::string out = table.print(style);
  if (seen.same_work) {
    const auto error = error_of(tuned);
    out += gain_text(seen.gain) +
           (error ? fmt::format("; the forecast was off by {:.0f} %\n", *error * 100) : "\n");
  }
  for (const std::string& note : seen.notes) {
    out += note + "\n";
  }
  return out;
}

Json tuned_json(const Tuned& tuned) {
  Json out;
  Json candidates = Json::array();
  for (const Tried& one : *tuned.tried) {
    candidates.push_back(json_of(one));
  }
  out["traced"] = {{"seconds", tuned.study->run.seconds}, {"in_calls", tuned.study->run.in_calls}};
  out["observed"] = tuned.observed;
  put_bytes(out, "reset", tuned.reset);
  out["lessons"] = lessons_json(tuned.study->lessons);
  out["candidates"] = std::move(candidates);
  out["chosen"] = tuned.chosen == nullptr ? "" : tuned.chosen->candidate.name;
  out["predicted"] = predicted(tuned) == nullptr ? Json() : json_of(*predicted(tuned));
  const bool ran = tuned.comparison && !tuned.comparison->after.empty();
  out["before"] = ran ? Json(tuned.comparison->before) : Json::array();
  out["after"] = ran ? Json(tuned.comparison->after) : Json::array();
  out["gain"] = ran ? json_of(tuned.comparison->gain) : Json();
  out["error"] = number_or_null(error_of(tuned));
  out["kept"] = tuned.kept;
  put_bytes(out, "rules", tuned.rules);
  out["notes"] = tuned.notes;
  if (ran) {
    for (const std::string& note : tuned.comparison->notes) {
      out["notes"].push_back(note);
    }
  }
  return out;
}

ReportTune report_of(const Tuned& tuned) {
  ReportTune out;
  const bool ran = tuned.comparison && !tuned.comparison->after.empty();
  for (const Tried& one : *tuned.tried) {
    ReportCandidate& row = out.candidates.emplace_back();
    row.name = one.candidate.name;
    row.by_model = as_figure(one.candidate.model);
    row.note = one.trouble;
    if (one.by_replay) {
      row.by_replay = as_figure(*one.by_replay);
    }
    if (ran && (&one == tuned.chosen || one.candidate.is_native())) {
      const auto& times = one.candidate.is_native() ? tuned.comparison->before : tuned.comparison->after;
      const auto [low, high] = std::minmax_element(times.begin(), times.end());
      row.measured = ReportFigure{.value = median(times), .low = *low, .high = *high};
    }
  }
  const auto expected = [](const ReportCandidate& row) {
    return row.by_replay ? row.by_replay->value : row.by_model->value;
  };
  std::stable_sort(
      out.candidates.begin(), out.candidates.end(),
      [&](const ReportCandidate& a, const ReportCandidate& b) { return expected(a) < expected(b); });
  if (tuned.chosen != nullptr) {
    const Candidate& chosen = tuned.chosen->candidate;
    out.chosen = chosen.name;
    out.why = tuned.kept ? "It was surely better, by replay and when it was run."
                         : "It is the best of what was tried by replay.";
    for (const Action& action : chosen.actions) {
      out.actions.push_back({.files = action.load->family->glob,
                             .place = action.elsewhere == nullptr ? "" : action.elsewhere->name,
                             .stages = join(action.stages, ", "),
                             .why = action.why});
    }
    for (const std::string& risk : chosen.risks) {
      out.risks.push_back({.text = risk, .confirm = !ran && !chosen.moved.empty()});
    }
  }
  if (ran) {
    out.before = tuned.comparison->before;
    out.after = tuned.comparison->after;
    const Gain& gain = tuned.comparison->gain;
    out.gain = ReportFigure{.value = gain.ratio, .low = gain.low, .high = gain.high};
    out.sure = gain.is_better() && tuned.comparison->same_work;
    out.notes = tuned.comparison->notes;
  }
  out.notes.insert(out.notes.end(), tuned.notes.begin(), tuned.notes.end());
  for (const LearnedFamily& family : tuned.study->lessons.families) {
    for (const LearnedWord& word : family.words) {
      out.words.push_back({.files = family.glob,
                           .word = word.word,
                           .evidence = word.evidence,
                           .confidence = word.confidence,
                           .doubtful = word.doubtful || word.confirm});
    }
  }
  return out;
}

}  // namespace sluice
