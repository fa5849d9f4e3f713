#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr std::array rows = volume_rows;
constexpr std::array examples = {Example{"sluice volume list", "What there is."}};

Result<Output> run(const Context& context) {
  Output out;
  out.json["volumes"] = Json::array();
  for (const volume::VolumeFolder& folder : volume::all_volumes(volume::volumes_folder(context.options))) {
    const int pid = folder.server();
    const auto devices = volume::attached_devices(folder);
    Json row = {{"name", folder.name()}, {"pid", pid}, {"devices", devices}};
    put_bytes(row, "folder", folder.path());
    out.json["volumes"].push_back(row);
    out.text += fmt::format("{}: {}{}\n", folder.name(),
                            pid > 0 ? fmt::format("served by process {}", pid) : "not served",
                            devices.empty() ? "" : ", " + join(devices, ", "));
  }
  if (out.text.empty()) {
    out.text = "no volumes; `sluice volume create` makes one\n";
  }
  return out;
}

}  // namespace

extern const Verb verb_volume_list = {
    .name = "volume list",
    .summary = "the volumes of this machine",
    .operands = "",
    .least_operands = 0,
    .most_operands = 0,
    .description = "Each with its server's process and its block device, where there are any.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
