#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"
#include "base/units.h"
#include "report/findings.h"
#include "report/pieces.h"

namespace sluice {
namespace {

std::string interval(const std::optional<ReportFigure>& estimate) {
  return !estimate ? ""
         : estimate->low >= estimate->high
             ? human_duration(estimate->value)
             : fmt::format("{} ({} to {})", human_duration(estimate->value), human_duration(estimate->low),
                           human_duration(estimate->high));
}

// Lines from low to high on a common scale, a tick at the value.
std::string range_svg(const ReportCandidate& candidate, double scale) {
  std::string out =
      "<svg class=\"range\" viewBox=\"0 0 100 34\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
  double y = 7;
  for (const auto& [style, estimate] :
       {std::pair{"model", &candidate.by_model}, std::pair{"replay", &candidate.by_replay},
        std::pair{"real", &candidate.measured}}) {
    if (*estimate) {
      const auto x = [&](double seconds) { return std::clamp(100 * seconds / scale, 0.0, 100.0); };
      out += fmt::format(
          "<line class=\"{0}\" x1=\"{1:.2f}\" x2=\"{2:.2f}\" y1=\"{3:g}\" y2=\"{3:g}\"/>"
          "<line class=\"{0} tick\" x1=\"{4:.2f}\" x2=\"{4:.2f}\" y1=\"{5:g}\" y2=\"{6:g}\"/>",
          style, x((*estimate)->low), x((*estimate)->high), y, x((*estimate)->value), y - 4, y + 4);
    }
    y += 10;
  }
  return out + "</svg>";
}

double most_of(const std::vector<ReportCandidate>& candidates) {
  double out = 1e-9;
  for (const ReportCandidate& candidate : candidates) {
    for (const auto* estimate : {&candidate.by_model, &candidate.by_replay, &candidate.measured}) {
      out = *estimate ? std::max({out, (*estimate)->high, (*estimate)->value}) : out;
    }
  }
  return out;
}

HtmlCell estimate_cell(const std::optional<ReportFigure>& estimate) {
  constexpr double unknown = 1e18;  // sorts behind all that is known
  return {.html = escape_xml(interval(estimate)), .value = estimate ? estimate->value : unknown};
}

std::string candidates_section(const ReportTune& tune) {
  const double scale = most_of(tune.candidates);
  std::vector<std::vector<HtmlCell>> rows;
  for (const ReportCandidate& candidate : tune.candidates) {
    const bool chosen = !tune.chosen.empty() && candidate.name == tune.chosen;
    rows.push_back(
        {{.html = escape_xml(candidate.name) + (chosen ? " <span class=\"mark good\">chosen</span>" : "") +
                  (candidate.note.empty() ? ""
                                          : fmt::format("<br><small>{}</small>", escape_xml(candidate.note))),
          .style = "file"},
         {.html = range_svg(candidate, scale)},
         estimate_cell(candidate.by_model),
         estimate_cell(candidate.by_replay),
         estimate_cell(candidate.measured)});
  }
  constexpr std::array<HtmlColumn, 5> columns = {
      {{"way to run it"}, {"time"}, {"by model", true}, {"by replay", true}, {"measured", true}}};
  const auto& best = tune.candidates.front();
  const std::optional<ReportFigure>& time = best.by_replay ? best.by_replay : best.by_model;
  const std::string finding =
      time ? fmt::format(
                 "{} should take {}",
                 tune.chosen.empty() || best.name == tune.chosen ? best.name : "The best, " + best.name + ",",
                 human_duration(time->value))
           : fmt::format("{} were compared", counted(tune.candidates.size(), "way", "ways"));
  return html_section("predicted", "What was predicted", finding,
                      "Seconds of the whole program, with the interval in which they are expected.",
                      "<ul class=\"legend\"><li><i style=\"background:var(--read)\"></i>by model</li><li><i "
                      "class=\"o\"></i>by replay</li>"
                      "<li><i style=\"background:var(--good)\"></i>measured</li></ul>\n" +
                          html_table("ways to run the program", columns, rows));
}

std::string runs_of(std::string_view name, std::string_view style, const std::vector<double>& times,
                    double scale) {
  if (times.empty()) {
    return "";
  }
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  const auto left = [&](double seconds) { return std::clamp(98 * seconds / scale, 0.0, 98.0); };
  std::string out =
      fmt::format("<span>{}</span><div class=\"strip\" role=\"img\" aria-label=\"{}: {} in the mean of {}\">",
                  name, name, human_duration(mean), counted(times.size(), "run", "runs"));
  for (const double seconds : times) {
    out += fmt::format("<i class=\"dot {}\" style=\"left:{:.2f}%\" title=\"{}\"></i>", style, left(seconds),
                       human_duration(seconds));
  }
  return out +
         fmt::format("<i class=\"mean\" style=\"left:{:.2f}%\"></i></div><span class=\"amount\">{}</span>\n",
                     left(mean), human_duration(mean));
}

std::string gain_section(const ReportTune& tune) {
  double scale = 1e-9;
  for (const auto* times : {&tune.before, &tune.after}) {
    for (const double seconds : *times) {
      scale = std::max(scale, seconds);
    }
  }
  std::string html;
  if (!tune.before.empty() || !tune.after.empty()) {
    html += "<div class=\"runs\">\n" + runs_of("before", "before", tune.before, scale) +
            runs_of("after", "after", tune.after, scale) + "</div>\n";
  }
  if (tune.gain) {
    html += fmt::format("<p>{:.3g} times as fast{}; {}.</p>\n", tune.gain->value,
                        tune.gain->low < tune.gain->high
                            ? fmt::format(" (between {:.3g} and {:.3g})", tune.gain->low, tune.gain->high)
                            : "",
                        tune.sure ? "more than the noise" : "which the noise may be");
  }
  if (!tune.why.empty()) {
    html += fmt::format("<p>{}</p>\n", escape_xml(tune.why));
  }
  for (const std::string& note : tune.notes) {
    html += fmt::format("<p class=\"hint\">{}</p>\n", escape_xml(note));
  }
  return html_section("gain", "What was gained", finding_of_gain(tune), "", html);
}

std::string actions_section(const ReportTune& tune) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const ReportAction& action : tune.actions) {
    rows.push_back({{.html = escape_xml(action.files), .style = "file"},
                    {.html = action.place.empty() ? "where they were" : escape_xml(action.place)},
                    {.html = action.stages.empty() ? "none" : escape_xml(action.stages)},
                    {.html = escape_xml(action.why)}});
  }
  constexpr std::array<HtmlColumn, 4> columns = {{{"files"}, {"place"}, {"stages"}, {"why"}}};
  return html_section(
      "done", "What was done",
      fmt::format("{} changed", counted(tune.actions.size(), "group of files was", "groups of files were")),
      "", html_table("what was done", columns, rows));
}

