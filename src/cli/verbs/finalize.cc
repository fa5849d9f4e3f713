#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "cli/placing_input.h"
#include "placing/back.h"
#include "placing/pace.h"
#include "plan/storage.h"

namespace sluice {
namespace {

constexpr Option option_all = {.name = "all", .letter = 'a', .help = "everything that is placed"};
constexpr Option option_jobs = {.name = "jobs",
                                .type = OptionType::count,
                                .argument = "N",
                                .range = "1..64",
                                .fallback = "1",
                                .help = "so many paths at once"};
constexpr Option option_bandwidth = {.name = "bandwidth",
                                     .type = OptionType::size,
                                     .argument = "SIZE",
                                     .range = "64K..",
                                     .help = "at most so many bytes a second, all together"};
constexpr Option option_when_idle = {
    .name = "when-idle",
    .help =
        "before each path, wait until its devices worked less than a tenth of a second; what has no count of "
        "that "
        "in /proc/diskstats waits until the load is below the number of processors"};
constexpr std::array rows = {&option_all,       &option_jobs,    &option_bandwidth,
                             &option_when_idle, &option_timeout, &option_catalog};

constexpr std::array examples = {
    Example{"sluice finalize out.dat", "The data is at out.dat, and gone from the place."},
    Example{"sluice finalize --all --jobs 4 --bandwidth 200M --when-idle", "At night."},
};

// Works through the paths with a catalog of its own.
class Worker {
 public:
  Worker(const Context& context, const std::vector<std::string>& paths, Pace& pace, std::vector<Settled>& all,
         std::atomic<std::size_t>& next)
      : context_(context), paths_(paths), pace_(pace), all_(all), next_(next) {}

  void run(Catalog& catalog) {
    const bool when_idle = context_.options.flag("when-idle");
    if (when_idle) {
      yield_to_others();
    }
    for (std::size_t i = next_++; i < paths_.size(); i = next_++) {
      // What does not answer keeps nobody else waiting.
      if (const Status reached = check_answers(context_, catalog, paths_[i]); !reached) {
        all_[i] = settled(paths_[i], reached.error());
        continue;
      }
      if (when_idle) {
        wait_until_idle({folder_of(absolute(paths_[i], current_folder())), paths_[i]});
      }
      all_[i] = settled(
          paths_[i], bring_back(catalog, paths_[i], WithoutLink::keep, by_places(context_), pace_.go_on()));
    }
  }

 private:
  const Context& context_;
  const std::vector<std::string>& paths_;
  Pace& pace_;
  std::vector<Settled>& all_;
  std::atomic<std::size_t>& next_;
};

Result<std::vector<std::string>> wanted(const Context& context, Catalog& catalog) {
  std::vector<std::string> out = context.options.operands();
  const bool all = context.options.flag("all");
  if (all && !out.empty()) {
    return bad_input("--all and paths contradict each other", "keep one of them");
  }
  if (out.empty()) {
    SLUICE_TRY(const auto placed, catalog.placements());
    for (const PlacementRow& row : placed) {
      out.push_back(row.path);
    }
    if (!all && !out.empty()) {
      return bad_input(fmt::format("no path is named, and {} are placed", out.size()),
                       "name paths, or give --all");
    }
  }
  return out;
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(const auto catalog, open_journal(context));
  SLUICE_TRY(const std::vector<std::string> paths, wanted(context, *catalog));
  Progress progress;
  std::atomic<std::size_t> next = 0;
  const std::optional<double> rate =
      context.options.given("bandwidth")
          ? std::optional(static_cast<double>(context.options.count("bandwidth")))
          : std::nullopt;
  Pace pace(rate, [&](std::uint64_t bytes) {
    progress.show(fmt::format("{} of {} paths, {}", std::min(next.load(), paths.size()), paths.size(),
                              human_size(bytes)));
  });
  std::vector<Settled> all(paths.size());
  Worker worker(context, paths, pace, all, next);
  {
    std::vector<std::jthread> helpers;
    const std::size_t jobs = std::min<std::size_t>(context.options.count("jobs"), paths.size());
    for (std::size_t i = 1; i < jobs; ++i) {
      helpers.emplace_back([&] {
        const auto own = open_catalog(context.options.text("catalog"), Catalog::Mode::write);
        if (own) {
          worker.run(**own);
        } else {
          log::warn("fewer paths at once: {}", own.error().text());
        }
      });
    }
    worker.run(*catalog);
  }
  return describe(all);
}

}  // namespace

extern const Verb verb_finalize = {
    .name = "finalize",
    .summary = "bring placed data to where the user wanted it",
    .operands = "[PATH]...",
    .least_operands = 0,
    .most_operands = 100000,
    .description =
        "The data of each path is copied beside its link with all that is said of it (holes, mode, owner, "
        "times, "
        "access lists, attributes), synced, read again and compared, and takes the link's place at once; "
        "then the "
        "source is removed. A folder comes as a whole.\n\n"
        "A file that somebody has open is reported busy, with who; whoever opens one for writing while it is "
        "copied makes the copy begin again. Too little room is told before anything is copied. Where the "
        "path is "
        "no link to the data any more, because somebody removed or replaced it, the data is left where it "
        "is. "
        "Whatever is killed, the data is whole in one place or the other, and the next command finishes "
        "it.\n\n"
        "Exit status: 0 done, 1 where something could not be brought home (it is where it was then, or was "
        "lost "
        "with a place that forgets), 2 wrong usage or bad input.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
