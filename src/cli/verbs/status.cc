#include <fmt/format.h>

#include <array>
#include <ctime>

#include "base/json.h"
#include "base/log.h"
#include "base/reach.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/corrections.h"
#include "cli/place_input.h"
#include "cli/placing_input.h"
#include "placing/status.h"
#include "placing/words.h"

namespace sluice {
namespace {

constexpr Option option_clean = {
    .name = "clean",
    .help =
        "finish what was interrupted, and remove data of ours that nothing leads to; says what it removed"};
constexpr std::array rows = {&option_clean, &option_timeout, &option_catalog};

constexpr std::array examples = {
    Example{"sluice status", "What is placed where, and what is owed."},
    Example{"sluice status --clean", "Removes what was left over."},
};

std::string date_of(std::int64_t seconds) {
  const auto when = static_cast<time_t>(seconds);
  tm parts{};
  std::array<char, 32> out{};
  localtime_r(&when, &parts);
  strftime(out.data(), out.size(), "%F %R", &parts);
  return out.data();
}

std::string safety(const Standing& one) {
  if (!one.broken.empty()) {
    return "no: " + join(one.broken, "; ");
  }
  return one.trouble.empty() ? "yes" : "no: " + one.trouble;
}

std::string owed(const Standing& one) {
  if (!one.mend.empty()) {
    return one.mend;
  }
  return !one.data ? "not created yet" : "sluice finalize";
}

std::string placed_text(const Standings& all, const std::vector<std::string>& cleaned, const Style& style) {
  std::string out;
  for (const std::string& line : cleaned) {
    out += line + "\n";
  }
  if (all.placed.empty() && all.leftover.empty()) {
    return out + "nothing is placed\n";
  }
  if (!all.placed.empty()) {
    Table table({{.title = "PATH", .shrink = Shrink::middle},
                 {.title = "PLACE"},
                 {.title = "SIZE", .align = Align::right},
                 {.title = "SINCE", .drop = 1},
                 {.title = "SAFE", .shrink = Shrink::end},
                 {.title = "OWED", .shrink = Shrink::end},
                 {.title = "TARGET", .shrink = Shrink::middle, .drop = 2}});
    for (const Standing& one : all.placed) {
      table.add({escape(one.row.path), escape(one.place), human_size(one.row.size), date_of(one.row.since),
                 escape(safety(one)), owed(one), escape(one.row.target)},
                one.safe() ? Colour::plain : Colour::red);
    }
    out += table.print(style);
  }
  if (!all.leftover.empty()) {
    Table table({{.title = "LEFT OVER", .shrink = Shrink::middle},
                 {.title = "SIZE", .align = Align::right},
                 {.title = "OF", .shrink = Shrink::middle},
                 {.title = "WHAT", .shrink = Shrink::end},
                 {.title = "DO", .shrink = Shrink::end}});
    for (const Leftover& one : all.leftover) {
      table.add({escape(one.path), human_size(one.size), escape(one.belongs), one.what, one.mend});
    }
    out += (all.placed.empty() ? "" : "\n") + table.print(style);
  }
  return out;
}

Json json_of(const Standings& all, const std::vector<std::string>& cleaned) {
  Json placed = Json::array();
  for (const Standing& one : all.placed) {
    Json row;
    put_bytes(row, "path", one.row.path);
    put_bytes(row, "target", one.row.target);
    row["place"] = escape(one.place);
    row["intent"] = one.row.intent;
    row["kind"] = one.row.kind;
    row["state"] = one.row.state;
    row["since"] = one.row.since;
    row["size"] = one.row.size;
    row["created"] = one.data;
    row["link"] = escape(one.link);
    row["safe"] = one.safe();
    row["broken"] = one.broken;
    row["trouble"] = escape(one.trouble);
    row["mend"] = one.mend;
    placed.push_back(std::move(row));
  }
  Json leftover = Json::array();
  for (const Leftover& one : all.leftover) {
    Json row;
    put_bytes(row, "path", one.path);
    put_bytes(row, "belongs", one.belongs);
    row["size"] = one.size;
    row["linked"] = one.linked;
    row["what"] = one.what;
    row["mend"] = one.mend;
    leftover.push_back(std::move(row));
  }
  Json lines = Json::array();
  for (const std::string& line : cleaned) {
    lines.push_back(escape(line));
  }
  return {{"placed", std::move(placed)}, {"leftover", std::move(leftover)}, {"cleaned", std::move(lines)}};
}

Result<Output> run(const Context& context) {
  const Duration patience = context.options.duration("timeout");
  const std::string location = context.options.text("catalog");
  SLUICE_TRY(const Storage storage, read_places(context, false));
  std::vector<std::string> cleaned;
  if (context.options.flag("clean")) {
    SLUICE_TRY(const auto catalog, open_journal(context));
    SLUICE_TRY(cleaned, clean_up(*catalog, storage, patience));
  }
  SLUICE_TRY(const std::string where,
             location.empty() ? default_catalog_path() : Result<std::string>(location));
  SLUICE_CHECK(check_answers(context, where));
  SLUICE_TRY(const auto catalog, open_catalog(location, Catalog::Mode::read));
  SLUICE_TRY(const Standings all, look_at_placements(catalog.get(), storage, patience));
  SLUICE_TRY(const std::vector<PlaceError> errors, forecast_errors(catalog.get(), storage));
  Output out;
  out.json = json_of(all, cleaned);
  out.json["forecasts"] = to_json(errors);
  out.text = placed_text(all, cleaned, context.style) + errors_text(errors, context.style);
  return out;
}

}  // namespace

extern const Verb verb_status = {
    .name = "status",
    .summary = "what is placed where, whether it is safe there, what is owed, and how far forecasts were off",
    .operands = "",
    .description =
        "For each placed path: where its data is, how large, since when, whether the place still keeps the "
        "constraints of its intent (and which it breaks), and what is owed: data that is not finalized, "
        "steps that "
        "were interrupted, links that were removed or lead nowhere, each with the command that mends it. "
        "Then what "
        "was left over in this user's folders on the places, and of old data beside placed paths.\n\n"
        "At the end, for each place, how far off the forecasts of the last runs were that can be compared "
        "(docs/run.md says which): half of them by no more than MEDIAN, nine of ten by no more than P90, "
        "where 50 % is half as long again, or two thirds; UNCORRECTED is the median had nothing been "
        "learned.\n\n"
        "Nothing is changed without --clean. That finishes or takes back what was interrupted and removes "
        "data of "
        "this user's that neither a link at its path nor one beside that leads to, where the folder of the "
        "path is surely the one that it was in: not where that is missing, another one, or another "
        "machine's. "
        "A link that was moved to another folder cannot be known: look at what is listed first. Data whose "
        "link is there but which "
        "the "
        "catalog does not know, for example after the catalog was lost, is made known again.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
