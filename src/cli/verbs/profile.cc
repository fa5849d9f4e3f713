#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/reach.h"
#include "base/sys.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/place_input.h"
#include "profile/child.h"
#include "profile/keep.h"
#include "profile/picture.h"
#include "profile/profile_json.h"

namespace sluice {
namespace {

constexpr Option sizes = {.name = "sizes",
                          .type = OptionType::text,
                          .argument = "LO:HI:GAP[,...]|paper",
                          .fallback = "default",
                          .help =
                              "request sizes to report: intervals and the gap between two sizes; `paper` is "
                              "8K:64K:8K,64K:4M:32K, `default` goes from 512 B to 64 MiB"};
constexpr Option points = {
    .name = "points",
    .type = OptionType::count,
    .argument = "N",
    .range = "2..1000",
    .fallback = "3",
    .help = "sizes of each interval to measure first; its extremes and others by chance"};
constexpr Option repetitions = {
    .name = "repetitions",
    .type = OptionType::count,
    .argument = "N",
    .range = "2..100000",
    .help =
        "bursts of requests of each kind and size, whatever the time, instead of as many as it takes to be "
        "sure"};
constexpr Option bound = {.name = "bound",
                          .type = OptionType::text,
                          .argument = "SHARE",
                          .fallback = "0.1",
                          .help = "a mean is sure when its 90 % interval is within this share of it"};
constexpr Option duration = {.name = "time",
                             .type = OptionType::duration,
                             .argument = "TIME",
                             .range = "100ms..1d",
                             .fallback = "17s",
                             .help = "give the best profile that can be had in this time"};
constexpr Option file_sizes = {
    .name = "file-size",
    .type = OptionType::text,
    .argument = "SIZE[,SIZE...]",
    .help =
        "size of the file to measure with, instead of what time and room allow; with several, each has "
        "its own curves, and the largest is used for forecasts"};
constexpr Option tests = {
    .name = "tests",
    .type = OptionType::text,
    .argument = "NAME[,NAME...]",
    .fallback = "all",
    .help =
        "what to measure beside the curves of direct access: modes (buffered, synced), depth, streams, "
        "strides, sawtooth, metadata; `all`, or `curves` for nothing else"};
constexpr Option refine = {.name = "refine",
                           .help =
                               "add to the profile that is known, in moments in which nobody else uses "
                               "the place, with the lowest I/O priority"};
constexpr Option keep_nothing = {.name = "dry-run", .help = "do not remember the profile"};
constexpr Option patience = {.name = "patience",
                             .type = OptionType::duration,
                             .argument = "TIME",
                             .range = "1s..1d",
                             .fallback = "1m",
                             .help = "a place of which nothing is heard for this time is given up"};
constexpr Option seed = {.name = "seed",
                         .type = OptionType::count,
                         .argument = "N",
                         .fallback = "1",
                         .help = "of the sizes and offsets that are drawn by chance"};
constexpr Option idle = {.name = "idle", .help = "with the lowest I/O priority"};
constexpr Option chart = {.name = "chart",
                          .type = OptionType::path,
                          .argument = "FILE.svg|FILE.html",
                          .help =
                              "draw measured points, curves and ratio, as a picture or as a page with "
                              "all that was measured; with several places, into FILE-PLACE"};

constexpr std::array rows = {&sizes,      &points,       &repetitions, &bound,          &duration,
                             &file_sizes, &tests,        &refine,      &patience,       &seed,
                             &idle,       &keep_nothing, &chart,       &option_timeout, &option_catalog};

constexpr std::array examples = {
    Example{"sluice profile /data", "Measures the place that /data lies on, there, in 17 seconds."},
    Example{"sluice profile . --time 2s --chart curves.svg", "Quickly, with a picture."},
    Example{"sluice profile /data --sizes paper --repetitions 4 --file-size 1200M", "As SeRRa's paper does."},
};

Status read_tests(const std::string& text, ProfileOptions& out) {
  if (text == "all") {
    return {};
  }
  struct Name {
    std::string_view name;
    bool ProfileOptions::*wanted;
  };
  constexpr std::array names = {
      Name{"modes", &ProfileOptions::modes},       Name{"depth", &ProfileOptions::depth},
      Name{"streams", &ProfileOptions::streams},   Name{"strides", &ProfileOptions::strides},
      Name{"sawtooth", &ProfileOptions::sawtooth}, Name{"metadata", &ProfileOptions::metadata}};
  for (const Name& name : names) {
    out.*name.wanted = false;
  }
  for (const std::string_view word : split(text, ',')) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const Name& name) { return name.name == word; });
    if (found != names.end()) {
      out.*found->wanted = true;
    } else if (word != "curves") {
      return bad_input(fmt::format("--tests: there is no test {}", quote(word)),
                       "choose from curves, modes, depth, streams, strides, sawtooth, metadata");
    }
  }
  return {};
}

