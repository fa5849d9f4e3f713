#include "cli/volume_input.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "service/control.h"

namespace sluice {

Result<volume::VolumeFolder> volume_of(const Context& context) {
  return volume::find_volume(volume::volumes_folder(context.options), context.options.operands().front());
}

Result<Json> ask_volume(const volume::VolumeFolder& folder, const std::string& command, const Json& request) {
  if (folder.server() <= 0) {
    return fail(fmt::format("nobody serves the volume {}", quote(folder.name())),
                fmt::format("start its server: sluice volume serve {}", folder.name()));
  }
  return service::ask(folder, request.is_null() ? command : command + " " + write_json(request),
                      Duration(60, 0));
}

std::string volume_tiers_text(const Json& tiers, const Style& style) {
  Table table({{.title = "TIER"},
               {.title = "STATE"},
               {.title = "SIZE", .align = Align::right},
               {.title = "USED", .align = Align::right},
               {.title = "KEEPS"},
               {.title = "PATH", .shrink = Shrink::middle}});
  for (const Json& tier : tiers) {
    const bool map = tier.value("map", false);
    table.add({tier.at("name"), tier.at("state"), human_size(tier.at("size")), human_size(tier.at("used")),
               !tier.value("persistent", true) ? "further copies"
               : map                           ? "data, map"
                                               : "data",
               escape(tier.value("path", ""))});
  }
  return table.print(style);
}

}  // namespace sluice
