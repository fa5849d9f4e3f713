#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "cli/volume_input.h"
#include "fronts/volume/files.h"

namespace sluice {
namespace {

constexpr Option option_class = {.name = "class",
                                 .type = OptionType::choice,
                                 .argument = "CLASS",
                                 .range = "metadata|data",
                                 .help = "what it is"};
constexpr Option option_size = {.name = "size",
                                .type = OptionType::size,
                                .argument = "SIZE",
                                .help = "how large it will be, where it is not that yet"};
constexpr Option option_pattern = {.name = "pattern",
                                   .type = OptionType::choice,
                                   .argument = "PATTERN",
                                   .range = "write-intensive|read-intensive|archival",
                                   .help = "how it is used"};
constexpr Option option_stream = {.name = "stream",
                                  .type = OptionType::count,
                                  .argument = "N",
                                  .range = "0..65535",
                                  .help = "belongs with other files of this stream"};
constexpr Option option_pin = {.name = "pin", .help = "no policy moves it"};
constexpr Option option_unpin = {.name = "unpin", .help = "policies may move it again"};
constexpr Option option_prefetch = {.name = "prefetch",
                                    .help = "copy it into the prefetch buffer: it will be read"};
constexpr Option option_now = {.name = "now", .help = "move it to where the rules want it now"};
constexpr std::array rows = {&option_class,    &option_size, &option_pattern,
                             &option_stream,   &option_pin,  &option_unpin,
                             &option_prefetch, &option_now,  &volume::option_volumes};
constexpr std::array examples = {
    Example{"sluice volume hint data /mnt/data/*.idx --pattern read-intensive --now", "Index files."},
    Example{"sluice volume hint data /mnt/data/movie --prefetch", "It will be read soon."}};

Result<Output> run(const Context& context) {
  const Options& options = context.options;
  SLUICE_TRY(const volume::VolumeFolder folder, volume_of(context));
  Json hint = Json::object();
  for (const char* word : {"class", "pattern"}) {
    if (options.given(word)) {
      hint[word] = options.text(word);
    }
  }
  if (options.given("stream")) {
    hint["stream"] = options.count("stream");
  }
  if (options.flag("pin") && options.flag("unpin")) {
    return bad_input("--pin and --unpin exclude each other");
  }
  if (options.flag("pin") || options.flag("unpin")) {
    hint["pin"] = options.flag("pin");
  }
  hint["prefetch"] = options.flag("prefetch");
  hint["now"] = options.flag("now");
  Output out;
  out.json = {{"name", folder.name()}, {"files", Json::array()}};
  for (std::size_t i = 1; i < options.operands().size(); ++i) {
    const std::string& path = options.operands()[i];
    SLUICE_TRY(const volume::FileExtents file, volume::file_extents(path, volume::attached_devices(folder)));
    hint["size"] = options.given("size") ? options.count("size") : file.size;
    hint["ranges"] = Json::array();
    for (const volume::Extent& extent : file.extents) {
      hint["ranges"].push_back({extent.offset, extent.length});
    }
    SLUICE_TRY(const Json answer, ask_volume(folder, "hint", hint));
    Json row;
    put_bytes(row, "file", path);
    row["chunks"] = answer.at("chunks");
    row["unplaced"] = file.unplaced;
    out.text +=
        fmt::format("{}: {} chunks{}\n", escape(path), answer.at("chunks").get<std::uint64_t>(),
                    file.unplaced > 0 ? ", and some of it has no place yet: sync, and say it again" : "");
    out.json["files"].push_back(std::move(row));
  }
  return out;
}

}  // namespace

extern const Verb verb_volume_hint = {
    .name = "volume hint",
    .summary = "tell a volume what its files are",
    .operands = "NAME FILE...",
    .least_operands = 2,
    .most_operands = 10000,
    .description =
        "What is said counts for the chunks that the files are on, at once with --now, and for the policy "
        "`hints` from its next run on. A chunk that several files share takes the class of the smallest. The "
        "size is the file's own unless it is given.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
