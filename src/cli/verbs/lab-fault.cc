#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/verb.h"
#include "lab/faults.h"
#include "lab/service.h"
#include "lab/wire_command.h"

namespace sluice {
namespace {

constexpr std::array rows = {&lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab fault disk eio write range=1M-2M", "Writes to the second megabyte fail from now on."},
    Example{"sluice lab fault disk delay 2s read rate=0.01",
            "One read in a hundred takes two seconds longer."},
    Example{"sluice lab fault disk power-cut", "What was not flushed is lost, and the device is dead."},
    Example{"sluice lab fault disk revive", "It has power again."},
    Example{"sluice lab fault net cut", "Resets every connection across that net."},
};

std::vector<Section> sections() {
  return {{.title = "Faults of a device", .rows = lab::fault_commands()},
          {.title = "Faults of a net", .rows = lab::wire_commands()}};
}

Result<Output> run(const Context& context) {
  const auto& operands = context.options.operands();
  SLUICE_TRY(const lab::Member member, lab::find_member(lab::lab_folder(context.options), operands.front()));
  if (operands[1] == "set" || operands[1] == "status") {
    return bad_input(fmt::format("{} is no fault", quote(operands[1])),
                     fmt::format("use `sluice lab {}`", operands[1]));
  }
  const std::string command = join(std::span(operands).subspan(1), " ");
  Output out;
  SLUICE_TRY(out.json, lab::ask(member, command));
  const Json& faults = out.json["faults"];
  std::vector<std::string> words;
  for (const Json& fault : faults) {
    words.push_back(fault.get<std::string>());
  }
  out.text = fmt::format("{} is {}; faults: {}\n", member.name(), out.json.value("state", "there"),
                         words.empty() ? "none" : join(words, ", "));
  return out;
}

}  // namespace

extern const Verb verb_lab_fault = {
    .name = "lab fault",
    .summary = "make a device or a net of the lab fail, and recover",
    .operands = "NAME FAULT [WORD]...",
    .least_operands = 2,
    .most_operands = 20,
    .description =
        "Tells the server of NAME through its control socket, which only its owner may use. Faults add up "
        "until "
        "`clear`. The kernel passes on EIO and ENOSPC of a device as they are, and says EIO for EROFS.",
    .options = rows,
    .examples = examples,
    .sections = sections,
    .run = run,
};

}  // namespace sluice