Result<ProfileOptions> read_options(const Options& options) {
  ProfileOptions out;
  SLUICE_TRY(out.grid, parse_grid(options.text("sizes")));
  out.points = options.count("points");
  out.repetitions = options.given("repetitions") ? options.count("repetitions") : 0;
  SLUICE_TRY(out.bound, parse_number(options.text("bound")));
  if (!(out.bound > 0 && out.bound <= 1)) {
    return bad_input(fmt::format("--bound {} makes no sense", quote(options.text("bound"))),
                     "a share such as 0.1, up to 1");
  }
  out.seconds = options.duration("time").in_seconds();
  if (options.given("file-size")) {
    const std::string list = options.text("file-size");
    for (const std::string_view word : split(list, ',')) {
      SLUICE_TRY(const std::uint64_t size, parse_size(word));
      constexpr std::uint64_t least = 65536;
      if (size < least) {
        return bad_input(fmt::format("--file-size {} is too small", quote(word)), "64K or more");
      }
      out.files.push_back(size);
    }
    std::sort(out.files.begin(), out.files.end());
    out.files.erase(std::unique(out.files.begin(), out.files.end()), out.files.end());
  }
  const std::string picture = options.text("chart");
  for (const std::string_view other : {".png", ".jpg", ".jpeg", ".pdf", ".gif"}) {
    if (picture.ends_with(other)) {
      return bad_input(fmt::format("--chart cannot draw {}", quote(other)), "name it .svg or .html");
    }
  }
  out.seed = options.count("seed");
  out.idle = options.flag("idle");
  SLUICE_CHECK(read_tests(options.text("tests"), out));
  return out;
}

// The place by its name, or the place that a folder lies on, to be measured in that folder.
Result<Place> choose(const std::vector<Place>& places, const std::string& operand, Duration wait) {
  if (operand.empty()) {
    return bad_input("an empty name is neither a place nor a folder", "`sluice places` lists them");
  }
  for (const Place& place : places) {
    if (place.name == operand) {
      return place;
    }
  }
  const std::string path = absolute(operand, current_folder());
  // The innermost one: a folder of sluice.toml before the mount that it lies on.
  const Place* best = nullptr;
  std::size_t longest = 0;
  for (const Place& place : places) {
    for (const std::string& folder : {place.path, place.mount}) {
      const bool inside = path == folder || folder == "/" || path.starts_with(folder + "/");
      if (inside && folder.size() > longest) {
        best = &place;
        longest = folder.size();
      }
    }
  }
  if (!answers(path, wait)) {
    return fail(fmt::format("{} does not answer", quote(operand)),
                "it hangs, or is slower than --patience allows");
  }
  struct stat found {};
  if (best == nullptr || sys().stat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return bad_input(fmt::format("{} is neither a place nor a folder on one", quote(operand)),
                     "`sluice places` lists them");
  }
  Place out = *best;
  out.path = path;
  return out;
}

std::string cell(double value, double half) {
  return value > 0 ? fmt::format("{} ±{:.0f} %", human_duration(value), 100 * half / value) : "-";
}

