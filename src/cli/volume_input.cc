#include "cli/volume_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "base/clock.h"
#include "base/table.h"
#include "base/terminal.h"
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

// The time left by what the last ten seconds brought. A drain that gets nowhere for a minute does not end by
// itself.
Result<std::uint64_t> wait_until_empty(const volume::VolumeFolder& folder, const std::string& tier,
                                       std::uint64_t left) {
  constexpr double window = 10;
  constexpr double patience = 60;
  std::deque<std::pair<double, std::uint64_t>> seen = {{steady_seconds(), left}};
  double progress = steady_seconds();
  Progress line;
  while (left > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    SLUICE_TRY(const Json answer, ask_volume(folder, "left", {{"tier", tier}}));
    const double now = steady_seconds();
    const auto before = left;
    left = answer.at("left");
    progress = left < before ? now : progress;
    seen.emplace_back(now, left);
    while (seen.size() > 2 && now - seen.front().first > window) {
      seen.pop_front();
    }
    const double rate = static_cast<double>(seen.front().second - std::min(seen.front().second, left)) /
                        std::max(now - seen.front().first, 0.001);
    line.show(fmt::format("{}: {} left, {}", tier, human_size(left),
                          rate > 0 ? human_duration(static_cast<double>(left) / rate) : "waiting"));
    if (now - progress > patience) {
      return fail(fmt::format("tier {} still holds {}, and nothing has moved for a minute", quote(tier),
                              human_size(left)),
                  "look at `sluice volume stat`: a tier may be full or not answer");
    }
    if (!answer.at("draining").get<bool>()) {
      return fail(fmt::format("somebody ended the draining of tier {}", quote(tier)));
    }
  }
  return left;
}

}  // namespace sluice
