#include <array>

#include "cli/placing_input.h"
#include "placing/back.h"
#include "placing/pace.h"
#include "plan/storage.h"

namespace sluice {
namespace {

constexpr std::array rows = {&option_timeout, &option_catalog};

constexpr std::array examples = {
    Example{"sluice undo out.dat", "The link is gone, and the data, where there is any, is at out.dat."},
};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const auto catalog, open_journal(context));
  Progress progress;
  Pace pace(std::nullopt, [&](std::uint64_t bytes) { progress.show("brought back " + human_size(bytes)); });
  std::vector<Settled> all;
  for (const std::string& path : context.options.operands()) {
    const Status reached = check_answers(context, *catalog, path);
    all.push_back(reached ? settled(path, bring_back(*catalog, path, WithoutLink::restore, by_places(context),
                                                     pace.go_on()))
                          : settled(path, reached.error()));
  }
  return describe(all);
}

}  // namespace

extern const Verb verb_undo = {
    .name = "undo",
    .summary = "as if a path had never been placed",
    .operands = "PATH...",
    .least_operands = 1,
    .most_operands = 10000,
    .description =
        "The data comes back to PATH as `sluice finalize` brings it, link and record are gone. Where nobody "
        "has "
        "created it yet, the link goes. Where somebody removed the link and nothing else is at PATH, the "
        "data is "
        "brought back all the same: `sluice finalize` leaves it.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
