#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/sys.h"
#include "base/text.h"
#include "cli/verb.h"
#include "run/combine.h"
#include "run/recover.h"

namespace sluice {
namespace {

constexpr Option option_dry_run = {.name = "dry-run",
                                   .letter = 'n',
                                   .type = OptionType::flag,
                                   .help = "tell what there is, and write nothing"};
constexpr Option option_give_up = {
    .name = "give-up", .type = OptionType::flag, .help = "forget what cannot be recovered"};
constexpr std::array rows = {&option_dry_run, &option_give_up};

constexpr std::array examples = {
    Example{"sluice recover", "Write what programs that were killed had kept back."},
    Example{"sluice recover --dry-run", "Only look."},
    Example{"sluice recover /fast/scratch", "After a power cut: also the parts of files that are there."},
};

Status check_folder(const std::string& folder) {
  return sys().access((folder + "/.").c_str(), R_OK) == 0
             ? Status()
             : Errno().fail(fmt::format("cannot look into {}", quote(folder)));
}

Result<Output> run(const Context& context) {
  const bool look_only = context.options.flag("dry-run");
  const bool gives_up = context.options.flag("give-up");
  if (look_only && gives_up) {
    return bad_input("--dry-run and --give-up", "give one of them");
  }
  std::vector<Recovered> all = recover_leftovers(look_only  ? Leftovers::looked_at
                                                 : gives_up ? Leftovers::given_up
                                                            : Leftovers::all);
  for (const std::string& folder : context.options.operands()) {
    SLUICE_CHECK(check_folder(folder));
    for (Recovered& one : combine_logs(folder, look_only)) {
      all.push_back(std::move(one));
    }
  }
  Output out;
  Json list = Json::array();
  for (const std::string& line : look_only ? std::vector<std::string>() : describe(all)) {
    out.text += line + "\n";
  }
  for (const Recovered& one : all) {
    if (look_only) {
      out.text += one.outcome == Recovered::Outcome::lives
                      ? describe(one) + "\n"
                      : fmt::format("{} bytes of {} at offset {}\n", one.bytes, escape(one.path), one.offset);
    }
    list.push_back(recovered_json(one));
  }
  if (all.empty()) {
    out.text = "nothing was left behind\n";
  }
  out.json = {{"recovered", std::move(list)}};
  out.status = !look_only && std::any_of(all.begin(), all.end(),
                                         [](const Recovered& one) {
                                           return one.outcome == Recovered::Outcome::failed ||
                                                  one.outcome == Recovered::Outcome::lost;
                                         })
                   ? 1
                   : 0;
  return out;
}

}  // namespace

extern const Verb verb_recover = {
    .name = "recover",
    .summary = "write what programs that were killed had kept back of their files",
    .operands = "[FOLDER...]",
    .most_operands = 1000,
    .description =
        "Stages such as `writeback` keep writes back in memory that outlives the program. Where the program "
        "and `sluice run` were both killed, this writes them: into the file, where it is provably the one "
        "they "
        "belong to and has not been changed since (its handle, size, mtime and ctime are as they were); else "
        "beside it, as NAME.sluice-recovered, which holds the bytes alone. What belongs to a file that was "
        "removed is dropped. Newer data is never written over.\n\n"
        "Every other command of Sluice does the same when it starts; where one is at it, this waits for it. "
        "What the memory of a machine held is "
        "gone "
        "when it is switched off; what a program had synced of a file that is in parts (`rewrite` with "
        "combine=yes) "
        "is then in the folder of the parts: name it, and they are brought together.\n\n"
        "A program that still runs writes by itself what it keeps back; that is said. A file of `rewrite` "
        "that "
        "it has open comes home when it has ended and this is called again.\n\n"
        "What cannot be recovered, because somebody removed it where it was for instance, is kept and tried "
        "again "
        "by every `sluice run`, until --give-up says that it is to be forgotten.\n\n"
        "Exit status: 0 done, 1 where something could not be written, which is kept then, or is lost, 2 "
        "wrong "
        "usage.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
