#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/verb.h"
#include "lab/serve.h"

namespace sluice {
namespace {

constexpr Option model = {.name = "model",
                          .type = OptionType::path,
                          .argument = "PRESET|FILE",
                          .fallback = "none",
                          .help = "how it behaves: a preset, or a file in TOML with numbers as below"};
constexpr Option set = {.name = "set",
                        .type = OptionType::text,
                        .argument = "NAME=VALUE",
                        .help =
                            "change a number of the model; latency and bandwidth mean both of reads and "
                            "of writes",
                        .repeatable = true};
constexpr Option size = {.name = "size",
                         .type = OptionType::size,
                         .argument = "SIZE",
                         .range = "4K..",
                         .fallback = "1G",
                         .help = "how large it is, in multiples of 4K"};
constexpr Option backing = {
    .name = "backing",
    .type = OptionType::path,
    .argument = "FILE",
    .fallback = "memory",
    .help =
        "where its bytes are: a file, which keeps them, or `memory`, of which it takes "
        "as much as was written"};
constexpr Option foreground = {
    .name = "foreground", .help = "serve in this process until a signal comes, instead of in the background"};
constexpr Option no_calibration = {
    .name = "no-calibration",
    .help = "do not measure the overhead of this machine; every latency is then longer by it"};

constexpr std::array rows = {&model, &set, &size, &backing, &foreground, &no_calibration, &lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab device disk --model hdd --size 1G", "A disk; prints the file that is served."},
    Example{"losetup --direct-io=on --find --show /run/sluice-lab/disk/disk", "Makes a block device of it."},
    Example{
        "sluice lab device slow --model ssd --set latency=5ms --set tail-rate=0.05 --set tail-latency=50ms",
        "An SSD that is slower than others, and now and then much slower."},
};

std::vector<Section> sections() {
  Section all_presets{.title = "Presets", .rows = {}};
  for (const lab::Preset& preset : lab::presets()) {
    all_presets.rows.emplace_back(
        preset.name, fmt::format("{}: {}", preset.help, join(lab::print_model(preset.model), " ")));
  }
  Section numbers{.title = "Numbers of a model", .rows = {}};
  for (const lab::ModelField& field : lab::model_fields()) {
    numbers.rows.emplace_back(field.name, field.help);
  }
  return {std::move(all_presets), std::move(numbers)};
}

Result<lab::DeviceOptions> read_options(const Options& options) {
  lab::DeviceOptions out{.name = options.operands().front(),
                         .size = options.count("size"),
                         .foreground = options.flag("foreground")};
  if (options.flag("no-calibration")) {
    out.overhead = lab::Instant::zero();
  }
  SLUICE_TRY(out.model, lab::load_model(options.text("model")));
  for (const Options::Value& value : options.all("set")) {
    SLUICE_CHECK(lab::set_field(out.model, value.text));
  }
  if (options.text("backing") != "memory") {
    out.backing = absolute(options.text("backing"), current_folder());
  }
  SLUICE_CHECK(lab::check(out));
  return out;
}

Result<Output> run(const Context& context) {
  if (context.json && context.options.flag("foreground")) {
    return bad_input("--foreground has nothing to say in JSON", "use `sluice lab status --json`");
  }
  SLUICE_TRY(lab::DeviceOptions options, read_options(context.options));
  const std::string folder = lab::lab_folder(context.options);
  SLUICE_TRY(UniqueFd lock, lab::lock_lab(folder));
  Output out;
  const std::string file = lab::device_file(lab::Member(folder, options.name));
  options.announce = [&] { fmt::print(stderr, "{}\n", escape(file)); };
  SLUICE_TRY(out.json, lab::start_device(folder, lock, options));
  if (options.foreground) {
    return Output{};
  }
  for (const Json& warning : out.json.value("warnings", Json::array())) {
    log::warn("{}: {}", options.name, warning.get<std::string>());
  }
  if (!context.json) {
    out.text = fmt::format("{}\n\nattach it: losetup --direct-io=on --find --show {}\n", file, file);
    if (geteuid() != 0) {
      out.text = fmt::format("{}\n\nwithout root it can be read and written here, but not attached\n", file);
    }
  }
  return out;
}

}  // namespace

extern const Verb verb_lab_device = {
    .name = "lab device",
    .summary = "serve a file that behaves like a device: slow, seeking, failing on command",
    .operands = "NAME",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "Serves LAB/NAME/disk by FUSE, to be attached with losetup --direct-io=on. Each request takes as "
        "long as "
        "the model says; `sluice lab fault` makes it fail, `sluice lab set` changes the model while it runs, "
        "`sluice lab status` tells what it has served, `sluice lab down NAME` ends it.\n\n"
        "What this machine itself adds (FUSE, loop, processes that wake each other) is measured at the start "
        "and "
        "taken off, so latencies of 1 ms and more come out as the model says, within a few percent. A model "
        "file is "
        "TOML:\n\n"
        "  preset = \"hdd\"\n"
        "  seek-full = \"20ms\"\n"
        "  cache = 0\n\n"
        "Without root it needs fusermount3 (package fuse3) and a /dev/fuse that may be opened; the file can "
        "then be "
        "read and written, but loop devices and mounts need root.",
    .options = rows,
    .examples = examples,
    .sections = sections,
    .run = run,
};

}  // namespace sluice