// What programs wait for, beside the single requests.
std::string facts_text(const Profile& profile, const Style& style) {
  std::string out;
  if (!profile.waits.empty()) {
    Table table({{.title = "OPERATION"}, {.title = "TIME", .align = Align::right}});
    for (const Wait& wait : profile.waits) {
      table.add({wait.name, cell(wait.one.seconds, wait.one.half)});
    }
    out += "\n" + table.print(style);
  }
  const Curve& any = profile.curves[past_cache_count];
  if (!any.empty()) {
    // In the order of `accesses`.
    Table table({{.title = "SIZE", .align = Align::right},
                 {.title = "SYNCED WRITE", .align = Align::right},
                 {.title = "RANDOM", .align = Align::right},
                 {.title = "BUFFERED READ", .align = Align::right},
                 {.title = "RANDOM", .align = Align::right},
                 {.title = "BUFFERED WRITE", .align = Align::right},
                 {.title = "RANDOM", .align = Align::right}});
    for (const Measured& point : any.points) {
      std::vector<std::string> row = {print_size(point.size)};
      for (std::size_t i = past_cache_count; i < access_count; ++i) {
        const Curve& curve = profile.curves[i];
        row.push_back(curve.empty() ? "-"
                                    : human_duration(curve.at(static_cast<double>(point.size)).seconds));
      }
      table.add(row);
    }
    out += "\n" + table.print(style);
  }
  return out;
}

std::string ratios_text(const Json& json) {
  const auto one = [&](const char* kind, const char* shown) {
    const Json& summary = json["ratio_summary"][kind];
    return fmt::format("{} {:.2f} ({:.2f} to {:.2f})", shown, summary.value("average", 0.0),
                       summary.value("minimum", 0.0), summary.value("maximum", 0.0));
  };
  return fmt::format("{}, {}, {}", one("read", "read"), one("write", "cached write"),
                     one("sustained", "sustained write"));
}

// The table has powers of two and the ends of the intervals; JSON has all.
bool is_shown(const Profile& profile, std::uint64_t size) {
  return std::has_single_bit(size) ||
         std::any_of(profile.grid.begin(), profile.grid.end(),
                     [&](const Interval& interval) { return size == interval.low || size == interval.high; });
}

// Sequential and random requests and their ratio, of reads, or of writes of both kinds.
std::string curves_table(const Profile& profile, const Json& json, std::initializer_list<const char*> kinds,
                         const Style& style) {
  std::vector<Column> columns = {{.title = "SIZE", .align = Align::right}};
  for (const std::string_view kind : kinds) {
    columns.push_back({.title = kind == "read"    ? "SEQ READ"
                                : kind == "write" ? "CACHED SEQ WRITE"
                                                  : "SUSTAINED SEQ WRITE",
                       .align = Align::right});
    columns.push_back({.title = "RANDOM", .align = Align::right});
    columns.push_back({.title = "RATIO", .align = Align::right});
    columns.push_back({.title = "LOW", .align = Align::right, .drop = 1});
    columns.push_back({.title = "HIGH", .align = Align::right, .drop = 1});
  }
  Table table(std::move(columns));
  const std::vector<std::uint64_t> reported = all_sizes(profile.grid);
  for (std::size_t i = 0; i < reported.size(); ++i) {
    if (!is_shown(profile, reported[i])) {
      continue;
    }
    std::vector<std::string> row = {print_size(reported[i])};
    for (const char* kind : kinds) {
      for (const char* pattern : {"sequential", "random"}) {
        row.push_back(human_duration(json["curves"][kind][pattern][i].value("seconds", 0.0)));
      }
      for (const char* field : {"ratio", "low", "high"}) {
        row.push_back(fmt::format("{:.2f}", json["ratio"][kind][i].value(field, 0.0)));
      }
    }
    table.add(row);
  }
  return table.print(style);
}

std::string text_of(const Profile& profile, const Style& style) {
  Json json = profile_json(profile);
  std::string out = fmt::format(
      "{} in {}, {} in {}, {}\n", escape(profile.place), escape(profile.path),
      plural(profile.requests, "request"), human_duration(profile.seconds),
      profile.sure ? fmt::format("sure within {:g} %", 100 * profile.bound)
                   : fmt::format("not sure within {:g} % yet: --refine adds to it", 100 * profile.bound));
  out += fmt::format("page cache {}: {}\n", profile.cache.state, profile.cache.why);
  out += fmt::format("latency {}, seek {}, reads at {}, writes at {}\n", human_duration(profile.latency()),
                     human_duration(profile.seek()), human_rate(profile.bandwidth(false)),
                     human_rate(profile.bandwidth(true)));
  out += fmt::format("at most {:.0f} reads and {:.0f} writes a second, blocks of {}{}\n", profile.iops(false),
                     profile.iops(true), human_size(profile.block),
                     profile.sawtooth ? "" : " by the file system (no sawtooth found)");
  out += fmt::format("sequential to random: {}\n", ratios_text(json));
  for (const Json& file : json["files"]) {
    out += fmt::format("with a file of {}: {}\n", print_size(file.value("file", std::uint64_t{0})),
                       ratios_text(file));
  }
  for (const std::string& note : profile.notes) {
    out += fmt::format("note: {}\n", note);
  }
  return out + "\n" + curves_table(profile, json, {"read"}, style) + "\n" +
         curves_table(profile, json, {"write", "sustained"}, style) + facts_text(profile, style);
}