std::string risks_section(const ReportTune& tune) {
  std::string html = "<ul class=\"risks\">\n";
  const auto confirm = static_cast<std::uint64_t>(std::count_if(
      tune.risks.begin(), tune.risks.end(), [](const ReportRisk& risk) { return risk.confirm; }));
  for (const ReportRisk& risk : tune.risks) {
    html += fmt::format("<li>{}{}</li>\n", escape_xml(risk.text),
                        risk.confirm ? " <span class=\"mark bad\">needs your word</span>" : "");
  }
  const std::string finding =
      confirm > 0 ? fmt::format("{} your word", counted(confirm, "thing needs", "things need"))
                  : counted(tune.risks.size(), "thing to know", "things to know");
  return html_section("risk", "What is at risk", finding, "", html + "</ul>\n");
}

std::string words_section(const ReportTune& tune) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const ReportWord& word : tune.words) {
    rows.push_back(
        {{.html = escape_xml(word.files), .style = "file"},
         {.html = fmt::format("<code>{}</code>{}", escape_xml(word.word),
                              word.doubtful ? " <span class=\"mark bad\">to be confirmed</span>" : "")},
         {.html = percent(word.confidence), .value = word.confidence},
         {.html = escape_xml(word.evidence)}});
  }
  constexpr std::array<HtmlColumn, 4> columns = {{{"files"}, {"word"}, {"confidence", true}, {"evidence"}}};
  return html_section("learned", "What was learned",
                      fmt::format("{} about the files", counted(tune.words.size(), "word", "words")), "",
                      html_table("what was learned", columns, rows));
}

}  // namespace

std::string tune_sections(const ReportTune& tune) {
  std::string out = gain_section(tune);
  out += tune.candidates.empty() ? "" : candidates_section(tune);
  out += tune.actions.empty() ? "" : actions_section(tune);
  out += tune.risks.empty() ? "" : risks_section(tune);
  out += tune.words.empty() ? "" : words_section(tune);
  return out;
}

}  // namespace sluice
