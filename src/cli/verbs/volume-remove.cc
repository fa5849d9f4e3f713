#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_wipe = {.name = "wipe", .help = "the tiers lose their labels: the data is lost"};
constexpr std::array rows = {&option_wipe, &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume remove data --wipe", "Its devices may be used for something else."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  SLUICE_CHECK(volume::remove_volume(folder, context.options.flag("wipe")));
  Output out;
  out.json = {{"name", folder.name()}};
  out.text = fmt::format("{}: forgotten\n", folder.name());
  return out;
}

}  // namespace

extern const Verb verb_volume_remove = {
    .name = "volume remove",
    .summary = "forget a volume",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Its description goes; its data stays on the tiers, and `sluice volume create --adopt` finds it "
        "again. With --wipe the tiers lose their labels, and the data is lost.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
