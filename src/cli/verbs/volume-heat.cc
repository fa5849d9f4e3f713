#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/files.h"
#include "base/html.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/volume_heat.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_svg = {
    .name = "svg", .type = OptionType::path, .argument = "FILE", .help = "as a picture"};
constexpr Option option_html = {
    .name = "html", .type = OptionType::path, .argument = "FILE", .help = "as a page that any browser opens"};
constexpr Option option_watch = {.name = "watch", .help = "again each second, until interrupted"};
constexpr Option option_buckets = {
    .name = "buckets",
    .type = OptionType::count,
    .argument = "N",
    .range = "1..512",
    .help = "in how many parts; by default as many as the terminal has columns"};
constexpr std::array rows = {&option_svg, &option_html, &option_watch, &option_buckets,
                             &volume::option_volumes};
constexpr std::array examples = {Example{"sluice volume heat data", "In the terminal."},
                                 Example{"sluice volume heat data --svg heat.svg", "As a picture."}};

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  const auto width = static_cast<std::uint64_t>(context.style.width > 0 ? context.style.width : 80);
  const std::uint64_t columns = std::min<std::uint64_t>(width, 200);
  const bool picture = options.given("svg") || options.given("html");
  const Json request = {{"buckets", options.given("buckets") ? options.count("buckets")
                                    : picture                ? std::uint64_t{300}
                                                             : columns}};
  Output out;
  if (options.flag("watch")) {
    if (context.json || picture) {
      return bad_input("--watch is for the terminal", "leave out --json, --svg and --html");
    }
    while (true) {
      SLUICE_TRY(const Json heat, ask_volume(folder, "heat", request));
      fmt::print("\x1b[H\x1b[2J{}", heat_text(heat, context.style, static_cast<unsigned>(columns)));
      if (std::fflush(stdout) != 0) {
        return out;
      }
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
  SLUICE_TRY(out.json, ask_volume(folder, "heat", request));
  if (options.given("svg")) {
    SLUICE_CHECK(write_file(options.text("svg"), heat_svg(out.json)));
  }
  if (options.given("html")) {
    SLUICE_CHECK(write_file(options.text("html"),
                            html_page("Heat of the volume " + folder.name(), {}, heat_svg(out.json))));
  }
  out.text = picture ? "" : heat_text(out.json, context.style, static_cast<unsigned>(columns));
  return out;
}

}  // namespace

extern const Verb verb_volume_heat = {
    .name = "volume heat",
    .summary = "the heat map of a volume",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "The volume in equal parts from its beginning to its end: how hot each is, and on which tier most of "
        "it lies. The score is accesses since the policy last ran, and those before as far as they still "
        "count.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
