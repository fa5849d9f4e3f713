#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_foreground = {
    .name = "foreground", .help = "serve in this process until a signal comes, instead of in the background"};
constexpr std::array rows = {&option_foreground, &volume::option_volumes};
constexpr std::array examples = {Example{"sluice volume serve data", "Prints the file that it is."}};

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  const bool foreground = context.options.flag("foreground");
  if (foreground && context.json) {
    return bad_input("--foreground has nothing to say in JSON", "use `sluice volume status --json`");
  }
  Output out;
  SLUICE_TRY(out.json, volume::serve_volume(folder, foreground,
                                            [&] { fmt::print(stderr, "{}\n", escape(folder.disk())); }));
  if (foreground) {
    return Output{};
  }
  for (const Json& warning : out.json.at("warnings")) {
    out.text += fmt::format("warning: {}\n", escape(warning.get<std::string>()));
  }
  out.text += escape(folder.disk()) + "\n";
  return out;
}

}  // namespace

extern const Verb verb_volume_serve = {
    .name = "volume serve",
    .summary = "serve a volume, in the background or here",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Opens the tiers and shows the volume as a file, VOLUMES/NAME/disk, which `sluice volume attach` "
        "makes a block device of. A tier that is missing is left out: what has a copy elsewhere can be read, "
        "the rest answers errors.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
