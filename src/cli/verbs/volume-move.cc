#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"
#include "fronts/volume/files.h"

namespace sluice {
namespace {

constexpr Option option_to = {.name = "to", .type = OptionType::text, .argument = "TIER", .help = "where to"};
constexpr Option option_chunks = {.name = "chunks",
                                  .type = OptionType::text,
                                  .argument = "FIRST[-LAST]",
                                  .help = "which chunks, instead of files",
                                  .repeatable = true};
constexpr Option option_replicate = {.name = "replicate", .help = "a further copy there"};
constexpr Option option_prefetch = {.name = "prefetch", .help = "a copy in the prefetch buffer"};
constexpr Option option_drop = {.name = "drop", .help = "the further copies go"};
constexpr Option option_wait = {.name = "wait", .help = "until all of it is done"};
constexpr std::array rows = {&option_to,   &option_chunks, &option_replicate,      &option_prefetch,
                             &option_drop, &option_wait,   &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume move data /mnt/db/table --to fast --wait", "The file's chunks."},
    Example{"sluice volume move data --chunks 0-99 --to slow", "The first hundred chunks."}};

Result<std::pair<std::uint64_t, std::uint64_t>> parse_chunks(const std::string& text) {
  const std::size_t dash = text.find('-');
  SLUICE_TRY(const std::uint64_t first, parse_count(text.substr(0, dash)));
  std::uint64_t last = first;
  if (dash != std::string::npos) {
    SLUICE_TRY(last, parse_count(text.substr(dash + 1)));
  }
  if (last < first) {
    return bad_input(fmt::format("{} ends before it begins", quote(text)));
  }
  return std::pair(first, last - first + 1);
}

Status wait_for_moves(const volume::VolumeFolder& folder) {
  while (true) {
    SLUICE_TRY(const Json stat, ask_volume(folder, "stat"));
    if (stat.at("queued").get<std::uint64_t>() + stat.at("moving").get<std::uint64_t>() == 0) {
      if (const auto pending = stat.at("pending").get<std::uint64_t>(); pending > 0) {
        return fail(fmt::format("{} operations wait for space", pending), "demote or drain something first");
      }
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  const int kinds = static_cast<int>(options.flag("replicate")) + static_cast<int>(options.flag("prefetch")) +
                    static_cast<int>(options.flag("drop"));
  if (kinds > 1) {
    return bad_input("--replicate, --prefetch and --drop exclude each other");
  }
  Json request = {{"action", options.flag("replicate")  ? "replicate"
                             : options.flag("prefetch") ? "prefetch"
                             : options.flag("drop")     ? "drop"
                                                        : "migrate"}};
  if (options.given("to")) {
    request["to"] = options.text("to");
  } else if (kinds == 0 || options.flag("replicate")) {
    return bad_input("to which tier?", "give --to TIER");
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Options::Value& value : options.all("chunks")) {
    SLUICE_TRY(const auto range, parse_chunks(value.text));
    ranges.push_back(range);
  }
  SLUICE_TRY(const Json status, ask_volume(folder, "status"));
  const std::uint64_t chunk_size = status.at("chunk_size");
  for (std::size_t i = 1; i < options.operands().size(); ++i) {
    SLUICE_TRY(const volume::FileExtents file,
               volume::file_extents(options.operands()[i], volume::attached_devices(folder)));
    for (const volume::Extent& extent : file.extents) {
      const std::uint64_t first = extent.offset / chunk_size;
      ranges.emplace_back(first, (extent.offset + extent.length - 1) / chunk_size - first + 1);
    }
  }
  if (ranges.empty()) {
    return bad_input("which chunks?", "name files on the volume, or give --chunks FIRST-LAST");
  }
  std::uint64_t queued = 0;
  for (const auto& [first, count] : ranges) {
    request["first"] = first;
    request["count"] = count;
    SLUICE_TRY(const Json answer, ask_volume(folder, "operate", request));
    queued += answer.at("queued").get<std::uint64_t>();
  }
  if (options.flag("wait")) {
    SLUICE_CHECK(wait_for_moves(folder));
  }
  Output out;
  out.json = {{"name", folder.name()}, {"queued", queued}};
  out.text =
      fmt::format("{}: {} chunks {}\n", folder.name(), queued, options.flag("wait") ? "done" : "queued");
  return out;
}

}  // namespace

extern const Verb verb_volume_move = {
    .name = "volume move",
    .summary = "move chunks or files of a volume to another tier",
    .operands = "NAME [FILE...]",
    .least_operands = 1,
    .most_operands = 1000,
    .description =
        "Chunks go while they are used. With --replicate they get a further copy there instead, with "
        "--prefetch a copy in the prefetch buffer, with --drop their further copies go.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
