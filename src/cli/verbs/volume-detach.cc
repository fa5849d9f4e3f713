#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr std::array rows = volume_rows;
constexpr std::array examples = {Example{"sluice volume detach data", "After umount."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  SLUICE_CHECK(volume::detach_volume(folder));
  Output out;
  out.json = {{"name", folder.name()}};
  out.text = fmt::format("{}: detached\n", folder.name());
  return out;
}

}  // namespace

extern const Verb verb_volume_detach = {
    .name = "volume detach",
    .summary = "take a volume's block device away",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description = "Refused while it is mounted or open.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
