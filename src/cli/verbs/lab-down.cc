#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "base/text.h"
#include "cli/verb.h"
#include "lab/down.h"

namespace sluice {
namespace {

constexpr std::array rows = {&lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab down", "Everything that the lab made is gone."},
    Example{"sluice lab down disk", "Only that device, with what was mounted on it."},
};

Result<Output> run(const Context& context) {
  const std::string folder = lab::lab_folder(context.options);
  const auto& operands = context.options.operands();
  Output out;
  const auto inside = list_folder(folder);
  if (!lab::is_lab(folder) && (!inside || inside->empty())) {
    out.json = {{"members", Json::array()},
                {"mounts", Json::array()},
                {"loops", Json::array()},
                {"busy", Json::array()}};
    out.text = fmt::format("there is no lab in {}\n", quote(folder));
    return out;
  }
  SLUICE_TRY(const UniqueFd lock, lab::lock_lab(folder));
  SLUICE_TRY(out.json, lab::take_down(folder, operands.empty() ? std::string{} : operands.front()));
  const Json& json = out.json;
  std::vector<std::string> names;
  for (const Json& name : json["members"]) {
    names.push_back(name.get<std::string>());
  }
  out.text =
      fmt::format("removed {}; {} and {}\n", names.empty() ? "nothing but the folder" : join(names, ", "),
                  plural(json["mounts"].size(), "mount"), plural(json["loops"].size(), "loop device"));
  for (const Json& point : json["busy"]) {
    out.text +=
        fmt::format("{} is still in use; it goes when its last user does\n", quote(point.get<std::string>()));
  }
  return out;
}

}  // namespace

extern const Verb verb_lab_down = {
    .name = "lab down",
    .summary = "remove what the lab made: mounts, loop devices, processes, namespaces and files",
    .operands = "[NAME]",
    .least_operands = 0,
    .most_operands = 1,
    .description =
        "Works whatever state the lab is in: after a crash, after kill -9 of any of its processes or of a "
        "command that "
        "was building it, with faults switched on. Running it twice is fine. Everything in devices in memory "
        "is "
        "lost; a file that was given as --backing stays, with all that was written to the device.\n\n"
        "Mounts of the lab's devices are unmounted wherever they are. One that is in use is taken out of the "
        "tree, and "
        "its users get I/O errors.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
