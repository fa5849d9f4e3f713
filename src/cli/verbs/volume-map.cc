#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"
#include "fronts/volume/files.h"

namespace sluice {
namespace {

constexpr Option option_limit = {.name = "limit",
                                 .type = OptionType::count,
                                 .argument = "N",
                                 .range = "1..",
                                 .fallback = "1000",
                                 .help = "how many chunks are listed at most, without files"};
constexpr std::array rows = {&option_limit, &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume map data", "Its chunks."},
    Example{"sluice volume map data /mnt/db/table", "The tiers that this file is on."}};

// The rows of chunks in [first, end), or all with `end` none.
Result<Json> chunks_of(const volume::VolumeFolder& folder, std::uint64_t first, std::uint64_t end,
                       std::uint64_t limit, std::uint64_t& chunk_size) {
  Json out = Json::array();
  for (Json next = first; !next.is_null() && next.get<std::uint64_t>() < end && out.size() < limit;) {
    SLUICE_TRY(const Json answer,
               ask_volume(folder, "map", {{"first", next}, {"count", limit - out.size()}}));
    chunk_size = answer.at("chunk_size");
    for (const Json& row : answer.at("rows")) {
      if (row.at("chunk").get<std::uint64_t>() < end) {
        out.push_back(row);
      }
    }
    next = answer.at("next");
  }
  return out;
}

std::string hints_text(const Json& row) {
  std::vector<std::string> words;
  const Json hints = row.value("hints", Json::object());
  for (const auto& [key, value] : hints.items()) {
    words.push_back(value.is_boolean() ? key : value.get<std::string>());
  }
  if (row.contains("stream")) {
    words.push_back(fmt::format("stream {}", row.at("stream").get<unsigned>()));
  }
  if (row.value("prefetched", false)) {
    words.emplace_back("prefetched");
  }
  for (const Json& copy : row.value("copies", Json::array())) {
    words.push_back("copy on " + copy.get<std::string>());
  }
  return join(words, ", ");
}

Result<Output> map_files(const Context& context, const volume::VolumeFolder& folder) {
  const auto devices = volume::attached_devices(folder);
  if (devices.empty()) {
    return fail(fmt::format("the volume {} is not attached", quote(folder.name())),
                "files can be looked at while they are mounted");
  }
  Output out;
  out.json = {{"name", folder.name()}, {"files", Json::array()}};
  Table table({{.title = "FILE", .shrink = Shrink::middle},
               {.title = "AT", .align = Align::right},
               {.title = "SIZE", .align = Align::right},
               {.title = "CHUNK", .align = Align::right},
               {.title = "TIER"},
               {.title = "HINTS", .shrink = Shrink::end}});
  const auto& operands = context.options.operands();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    SLUICE_TRY(const volume::FileExtents file, volume::file_extents(operands[i], devices));
    Json row;
    put_bytes(row, "file", operands[i]);
    row["size"] = file.size;
    row["unplaced"] = file.unplaced;
    row["extents"] = Json::array();
    for (const volume::Extent& extent : file.extents) {
      std::uint64_t chunk_size = 1;
      SLUICE_TRY(Json head, ask_volume(folder, "map", {{"first", 0}, {"count", 0}}));
      chunk_size = head.at("chunk_size");
      const std::uint64_t first = extent.offset / chunk_size;
      const std::uint64_t end = (extent.offset + extent.length + chunk_size - 1) / chunk_size;
      SLUICE_TRY(const Json chunks, chunks_of(folder, first, end, end - first, chunk_size));
      for (const Json& chunk : chunks) {
        const std::uint64_t begin =
            std::max(extent.offset, chunk.at("chunk").get<std::uint64_t>() * chunk_size);
        const std::uint64_t stop = std::min(extent.offset + extent.length,
                                            (chunk.at("chunk").get<std::uint64_t>() + 1) * chunk_size);
        Json part = chunk;
        part["logical"] = extent.logical + (begin - extent.offset);
        part["length"] = stop - begin;
        table.add({escape(operands[i]), print_size(part.at("logical")), print_size(stop - begin),
                   fmt::format("{}", chunk.at("chunk").get<std::uint64_t>()), chunk.at("tier"),
                   hints_text(chunk)});
        row["extents"].push_back(std::move(part));
      }
    }
    if (file.unplaced > 0) {
      table.add({escape(operands[i]), "", print_size(file.unplaced), "", "not written yet", ""});
    }
    out.json["files"].push_back(std::move(row));
  }
  out.text = table.print(context.style);
  return out;
}

Result<Output> run(const Context& context) {
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  if (context.options.operands().size() > 1) {
    return map_files(context, folder);
  }
  const std::uint64_t limit = context.options.count("limit");
  std::uint64_t chunk_size = 0;
  Output out;
  SLUICE_TRY(Json chunks, chunks_of(folder, 0, ~std::uint64_t{0}, limit, chunk_size));
  Table table({{.title = "CHUNK", .align = Align::right},
               {.title = "TIER"},
               {.title = "SCORE", .align = Align::right},
               {.title = "HINTS", .shrink = Shrink::end}});
  for (const Json& chunk : chunks) {
    table.add({fmt::format("{}", chunk.at("chunk").get<std::uint64_t>()), chunk.at("tier"),
               fmt::format("{:.1f}", chunk.at("score").get<double>()), hints_text(chunk)});
  }
  out.text = table.print(context.style);
  out.json = {{"name", folder.name()}, {"chunk_size", chunk_size}, {"chunks", std::move(chunks)}};
  return out;
}

}  // namespace

extern const Verb verb_volume_map = {
    .name = "volume map",
    .summary = "where chunks and files of a volume are",
    .operands = "NAME [FILE...]",
    .least_operands = 1,
    .most_operands = 1000,
    .description =
        "Without files: every chunk that was written, with its tier, its score and what hints say of it. "
        "With files of the file system that is mounted from the volume: their extents, and the tiers of "
        "these.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
