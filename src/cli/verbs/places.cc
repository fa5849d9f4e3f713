#include <fmt/format.h>

#include <array>

#include "base/table.h"
#include "base/text.h"
#include "cli/place_input.h"
#include "places/place_json.h"

namespace sluice {
namespace {

constexpr Option all = {
    .name = "all", .letter = 'a', .help = "list also the mounts that are no place, and why"};
constexpr Option explain = {.name = "explain", .help = "show every trait and where it came from"};
constexpr std::array rows = {&all, &explain, &option_timeout, &option_catalog, &option_system};

constexpr std::array examples = {
    Example{"sluice places", "A table of the storage this machine sees."},
    Example{"sluice places --explain root", "Every trait of the place called root, and who says so."},
    Example{"sluice places --json | jq '.places[].name'", "For programs."},
};

std::string note_of(const Place& place) {
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
  return join(notes, ", ");
}

std::string or_unknown(const Trait<std::uint64_t>& trait) {
  return trait ? human_size(*trait) : "?";
}

std::string table_text(const std::vector<Place>& places, const Style& style) {
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
  for (const Place& place : places) {
    table.add({place.name, escape(place.path), escape(place.filesystem),
               std::string(print(place.media.value_or(Media::unknown))),
               place.layout ? print(*place.layout) : "?", or_unknown(place.capacity), or_unknown(place.free),
               !place.is_volatile   ? "?"
               : *place.is_volatile ? "volatile"
                                    : "persistent",
               place.global.value_or(false) ? "all machines" : "this machine", escape(note_of(place))},
              place.reach == Reach::reachable ? Colour::plain : Colour::red);
  }
  return table.print(style);
}

std::string explained(const std::vector<Place>& places, const Style& style) {
  std::string out;
  for (const Place& place : places) {
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
  }
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
  Output out;
  if (context.json) {
    // A row a line, each written as soon as it is made: a tree of a thousand places costs more than the rest.
    const auto in_rows = [](const auto& list) {
      std::string text;
      for (const auto& row : list) {
        text += text.empty() ? "\n" : ",\n";
        text += write_json(to_json(row));
      }
      return text;
    };
    out.text = "{\"places\": [";
    out.text += in_rows(found.places);
    out.text += "\n],\n\"skipped\": [";
    out.text += in_rows(context.options.flag("all") ? found.skipped : std::vector<Skipped>{});
    out.text += "\n]}\n";
    return out;
  }
  out.text = context.options.flag("explain") ? explained(found.places, context.style)
                                             : table_text(found.places, context.style);
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
        "in the catalog, so that a place that does not answer is still known.",
    .options = rows,
    .examples = examples,
    .sections = nullptr,
    .run = run,
};

}  // namespace sluice
