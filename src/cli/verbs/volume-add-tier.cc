#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_force = {.name = "force",
                                 .help = "although it holds something; what is on it is lost"};
constexpr std::array rows = {&option_force, &volume::option_volumes};
constexpr std::array examples = {Example{"sluice volume add-tier data slower=/dev/sdc", "A further disk."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  SLUICE_TRY(const volume::TierSpec spec, volume::parse_tier(context.options.operands()[1], folder.name()));
  SLUICE_CHECK(volume::check_new_tier(folder, spec, context.options.flag("force")));
  Output out;
  SLUICE_TRY(out.json, ask_volume(folder, "add-tier",
                                  {{"name", spec.name},
                                   {"path", spec.path},
                                   {"size", spec.size},
                                   {"persistent", spec.persistent},
                                   {"make", spec.make}}));
  out.text = volume_tiers_text(out.json.at("tiers"), context.style);
  return out;
}

}  // namespace

extern const Verb verb_volume_add_tier = {
    .name = "volume add-tier",
    .summary = "give a volume a further tier",
    .operands = "NAME TIER=PATH[,SIZE]",
    .least_operands = 2,
    .most_operands = 2,
    .description =
        "The tier is as in `sluice volume create`, and becomes the slowest. The volume does not grow by "
        "itself.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
