#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_wait = {.name = "wait", .help = "until the tier is empty"};
constexpr Option option_stop = {.name = "stop", .help = "use the tier again"};
constexpr std::array rows = {&option_wait, &option_stop, &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume drain data slow --wait", "Before the disk is replaced."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  const std::string& tier = context.options.operands()[1];
  const bool stop = context.options.flag("stop");
  if (stop && context.options.flag("wait")) {
    return bad_input("--stop and --wait exclude each other");
  }
  SLUICE_TRY(const Json answer, ask_volume(folder, stop ? "undrain" : "drain", {{"tier", tier}}));
  std::uint64_t left = answer.at("left");
  if (context.options.flag("wait")) {
    SLUICE_TRY(left, wait_until_empty(folder, tier, left));
  }
  Output out;
  out.json = {{"name", folder.name()}, {"tier", tier}, {"left", left}};
  out.text = stop ? fmt::format("{}: {} is used again\n", folder.name(), tier)
             : left == 0
                 ? fmt::format("{}: {} is empty\n", folder.name(), tier)
                 : fmt::format("{}: {} of {} are being moved\n", folder.name(), human_size(left), tier);
  return out;
}

}  // namespace

extern const Verb verb_volume_drain = {
    .name = "volume drain",
    .summary = "move everything off a tier of a volume",
    .operands = "NAME TIER",
    .least_operands = 2,
    .most_operands = 2,
    .description =
        "New chunks go elsewhere from now on, and those on the tier are moved away while they are used. "
        "Refused where the other tiers have no room. With --wait, shows how much is left and how long that "
        "will take, and ends with 1 where it cannot come to its end; with --stop, the tier is used again.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
