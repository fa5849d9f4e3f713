#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/corrections.h"
#include "cli/place_input.h"
#include "places/place_json.h"

namespace sluice {
namespace {

constexpr Option all = {
    .name = "all", .letter = 'a', .help = "list also the mounts that are no place, and why"};
constexpr Option explain = {.name = "explain", .help = "show every trait and where it came from"};
constexpr Option forget = {
    .name = "forget",
    .help = "drop what runs have taught of the named places: their forecasts are corrected no more"};
constexpr std::array rows = {
    &all, &explain, &forget, &option_timeout, &option_catalog, &option_corrections, &option_system};

constexpr std::array examples = {
    Example{"sluice places", "A table of the storage this machine sees."},
    Example{"sluice places --explain root", "Every trait of the place called root, and who says so."},
    Example{"sluice places --forget root", "What programs took there before does not count any more."},
    Example{"sluice places --json | jq '.places[].name'", "For programs."},
};

// "" where its forecasts are not corrected.
std::string corrections_of(const Storage& storage, const Place& place) {
  const Evidence* evidence = evidence_of(storage, place);
  return evidence == nullptr ? "" : print(evidence->corrections);
}

std::string note_of(const Storage& storage, const Place& place) {
  if (place.reach != Reach::reachable) {
    return fmt::format("{}: {}", print(place.reach), place.reach_note);
  }
  std::vector<std::string> notes;
  if (place.read_only) {
    notes.emplace_back("read-only");
  } else if (!place.writable) {
    notes.emplace_back("not writable by you");
  }
  if (place.device && !place.device->note.empty()) {
    notes.push_back(place.device->note);
  }
  if (place.promised > 0) {
    notes.push_back(fmt::format("{} promised", human_size(place.promised)));
  }
  if (const std::string text = corrections_of(storage, place); !text.empty()) {
    notes.push_back(fmt::format("forecasts corrected: {}", text));
  }
  return join(notes, ", ");
}

std::string or_unknown(const Trait<std::uint64_t>& trait) {
  return trait ? human_size(*trait) : "?";
}

std::string table_text(const Storage& storage, const Style& style) {
  Table table({{.title = "PLACE", .shrink = Shrink::middle},
               {.title = "PATH", .shrink = Shrink::middle},
               {.title = "TYPE", .shrink = Shrink::end},
               {.title = "MEDIA", .drop = 1},
               {.title = "LAYOUT", .shrink = Shrink::end, .drop = 3},
               {.title = "SIZE", .align = Align::right, .drop = 4},
               {.title = "FREE", .align = Align::right},
               {.title = "KEEPS"},
               {.title = "SEEN BY", .drop = 5},
               {.title = "NOTE", .shrink = Shrink::end, .drop = 2}});
  for (const Place& place : storage.found.places) {
    table.add(
        {place.name, escape(place.path), escape(place.filesystem),
         std::string(print(place.media.value_or(Media::unknown))), place.layout ? print(*place.layout) : "?",
         or_unknown(place.capacity), or_unknown(place.free),
         !place.is_volatile   ? "?"
         : *place.is_volatile ? "volatile"
                              : "persistent",
         place.global.value_or(false) ? "all machines" : "this machine", escape(note_of(storage, place))},
        place.reach == Reach::reachable ? Colour::plain : Colour::red);
  }
  return table.print(style);
}

std::string explained(const Storage& storage, const Style& style) {
  std::string out;
  for (const Place& place : storage.found.places) {
    out += fmt::format("{}{}  {} on {}\n", out.empty() ? "" : "\n", style.paint(Colour::bold, place.name),
                       escape(place.filesystem), escape(place.mount));
    Table table({{.title = "TRAIT"},
                 {.title = "VALUE", .shrink = Shrink::end},
                 {.title = "SOURCE"},
                 {.title = "FROM", .shrink = Shrink::middle}});
    for (const TraitRow& row : trait_rows(place)) {
      table.add({std::string(row.name), row.value.empty() ? "?" : escape(row.value),
                 row.value.empty() ? "" : std::string(print(row.source)), escape(row.detail)});
    }
    out += table.print(style);
    if (const std::string text = corrections_of(storage, place); !text.empty()) {
      out += fmt::format("forecasts corrected by what programs took: {}\n", text);
    }
  }
  return out;
}

Json place_json(const Storage& storage, const Place& place) {
  Json out = to_json(place);
  const Evidence* evidence = evidence_of(storage, place);
  out["corrections"] = evidence == nullptr ? Json::array() : to_json(evidence->corrections);
  return out;
}

Status keep_named(std::vector<Place>& places, const std::vector<std::string>& names) {
  std::vector<Place> kept;
  for (const std::string& name : names) {
    SLUICE_TRY(Place place, named_place(places, name));
    kept.push_back(std::move(place));
  }
  places = std::move(kept);
  return {};
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(Storage storage, read_places(context, true));
  Discovery& found = storage.found;
  if (!context.options.operands().empty()) {
    SLUICE_CHECK(keep_named(found.places, context.options.operands()));
  }
  if (context.options.flag("forget")) {
    SLUICE_CHECK(forget_corrections(context, storage));
  }
  Output out;
  if (context.json) {
    // A row a line, each written as soon as it is made: a tree of a thousand places costs more than the rest.
    const auto in_rows = [](const auto& list, auto&& json_of) {
      std::string text;
      for (const auto& row : list) {
        text += text.empty() ? "\n" : ",\n";
        text += write_json(json_of(row));
      }
      return text;
    };
    out.text = "{\"places\": [";
    out.text += in_rows(found.places, [&](const Place& place) { return place_json(storage, place); });
    out.text += "\n],\n\"skipped\": [";
    out.text += in_rows(context.options.flag("all") ? found.skipped : std::vector<Skipped>{},
                        [](const Skipped& skipped) { return to_json(skipped); });
    out.text += "\n]}\n";
    return out;
  }
  out.text = context.options.flag("explain") ? explained(storage, context.style)
                                             : table_text(storage, context.style);
  if (context.options.flag("all") && !found.skipped.empty()) {
    Table table({{.title = "NO PLACE", .shrink = Shrink::middle},
                 {.title = "TYPE"},
                 {.title = "BECAUSE", .shrink = Shrink::end}});
    for (const Skipped& skipped : found.skipped) {
      table.add({escape(skipped.mount), escape(skipped.filesystem), escape(skipped.because)});
    }
    out.text += "\n" + table.print(context.style);
  }
  return out;
}

}  // namespace

extern const Verb verb_places = {
    .name = "places",
    .summary = "what storage this machine sees, its traits, and where each fact came from",
    .operands = "[PLACE]...",
    .least_operands = 0,
    .most_operands = 10000,
    .description =
        "A place is a mount point, or a folder on one, where data can live. What the system does not tell "
        "(the mean "
        "time to failure of the disks, labels, prices, how an array is laid out) is set in sluice.toml:\n\n"
        "  [place.scratch]\n"
        "  path = \"/mnt/nvme\"\n"
        "  mttf = \"10y\"\n"
        "  labels = [\"archive\"]\n\n"
        "A mount that hangs or denies access is listed as such and keeps nobody waiting. What was seen is "
        "remembered "
        "in the catalog, so that a place that does not answer is still known.\n\n"
        "Where programs that ran under `sluice run` took longer or shorter than was forecast, the forecasts "
        "of that place are corrected, and NOTE says by which factor of the time and by how many runs.",
    .options = rows,
    .examples = examples,
    .sections = nullptr,
    .run = run,
};

}  // namespace sluice
