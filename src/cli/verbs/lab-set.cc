#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/verb.h"
#include "lab/service.h"

namespace sluice {
namespace {

constexpr std::array rows = {&lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab set disk latency=2ms", "Reads and writes take 2 ms from now on."},
    Example{"sluice lab set disk preset=none", "As fast as it can, to fill it quickly."},
    Example{"sluice lab set disk preset=hdd rpm=5400", "A slow disk."},
    Example{"sluice lab set net rtt=80ms", "A longer link."},
};

Result<Output> run(const Context& context) {
  const auto& operands = context.options.operands();
  SLUICE_TRY(const lab::Member member, lab::find_member(lab::lab_folder(context.options), operands.front()));
  const std::string words = join(std::span(operands).subspan(1), " ");
  Output out;
  SLUICE_TRY(out.json, lab::ask(member, fmt::format("set {}", words)));
  out.text = fmt::format("{}: {}\n", member.name(), escape(words));
  return out;
}

}  // namespace

extern const Verb verb_lab_set = {
    .name = "lab set",
    .summary = "change the model of a device, or the round trip of a net, while it runs",
    .operands = "NAME NUMBER=VALUE...",
    .least_operands = 2,
    .most_operands = 100,
    .description =
        "The numbers are those that `sluice lab device --help` lists, and preset=NAME for all of them; of "
        "a net it is rtt. Requests that wait go on by the new numbers; one that is being served keeps its "
        "time, unless by preset=none.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
