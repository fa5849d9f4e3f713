#include <fmt/format.h>

#include <array>

#include "base/json.h"
#include "base/text.h"
#include "cli/intent_input.h"
#include "cli/place_input.h"
#include "cli/placing_input.h"
#include "cli/plan_text.h"
#include "placing/pace.h"
#include "placing/place.h"
#include "plan/json.h"

namespace sluice {
namespace {

constexpr Option option_adopt = {.name = "adopt",
                                 .help = "move what is at PATH, a file or a whole folder, and link to it"};
constexpr Option option_folder = {.name = "folder", .help = "PATH will be a folder: an empty one is made"};
constexpr Option option_explain = {.name = "explain", .help = "show the plan and the arithmetic behind it"};
constexpr std::array rows = {&option_adopt,   &option_folder,  &option_rules,   &option_sigdef,
                             &option_explain, &option_timeout, &option_catalog, &option_corrections};

constexpr std::array examples = {
    Example{"sluice place out.dat 'temp sequential write totalsize(20G)'",
            "What a program will write to out.dat goes to the fastest place that has the room."},
    Example{"sluice place --adopt data 'random read'", "A folder that is there already moves."},
    Example{"sluice finalize out.dat", "The data is where it was wanted; the link is gone."},
};

Result<Output> run(const Context& context) {
  const auto& operands = context.options.operands();
  const bool adopts = context.options.flag("adopt");
  if (adopts && context.options.flag("folder")) {
    return bad_input("--adopt and --folder contradict each other", "--adopt takes folders as they are");
  }
  SLUICE_CHECK(check_answers(context, operands.front()));
  SLUICE_TRY(const std::string path, placing_path(operands.front()));
  SLUICE_TRY(const IntentInput input, read_intent(context, path, std::span(operands).subspan(1)));
  SLUICE_TRY(const auto catalog, open_journal(context));
  std::optional<std::uint64_t> size;
  if (adopts) {
    SLUICE_TRY(const auto placed, catalog->find_placement(path));
    if (!placed) {
      SLUICE_TRY(size, data_size(path));
    }
  }
  SLUICE_TRY(const Storage storage, read_places(context, true, true));
  const Intent intent = placing_intent(storage.found, path, input.merged.intent, size.value_or(0));
  const Plan plan = make_plan(intent, storage.found.places, storage.profiles);
  Progress progress;
  Pace pace(std::nullopt, [&](std::uint64_t bytes) {
    progress.show(fmt::format("moved {} of {}", human_size(bytes), human_size(size.value_or(0))));
  });
  SLUICE_TRY(const Placed placed,
             adopts ? adopt(*catalog, storage.found, plan, path, pace.go_on())
                    : place_new(*catalog, storage.found, plan, path, context.options.flag("folder")));
  const Ranked& best = plan.ranking.front();
  Output out;
  put_bytes(out.json, "path", placed.path);
  put_bytes(out.json, "target", placed.target);
  out.json["elsewhere"] = placed.elsewhere();
  out.json["place"] = best.place;
  out.json["bytes"] = size.value_or(0);
  out.json["plan"] = to_json(plan, storage.warnings);
  if (context.options.flag("explain")) {
    out.text = advice_text(plan, true, context.style) + "\n";
  }
  out.text += placed.elsewhere()
                  ? fmt::format("{} is on {}: {}\n", escape(placed.path), best.place, escape(placed.target))
                  : fmt::format("{} stays where it is: {} is the best place already\n", escape(placed.path),
                                best.place);
  return out;
}

}  // namespace

extern const Verb verb_place = {
    .name = "place",
    .summary = "put a path on the place that suits its intent, and leave a link",
    .operands = "PATH [WORD]...",
    .least_operands = 1,
    .most_operands = 10000,
    .description =
        "For programs that cannot be changed. The place is chosen as `sluice advise` does, its folder for "
        "this user "
        "is "
        "made (sluice-placed-UID, which only he can look into), and PATH becomes a link into it. What a "
        "program "
        "creates "
        "at PATH, without O_EXCL, is then there. `sluice finalize` brings the data to PATH itself, `sluice "
        "undo` "
        "makes it as if nothing had been, `sluice status` tells what is where.\n\n"
        "Data that would survive a reboot at PATH is put only where it does, too, unless the intent says "
        "temp. "
        "Where "
        "PATH is on the best place already, nothing is done, and that is said.\n\n"
        "With --adopt, what is at PATH is copied with all that is said of it, synced and compared before the "
        "link "
        "takes its place. A file that somebody has open is reported busy; whoever opens one for writing "
        "meanwhile makes the copy begin again. A command that is killed leaves the old or the new state, and "
        "the "
        "next one finishes it.\n\n"
        "Exit status: 0 done, 1 where no place can take it, or PATH cannot be placed (nothing was changed "
        "then), "
        "2 wrong usage or bad input.",
    .options = rows,
    .examples = examples,
    .sections = vocabulary_section,
    .run = run,
};

}  // namespace sluice
