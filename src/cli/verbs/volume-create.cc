#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"

namespace sluice {
namespace {

constexpr Option option_tier = {
    .name = "tier",
    .type = OptionType::text,
    .argument = "NAME=PATH[,SIZE][,volatile]",
    .help =
        "a tier, the fastest first: a file (made with that size where it is not there), a "
        "folder (a file is made in it), a block device, or the URI of an NBD server",
    .repeatable = true};
constexpr Option option_chunk = {.name = "chunk-size",
                                 .type = OptionType::size,
                                 .argument = "SIZE",
                                 .range = "64K..1G",
                                 .fallback = "1M",
                                 .help = "what is placed and moved as one; a power of two"};
constexpr Option option_size = {
    .name = "size",
    .type = OptionType::size,
    .argument = "SIZE",
    .range = "64K..",
    .help = "of the volume; by default what the persistent tiers hold, less 2 % for moves"};
constexpr Option option_most = {
    .name = "most-size",
    .type = OptionType::size,
    .argument = "SIZE",
    .range = "64K..",
    .help = "to which the volume may be resized later; by default four times its size"};
constexpr Option option_prefetch = {.name = "prefetch-buffer",
                                    .type = OptionType::size,
                                    .argument = "SIZE",
                                    .fallback = "0",
                                    .help = "how much of the fastest tier `prefetch` may use"};
constexpr Option option_policy = {.name = "policy",
                                  .type = OptionType::choice,
                                  .argument = "NAME",
                                  .range = "heat|hints|none",
                                  .fallback = "heat",
                                  .help = "what moves chunks by itself"};
constexpr Option option_interval = {.name = "interval",
                                    .type = OptionType::duration,
                                    .argument = "TIME",
                                    .range = "1s..",
                                    .fallback = "5m",
                                    .help = "between two runs of the policy"};
constexpr Option option_scheduler = {.name = "scheduler",
                                     .type = OptionType::choice,
                                     .argument = "NAME",
                                     .range = "adaptive|queues|fifo",
                                     .fallback = "adaptive",
                                     .help = "how requests and movers share a tier"};
constexpr Option option_rate = {
    .name = "move-rate",
    .type = OptionType::size,
    .argument = "SIZE",
    .fallback = "0",
    .help = "how much movers copy in a second at most; 0 is as the scheduler lets them"};
constexpr Option option_update = {
    .name = "update-copies",
    .help = "a write updates the further copies of a chunk instead of dropping them"};
constexpr Option option_force = {.name = "force",
                                 .help = "use tiers that hold something; what is on them is lost"};
constexpr Option option_adopt = {
    .name = "adopt", .help = "describe a volume that is on these tiers already, instead of making one"};

constexpr std::array rows = {&option_tier,           &option_chunk,  &option_size,     &option_most,
                             &option_prefetch,       &option_policy, &option_interval, &option_scheduler,
                             &option_rate,           &option_update, &option_force,    &option_adopt,
                             &volume::option_volumes};

constexpr std::array examples = {
    Example{"sluice volume create data --tier fast=/mnt/nvme,20G --tier slow=/dev/sdb",
            "20 GiB on the NVMe's file system before a whole disk."},
    Example{"sluice volume create data --tier fast=/mnt/nvme,2G --tier far=nbd://store/export",
            "Storage of another machine behind a local one."},
};

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  const std::string& name = options.operands().front();
  const volume::VolumeFolder folder(volume::volumes_folder(options), name);
  volume::Description description;
  for (const Options::Value& value : options.all("tier")) {
    SLUICE_TRY(volume::TierSpec tier, volume::parse_tier(value.text, name));
    description.tiers.push_back(std::move(tier));
  }
  if (description.tiers.empty()) {
    return bad_input("a volume needs a tier", "give --tier NAME=PATH[,SIZE] once or more, the fastest first");
  }
  const tier::VolumePlan plan{.chunk_size = options.count("chunk-size"),
                              .size = options.given("size") ? options.count("size") : 0,
                              .most_size = options.given("most-size") ? options.count("most-size") : 0};
  description.prefetch_slots = options.count("prefetch-buffer") / plan.chunk_size;
  description.policy = options.text("policy");
  description.interval = options.duration("interval").in_seconds();
  description.scheduler = options.text("scheduler");
  description.move_rate = static_cast<double>(options.count("move-rate"));
  description.update_copies = options.flag("update-copies");
  Output out;
  if (options.flag("adopt")) {
    SLUICE_TRY(out.json, volume::adopt_volume(folder, description));
  } else {
    SLUICE_TRY(out.json, volume::create_volume(folder, description, plan, options.flag("force")));
  }
  out.text = fmt::format("{}: {} in chunks of {}; serve it with `sluice volume serve {}`\n", name,
                         human_size(out.json.at("size")), print_size(out.json.at("chunk_size")), name);
  return out;
}

}  // namespace

extern const Verb verb_volume_create = {
    .name = "volume create",
    .summary = "make a block volume over several kinds of storage",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "The volume's data is divided into chunks, each of which is on one of the tiers and may move while "
        "it is "
        "used. The two fastest persistent tiers keep the map of it. A volatile tier (memory, or what is said "
        "to be "
        "so) gets further copies alone, so that nothing is lost with it.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