Status draw_to(std::string file, const Profile& profile, bool several) {
  const bool page = file.ends_with(".html");
  if (several) {
    const std::size_t dot = file.rfind('.');
    const std::size_t slash = file.rfind('/');
    const bool ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    file.insert(ending ? dot : file.size(), "-" + profile.place);
  }
  return write_file(absolute(file, current_folder()), page ? page_profile(profile) : draw_profile(profile));
}

// The profile to add to; a message where there is none that can be added to.
std::optional<Profile> known_profile(const Context& context, const Place& place) {
  auto known = recall_profile(context.options.text("catalog"), place.id);
  if (!known) {
    log::warn("profile: {}; measuring anew", known.error().text());
    return {};
  }
  if (!*known) {
    log::warn("profile: {} has no profile to refine yet; measuring anew", place.name);
    return {};
  }
  if (const std::string why = differences((*known)->conditions, conditions_of(place)); !why.empty()) {
    log::warn("profile: the profile of {} is stale: {}; measuring anew", place.name, why);
    return {};
  }
  return std::move(*known);
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(ProfileOptions options, read_options(context.options));
  SLUICE_TRY(const Storage storage, read_places(context, false));
  std::vector<Place> chosen;
  Output out;
  for (const std::string& operand : context.options.operands()) {
    auto place = choose(storage.found.places, operand, context.options.duration("patience"));
    if (!place && (place.error().usage || context.options.operands().size() == 1)) {
      return std::move(place).error();
    }
    if (!place) {
      log::error("profile: {}", place.error().text());
      out.status = 1;
      continue;
    }
    chosen.push_back(std::move(*place));
  }
  Json profiles = Json::array();
  for (const Place& place : chosen) {
    options.earlier = context.options.flag("refine") ? known_profile(context, place) : std::nullopt;
    Progress progress;
    auto profile = profile_in_child(
        place, options, context.options.duration("patience"), [&](double share, std::string_view what) {
          progress.show(fmt::format("{}: {:.0f} %, {}", place.name, 100 * share, what));
        });
    if (!profile) {
      if (profile.error().usage && chosen.size() == 1) {
        return std::move(profile).error();
      }
      log::error("profile: {}", profile.error().text());
      out.status = 1;
      continue;
    }
    if (!context.options.flag("dry-run")) {
      if (const Status kept = keep_profile(context.options.text("catalog"), *profile); !kept) {
        log::warn("profile: {}; the profile is not remembered", kept.error().text());
      }
    }
    if (context.options.given("chart")) {
      if (const Status drawn = draw_to(context.options.text("chart"), *profile, chosen.size() > 1); !drawn) {
        log::error("profile: {}", drawn.error().text());
        out.status = 1;
      }
    }
    out.text += (out.text.empty() ? "" : "\n") + text_of(*profile, context.style);
    profiles.push_back(profile_json(*profile));
  }
  if (context.json) {
    out.json = chosen.size() == 1 && profiles.size() == 1 ? std::move(profiles[0])
                                                          : Json{{"profiles", std::move(profiles)}};
  }
  return out;
}

}  // namespace

extern const Verb verb_profile = {
    .name = "profile",
    .summary = "measure a place: access times by request size, sequential against random, reads and writes",
    .operands = "PLACE|FOLDER...",
    .least_operands = 1,
    .most_operands = 1000,
    .description =
        "Writes a nameless file there, and times single requests to it past the page cache: sequential and "
        "random "
        "reads and writes in turn, of sizes drawn from the intervals, until each mean is sure; fits straight "
        "lines, and "
        "puts the next size where they fit worst. Reports the time of a request and the ratio of sequential "
        "to random "
        "throughput for every size (the table shows some; --json all).\n\n"
        "Nothing that exists is touched, a tenth of the place stays free, and the file is gone with the "
        "process, however "
        "that ends. A place that hangs or fails is told, and the others are still measured.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
