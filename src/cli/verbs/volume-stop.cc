#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_force = {.name = "force",
                                 .help = "although a loop device is attached: what is on it gets errors"};
constexpr std::array rows = {&option_force, &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume stop data", "Its file is gone; its data stays on the tiers."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  SLUICE_CHECK(volume::stop_volume(folder, context.options.flag("force")));
  Output out;
  out.json = {{"name", folder.name()}};
  out.text = fmt::format("{}: its server has ended\n", folder.name());
  return out;
}

}  // namespace

extern const Verb verb_volume_stop = {
    .name = "volume stop",
    .summary = "end a volume's server",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Requests under way are finished and the map is written. Refused while a loop device is attached.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
