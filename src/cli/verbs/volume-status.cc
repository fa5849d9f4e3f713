#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr std::array rows = volume_rows;
constexpr std::array examples = {Example{"sluice volume status data", "Its tiers."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  Output out;
  SLUICE_TRY(out.json, ask_volume(folder, "status"));
  out.text = fmt::format("{}: {} in chunks of {}, {} written; policy {}, every {}\n", folder.name(),
                         human_size(out.json.at("size")), print_size(out.json.at("chunk_size")),
                         human_size(out.json.at("mapped")), out.json.at("policy").get<std::string>(),
                         human_duration(out.json.at("interval")));
  for (const Json& warning : out.json.at("warnings")) {
    out.text += fmt::format("warning: {}\n", escape(warning.get<std::string>()));
  }
  out.text += volume_tiers_text(out.json.at("tiers"), context.style);
  return out;
}

}  // namespace

extern const Verb verb_volume_status = {
    .name = "volume status",
    .summary = "the tiers of a volume and how it is served",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description = "Size, tiers with what they hold, policy, and what was wrong when it was opened.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
