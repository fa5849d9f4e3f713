#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr std::array rows = volume_rows;
constexpr std::array examples = {
    Example{"sluice volume remove-tier data slow", "Its device is free afterwards."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  const std::string& tier = context.options.operands()[1];
  SLUICE_TRY(const Json able, ask_volume(folder, "removable", {{"tier", tier}}));
  SLUICE_TRY(const Json drained, ask_volume(folder, "drain", {{"tier", tier}}));
  SLUICE_CHECK(wait_until_empty(folder, tier, drained.at("left")));
  Output out;
  SLUICE_TRY(out.json, ask_volume(folder, "remove-tier", {{"tier", tier}}));
  out.text = volume_tiers_text(out.json.at("tiers"), context.style);
  return out;
}

}  // namespace

extern const Verb verb_volume_remove_tier = {
    .name = "volume remove-tier",
    .summary = "take a tier from a volume",
    .operands = "NAME TIER",
    .least_operands = 2,
    .most_operands = 2,
    .description =
        "Drains it first, while the volume is used. Refused where the other tiers could not hold the volume, "
        "and for the two tiers that keep its map.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
