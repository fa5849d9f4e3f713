#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_read = {.name = "read", .help = "read every chunk, too"};
constexpr std::array rows = {&option_read, &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume check data --read", "Finds chunks that cannot be read any more."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  Output out;
  SLUICE_TRY(out.json, volume::check_volume(folder, context.options.flag("read")));
  for (const char* key : {"missing", "notes"}) {
    for (const Json& line : out.json.at(key)) {
      out.text += escape(line.get<std::string>()) + "\n";
    }
  }
  std::uint64_t lost = 0;
  for (const Json& range : out.json.at("lost")) {
    lost += range.at("length").get<std::uint64_t>();
    out.text += fmt::format("lost: {} at {}, was on tier {}\n", print_size(range.at("length")),
                            print_size(range.at("offset")), range.at("tier").get<std::string>());
  }
  const bool whole = out.json.at("missing").empty() && lost == 0;
  out.text += fmt::format("{}: {} written, {}{}\n", folder.name(), human_size(out.json.at("mapped")),
                          lost == 0 ? "nothing is lost" : fmt::format("{} of it lost", human_size(lost)),
                          out.json.at("clean").get<bool>() ? "" : "; the last session did not end in order");
  out.status = whole ? 0 : 1;
  return out;
}

}  // namespace

extern const Verb verb_volume_check = {
    .name = "volume check",
    .summary = "look whether a volume is whole, while nobody serves it",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Reads labels and map of every tier that is there, says what was damaged and where it was taken "
        "from, and lists the ranges of the volume that are lost. Exit status: 0 it is whole; 1 something is "
        "missing or damaged; 2 wrong usage.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
