#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr std::array rows = volume_rows;
constexpr std::array examples = {
    Example{"sluice volume resize data 300G", "Then resize2fs, or what the file system has."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  SLUICE_TRY(const std::uint64_t size, parse_size(context.options.operands()[1]));
  Output out;
  SLUICE_TRY(out.json, ask_volume(folder, "resize", {{"size", size}}));
  SLUICE_CHECK(volume::tell_size(folder));
  out.text = fmt::format("{}: {}\n", folder.name(), human_size(out.json.at("size")));
  return out;
}

}  // namespace

extern const Verb verb_volume_resize = {
    .name = "volume resize",
    .summary = "change the size of a volume",
    .operands = "NAME SIZE",
    .least_operands = 2,
    .most_operands = 2,
    .description =
        "What is cut off must not hold data: make the file system smaller first and trim what lies behind "
        "it. A loop device that is attached learns of the new size.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
