#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "base/log.h"
#include "base/svg.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/place_input.h"
#include "profile/child.h"

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
    .fallback = "2",
    .help = "sizes of each interval to measure first; its extremes and others by chance"};
constexpr Option repetitions = {
    .name = "repetitions",
    .type = OptionType::count,
    .argument = "N",
    .range = "2..100000",
    .help = "requests of each kind and size, instead of as many as it takes to be sure"};
constexpr Option bound = {.name = "bound",
                          .type = OptionType::text,
                          .argument = "SHARE",
                          .fallback = "0.1",
                          .help = "a mean is sure when its 90 % interval is within this share of it"};
constexpr Option duration = {.name = "time",
                             .type = OptionType::duration,
                             .argument = "TIME",
                             .range = "100ms..1d",
                             .fallback = "15s",
                             .help = "give the best profile that can be had in this time"};
constexpr Option file_size = {
    .name = "file-size",
    .type = OptionType::size,
    .argument = "SIZE",
    .range = "64K..",
    .help = "size of the file to measure with, instead of what time and room allow"};
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
constexpr Option chart = {
    .name = "chart",
    .type = OptionType::path,
    .argument = "FILE.svg",
    .help = "draw measured points and curves; with several places, into FILE-PLACE.svg"};

constexpr std::array rows = {&sizes,    &points, &repetitions, &bound, &duration,       &file_size,
                             &patience, &seed,   &idle,        &chart, &option_timeout, &option_catalog};

constexpr std::array examples = {
    Example{"sluice profile /data", "Measures the place that /data lies on, there, in 15 seconds."},
    Example{"sluice profile . --time 2s --chart curves.svg", "Quickly, with a picture."},
    Example{"sluice profile /data --sizes paper --repetitions 4 --file-size 1200M", "As SeRRa's paper does."},
};

Result<ProfileOptions> read_options(const Options& options) {
  ProfileOptions out;
  SLUICE_TRY(out.measure.grid, parse_grid(options.text("sizes")));
  out.measure.points = options.count("points");
  out.measure.repetitions = options.given("repetitions") ? options.count("repetitions") : 0;
  SLUICE_TRY(out.measure.bound, parse_number(options.text("bound")));
  if (!(out.measure.bound > 0 && out.measure.bound <= 1)) {
    return bad_input(fmt::format("--bound {} makes no sense", quote(options.text("bound"))),
                     "a share such as 0.1, up to 1");
  }
  out.measure.seconds = options.duration("time").in_seconds();
  out.measure.file = options.given("file-size") ? options.count("file-size") : 0;
  out.measure.seed = options.count("seed");
  out.idle = options.flag("idle");
  return out;
}

// The place by its name, or the place that a folder lies on, to be measured in that folder.
Result<Place> choose(const std::vector<Place>& places, const std::string& operand) {
  for (const Place& place : places) {
    if (place.name == operand) {
      return place;
    }
  }
  const std::string path = absolute(operand, current_folder());
  const Place* best = nullptr;
  for (const Place& place : places) {
    const bool inside = path == place.mount || place.mount == "/" || path.starts_with(place.mount + "/");
    if (inside && (best == nullptr || place.mount.size() > best->mount.size())) {
      best = &place;
    }
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

std::string draw_profile(const Json& profile) {
  Chart picture{.title = fmt::format("{}: seconds of one request", profile.value("place", "")),
                .x = {.title = "request size", .unit = Unit::bytes, .logarithmic = true},
                .y = {.title = "time", .unit = Unit::seconds, .logarithmic = true},
                .series = {}};
  for (const char* operation : {"read", "write"}) {
    for (const char* pattern : {"sequential", "random"}) {
      Series curve{.name = fmt::format("{} {}", pattern, operation), .points = {}};
      for (const Json& row : profile["curves"][operation][pattern]) {
        curve.points.push_back({row.value("size", 0.0), row.value("seconds", 0.0)});
      }
      Series measured{
          .name = fmt::format("{} {}, measured", pattern, operation), .points = {}, .markers = true};
      for (const Json& row : profile["measured"][operation][pattern]) {
        measured.points.push_back({row.value("size", 0.0), row.value("seconds", 0.0)});
      }
      picture.series.push_back(std::move(curve));
      picture.series.push_back(std::move(measured));
    }
  }
  return draw(picture);
}

std::string text_of(const Json& profile, const Style& style) {
  std::string out = fmt::format(
      "{} in {}, {} requests in {}, {}\n", profile.value("place", ""), escape(profile.value("path", "")),
      profile.value("requests", 0), human_duration(profile.value("seconds", 0.0)),
      profile.value("sure", false) ? "sure within the bound" : "not sure within the bound yet");
  out += fmt::format("page cache: {} ({})\n", profile.value("cache", ""), profile.value("cache_why", ""));
  out += fmt::format(
      "latency {}, seek {}, reads at {}, writes at {}\n\n", human_duration(profile.value("latency", 0.0)),
      human_duration(profile.value("seek", 0.0)), human_rate(profile["bandwidth"].value("read", 0.0)),
      human_rate(profile["bandwidth"].value("write", 0.0)));
  Table table({{.title = "SIZE", .align = Align::right},
               {.title = "SEQ READ", .align = Align::right},
               {.title = "RANDOM READ", .align = Align::right},
               {.title = "RATIO", .align = Align::right},
               {.title = "SEQ WRITE", .align = Align::right},
               {.title = "RANDOM WRITE", .align = Align::right},
               {.title = "RATIO", .align = Align::right}});
  const Json& curves = profile["curves"];
  const Json& read = curves["read"]["sequential"];
  std::size_t every = std::max<std::size_t>(1, read.size() / 24);  // JSON has all of them
  for (std::size_t i = 0; i < read.size(); i += every) {
    const auto cell = [&](const char* operation, const char* pattern) {
      return human_duration(curves[operation][pattern][i].value("seconds", 0.0));
    };
    const auto ratio = [&](const char* operation) {
      return fmt::format("{:.2f}", profile["ratio"][operation][i].value("ratio", 0.0));
    };
    table.add({print_size(read[i].value("size", std::uint64_t{0})), cell("read", "sequential"),
               cell("read", "random"), ratio("read"), cell("write", "sequential"), cell("write", "random"),
               ratio("write")});
  }
  return out + table.print(style);
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(const ProfileOptions options, read_options(context.options));
  SLUICE_TRY(const Storage storage, read_places(context, false));
  std::vector<Place> chosen;
  for (const std::string& operand : context.options.operands()) {
    SLUICE_TRY(Place place, choose(storage.found.places, operand));
    chosen.push_back(std::move(place));
  }
  Output out;
  Json profiles = Json::array();
  for (const Place& place : chosen) {
    Progress progress;
    auto profile = profile_in_child(
        place, options, context.options.duration("patience"), [&](double share, std::string_view what) {
          progress.show(fmt::format("{}: {:.0f} %, {}", place.name, 100 * share, what));
        });
    if (!profile) {
      if (profile.error().usage) {
        return std::move(profile).error();
      }
      log::error("profile: {}", profile.error().text());
      out.status = 1;
      continue;
    }
    if (context.options.given("chart")) {
      std::string file = context.options.text("chart");
      if (chosen.size() > 1) {
        const std::size_t dot = file.ends_with(".svg") ? file.size() - 4 : file.size();
        file.insert(dot, "-" + place.name);
      }
      SLUICE_CHECK(write_file(absolute(file, current_folder()), draw_profile(*profile)));
    }
    out.text += (out.text.empty() ? "" : "\n") + text_of(*profile, context.style);
    profiles.push_back(std::move(*profile));
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
