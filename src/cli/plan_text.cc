#include "cli/plan_text.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/text.h"

namespace sluice {
namespace {

Colour colour_of_rank(std::size_t rank) {
  return rank == 0 ? Colour::green : Colour::plain;
}

// Wrapped on a terminal, one line elsewhere.
std::string fitted(const std::string& text, const Style& style, std::size_t indent) {
  return style.width > 0 ? wrap(text, style.width, indent) : std::string(indent, ' ') + text + "\n";
}

}  // namespace

std::string advice_text(const Plan& plan, bool explain_it, const Style& style) {
  std::string out = fmt::format("intent   {}\n", plan.intent.empty() ? "(nothing said)" : print(plan.intent));
  if (!plan.workload.assumed.empty()) {
    out += fmt::format("assumed  {}\n", join(plan.workload.assumed, " "));
  }
  out += "\n";
  if (plan.ranking.empty()) {
    out += style.paint(Colour::red, "no place can take it") + "\n";
  } else {
    Table table({{.title = "RANK", .align = Align::right},
                 {.title = "PLACE", .shrink = Shrink::middle},
                 {.title = "PATH", .shrink = Shrink::middle},
                 {.title = "THROUGHPUT", .align = Align::right},
                 {.title = "LOW", .align = Align::right, .drop = 1},
                 {.title = "HIGH", .align = Align::right, .drop = 1},
                 {.title = "TIME", .align = Align::right},
                 {.title = "LOSS", .align = Align::right, .drop = 2},
                 {.title = "SOURCE", .drop = 3}});
    for (std::size_t i = 0; i < plan.ranking.size(); ++i) {
      const Ranked& row = plan.ranking[i];
      table.add({fmt::format("{}", i + 1), row.place, escape(row.path), human_rate(row.throughput.rate),
                 human_rate(row.throughput.low), human_rate(row.throughput.high),
                 row.seconds ? human_duration(*row.seconds) : "-",
                 row.loss_probability ? fmt::format("{:.2g}", *row.loss_probability) : "?",
                 row.source + (row.measured && !is_sure(row) ? ", not sure" : "")},
                colour_of_rank(i));
    }
    out += table.print(style);
    if (!explain_it) {
      const Ranked& best = plan.ranking.front();
      out +=
          "\n" + fitted(fmt::format("chosen: {}, {}", best.place, sluice::explain(plan, best).why), style, 0);
    }
  }
  if (explain_it) {
    for (const Ranked& row : plan.ranking) {
      out += fmt::format("\n{}\n", style.paint(Colour::bold, row.place));
      const Reasons reasons = sluice::explain(plan, row);
      for (const std::string& line : reasons.arithmetic) {
        out += fitted(line, style, 2);
      }
    }
  }
  if (!plan.rejected.empty()) {
    Table table(
        {{.title = "REJECTED", .shrink = Shrink::middle}, {.title = "BECAUSE", .shrink = Shrink::end}});
    for (const Rejection& rejection : plan.rejected) {
      for (std::size_t i = 0; i < rejection.because.size(); ++i) {
        table.add({i == 0 ? rejection.place : "", escape(rejection.because[i])});
      }
    }
    out += "\n" + table.print(style);
  }
  return out;
}

}  // namespace sluice
