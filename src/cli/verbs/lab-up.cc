#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/verb.h"
#include "lab/up.h"

namespace sluice {
namespace {

constexpr Option scale = {
    .name = "scale",
    .type = OptionType::count,
    .argument = "K",
    .range = "1..1000000",
    .fallback = "1",
    .help =
        "divide capacities and latencies by K and keep bandwidths, so that crossovers lie at "
        "sizes divided by K"};
constexpr Option slow_motion = {
    .name = "slow-motion",
    .type = OptionType::count,
    .argument = "F",
    .range = "1..1000000",
    .fallback = "1",
    .help = "multiply all times of all places by F, where latencies are too short to emulate"};
constexpr Option backing = {
    .name = "backing",
    .type = OptionType::path,
    .argument = "DIR",
    .fallback = "memory",
    .help =
        "where the devices' bytes are: a folder, or `memory`, of which they take as much as "
        "was written"};

constexpr std::array rows = {&scale, &slow_motion, &backing, &lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab up", "The places of IOSIG's table 2."},
    Example{"sluice lab up --scale 100 --slow-motion 100",
            "A hundred times smaller, with the latencies of the original."},
    Example{"sluice places --config /run/sluice-lab/sluice.toml", "Looks at them."},
};

Result<Output> run(const Context& context) {
  const std::string folder = lab::lab_folder(context.options);
  lab::UpOptions options{.scale = static_cast<double>(context.options.count("scale")),
                         .slow_motion = static_cast<double>(context.options.count("slow-motion"))};
  if (context.options.text("backing") != "memory") {
    options.backing = absolute(context.options.text("backing"), current_folder());
  }
  SLUICE_TRY(UniqueFd lock, lab::lock_lab(folder));
  Output out;
  {
    Progress progress;
    SLUICE_TRY(out.json,
               lab::bring_up(folder, lock, options, [&](std::string_view text) { progress.show(text); }));
  }
  Table table({{.title = "PLACE"},
               {.title = "PATH", .shrink = Shrink::middle},
               {.title = "MADE OF"},
               {.title = "SIZE", .align = Align::right},
               {.title = "READ", .align = Align::right},
               {.title = "WRITE", .align = Align::right},
               {.title = "LATENCY", .align = Align::right},
               {.title = "SEEK", .align = Align::right}});
  std::string notes;
  for (const Json& place : out.json["places"]) {
    const std::string name = place.value("name", "");
    table.add(
        {name, place.value("path", ""), place.value("filesystem", ""),
         human_size(place.value("capacity", std::uint64_t{0})),
         human_rate(place.value("read_bandwidth", 0.0)), human_rate(place.value("write_bandwidth", 0.0)),
         human_duration(place.value("latency", 0.0)),
         place.value("seek_latency", 0.0) > 0 ? human_duration(place.value("seek_latency", 0.0)) : "none"});
    if (const std::string note = place.value("note", ""); !note.empty()) {
      notes += fmt::format("{}: {}\n", name, note);
    }
  }
  out.text = table.print(context.style) + (notes.empty() ? "" : "\n") + notes;
  out.text += fmt::format("\nlook at them: sluice places --config {}\n", out.json.value("config", ""));
  return out;
}

}  // namespace

extern const Verb verb_lab_up = {
    .name = "lab up",
    .summary = "make a set of mounted places to study: memory, NVRAM, RAID 1, disk and shared",
    .operands = "",
    .least_operands = 0,
    .most_operands = 0,
    .description =
        "Makes the storage of IOSIG's table 2 (ramdisk, NVRAM, a RAID 1 of two SSDs as btrfs, a hard disk, "
        "and a shared "
        "one that is seen at two mount points) as emulated devices with file systems, mounted below LAB/mnt, "
        "and "
        "writes LAB/sluice.toml that describes them. Devices have the names of their places (raid1-a and "
        "raid1-b for "
        "the pair): `sluice lab fault` and `sluice lab set` work on them.\n\n"
        "It says which latencies it cannot honour because this machine is too slow to emulate them; "
        "sluice.toml then "
        "has the latency that comes out. Slow motion helps: all times of all places grow alike.\n\n"
        "Needs root, mkfs.ext4 and mkfs.btrfs (packages e2fsprogs and btrfs-progs). `sluice lab down` "
        "removes all of "
        "it, also what a killed `lab up` left.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
