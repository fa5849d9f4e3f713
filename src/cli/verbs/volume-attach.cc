#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr std::array rows = volume_rows;
constexpr std::array examples = {
    Example{"sluice volume attach data", "Prints /dev/loopN, for mkfs and mount."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  SLUICE_TRY(const std::string device, volume::attach_volume(folder));
  Output out;
  out.json = {{"name", folder.name()}, {"device", device}};
  out.text = device + "\n";
  return out;
}

}  // namespace

extern const Verb verb_volume_attach = {
    .name = "volume attach",
    .summary = "make a block device of a volume",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description = "A loop device with direct I/O and sectors of 4 KiB. Needs root.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
