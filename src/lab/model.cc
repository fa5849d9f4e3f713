#include "lab/model.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/toml.h"
#include "base/units.h"

namespace sluice::lab {
namespace {

constexpr double mega = 1024.0 * 1024.0;

constexpr std::array fields = std::to_array<ModelField>({
    {"read-latency", Quantity::duration, &Model::read_latency,
     "time of every read, in the mean, before any byte moves"},
    {"write-latency", Quantity::duration, &Model::write_latency, "the same of every write to the medium"},
    {"flush-latency", Quantity::duration, &Model::flush_latency,
     "time of a flush on top of emptying the cache"},
    {"spread", Quantity::number, &Model::spread,
     "standard deviation of the latencies divided by their mean; they are log-normal then, 0 = all alike"},
    {"tail-rate", Quantity::fraction, &Model::tail_rate, "share of requests that wait much longer"},
    {"tail-latency", Quantity::duration, &Model::tail_latency, "how much longer, in the mean; exponential"},
    {"seek", Quantity::duration, &Model::seek,
     "time to move to the next track; paid by a request that does not continue the one before it"},
    {"seek-full", Quantity::duration, &Model::seek_full,
     "time to move over the whole device; between the two it grows with the square root of the distance"},
    {"rpm", Quantity::number, &Model::rpm, "revolutions a minute; the sector must come round"},
    {"read-bandwidth", Quantity::rate, &Model::read_bandwidth, "bytes a second, of all reads together"},
    {"write-bandwidth", Quantity::rate, &Model::write_bandwidth,
     "bytes a second, of all writes to the medium together"},
    {"block", Quantity::size, &Model::block,
     "what the medium writes at once: a write that covers a part of a block first reads that block"},
    {"parallel", Quantity::count, &Model::parallel, "requests that are served at the same time"},
    {"queue-depth", Quantity::count, &Model::queue_depth,
     "waiting requests among which the device chooses the nearest to its head"},
    {"iops", Quantity::number, &Model::iops,
     "requests a second at most; those that continue one another count as one"},
    {"cache", Quantity::size, &Model::cache,
     "write cache; written through to the medium when idle, and emptied by a flush"},
    {"cache-latency", Quantity::duration, &Model::cache_latency, "time of a write into the cache"},
    {"cache-bandwidth", Quantity::rate, &Model::cache_bandwidth, "bytes a second into the cache"},
    {"volatile", Quantity::flag, &Model::volatile_,
     "true: a power cut loses everything, not only what was not flushed"},
    {"seed", Quantity::count, &Model::seed, "of the random numbers"},
});

// ram, nvram and raid1 are those of IOSIG's table 2. Its disk with 150 ms an operation is no ordinary one;
// `lab up` has it.
constexpr std::array table = std::to_array<Preset>({
    {"none", "as fast as this machine can", {}},
    {"ram",
     "a disk in memory: 1 us, 2.3 GB/s, loses everything",
     {.read_latency = 1e-6,
      .write_latency = 1e-6,
      .read_bandwidth = 2300 * mega,
      .write_bandwidth = 2400 * mega,
      .parallel = 8,
      .iops = 800'000,
      .volatile_ = 1}},
    {"nvram",
     "non-volatile memory: 0.1 ms, 1.7 GB/s, every write is safe at once",
     {.read_latency = 100e-6,
      .write_latency = 100e-6,
      .read_bandwidth = 1700 * mega,
      .write_bandwidth = 1700 * mega,
      .iops = 9000}},
    {"ssd",
     "a SATA SSD: 0.12 ms with a tail, 8 at a time, 64 MiB of cache",
     {.read_latency = 120e-6,
      .write_latency = 200e-6,
      .flush_latency = 500e-6,
      .spread = 0.2,
      .tail_rate = 0.001,
      .tail_latency = 3e-3,
      .read_bandwidth = 500 * mega,
      .write_bandwidth = 450 * mega,
      .parallel = 8,
      .iops = 75'000,
      .cache = 64 * mega,
      .cache_latency = 50e-6,
      .cache_bandwidth = 530 * mega}},
    {"hdd",
     "a disk of 7200 rpm: 0.8 to 16 ms of seek, 130 MB/s, 64 MiB of cache",
     {.read_latency = 100e-6,
      .write_latency = 100e-6,
      .flush_latency = 1e-3,
      .seek = 0.8e-3,
      .seek_full = 16e-3,
      .rpm = 7200,
      .read_bandwidth = 130 * mega,
      .write_bandwidth = 125 * mega,
      .cache = 64 * mega,
      .cache_latency = 100e-6,
      .cache_bandwidth = 250 * mega}},
    {"raid1",
     "a mirror of two SSDs as one device: 0.11 ms, 430 MB/s, reads two at a time",
     {.read_latency = 110e-6,
      .write_latency = 110e-6,
      .flush_latency = 500e-6,
      .read_bandwidth = 430 * mega,
      .write_bandwidth = 415 * mega,
      .parallel = 2,
      .iops = 6000,
      .cache = 64 * mega,
      .cache_latency = 50e-6,
      .cache_bandwidth = 415 * mega}},
    {"cloud",
     "a volume in the network: 1 ms with a long tail, 3000 requests a second, 125 MB/s",
     {.read_latency = 1e-3,
      .write_latency = 1.5e-3,
      .flush_latency = 1e-3,
      .spread = 0.3,
      .tail_rate = 0.01,
      .tail_latency = 10e-3,
      .read_bandwidth = 125 * mega,
      .write_bandwidth = 125 * mega,
      .parallel = 64,
      .iops = 3000}},
});

Result<double> parse_value(const ModelField& field, std::string_view text) {
  switch (field.quantity) {
    case Quantity::duration: {
      if (text == "0") {
        return 0.0;
      }
      SLUICE_TRY(const Duration value, parse_duration(text));
      return value.in_seconds();
    }
    case Quantity::rate:
      return parse_rate(text);
    case Quantity::size: {
      SLUICE_TRY(const std::uint64_t value, parse_size(text));
      return static_cast<double>(value);
    }
    case Quantity::count: {
      SLUICE_TRY(const std::uint64_t value, parse_count(text));
      return static_cast<double>(value);
    }
    case Quantity::flag:
      if (text == "true" || text == "false") {
        return text == "true" ? 1.0 : 0.0;
      }
      return bad_input(fmt::format("{} is neither true nor false", quote(text)));
    case Quantity::number:
    case Quantity::fraction:
      break;
  }
  return parse_number(text);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out = {"latency", "bandwidth"};
  for (const ModelField& field : fields) {
    out.push_back(field.name);
  }
  return out;
}

// The fields that a name means: one, or for "latency" and "bandwidth" that of reads and that of writes.
std::vector<const ModelField*> find_fields(std::string_view name) {
  std::vector<const ModelField*> out;
  for (const ModelField& field : fields) {
    const bool both =
        (name == "latency" || name == "bandwidth") &&
        (field.name == fmt::format("read-{}", name) || field.name == fmt::format("write-{}", name));
    if (both || field.name == name) {
      out.push_back(&field);
    }
  }
  return out;
}

Status set_value(Model& model, std::string_view name, std::string_view text) {
  const auto found = find_fields(name);
  if (found.empty()) {
    const std::string meant = did_you_mean(name, names());
    return bad_input(fmt::format("a model has no {}", quote(name)),
                     meant.empty() ? "`sluice lab device --help` lists its numbers" : meant);
  }
  for (const ModelField* field : found) {
    auto value = parse_value(*field, trim(text));
    if (!value) {
      return std::move(value).error().within(name);
    }
    model.*field->member = *value;
  }
  return {};
}

Result<Model> find_preset(std::string_view name) {
  std::vector<std::string> known;
  for (const Preset& preset : table) {
    if (preset.name == name) {
      return preset.model;
    }
    known.emplace_back(preset.name);
  }
  return bad_input(fmt::format("there is no preset {}", quote(name)),
                   fmt::format("presets are {}", join(known, ", ")));
}

// A value of a model file, as it would be typed.
std::string typed(const toml::node& node, const ModelField& field) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto value = node.value<double>(); value && node.is_number()) {
    // A bare number is seconds, bytes or bytes a second, as in every file of Sluice.
    return field.quantity == Quantity::duration && *value >= 0 ? print(Duration::from_seconds(*value))
                                                               : print_number(*value);
  }
  if (const auto value = node.value<bool>()) {
    return *value ? "true" : "false";
  }
  return {};
}

}  // namespace

bool Model::instant() const {
  for (const ModelField& field : fields) {
    const bool waits = (field.quantity == Quantity::duration || field.quantity == Quantity::rate ||
                        field.member == &Model::rpm || field.member == &Model::iops);
    if (waits && this->*field.member > 0) {
      return false;
    }
  }
  return true;
}

Model Model::slower(double factor, bool bandwidths) const {
  Model out = *this;
  for (const ModelField& field : fields) {
    if (field.quantity == Quantity::duration) {
      out.*field.member *= factor;
    } else if (field.member == &Model::rpm || field.member == &Model::iops ||
               (bandwidths && field.quantity == Quantity::rate)) {
      out.*field.member /= factor;
    }
  }
  return out;
}

std::span<const ModelField> model_fields() {
  return fields;
}
std::span<const Preset> presets() {
  return table;
}

Status set_field(Model& model, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return bad_input(fmt::format("{} is no NAME=VALUE", quote(assignment)), "such as read-latency=2ms");
  }
  const std::string_view name = trim(assignment.substr(0, equals));
  const std::string_view value = trim(assignment.substr(equals + 1));
  if (name == "preset") {
    SLUICE_TRY(model, find_preset(value));
    return {};
  }
  return set_value(model, name, value);
}

Status check(const Model& model) {
  for (const ModelField& field : fields) {
    const double value = model.*field.member;
    const bool positive = field.member == &Model::parallel || field.member == &Model::queue_depth;
    const double most = field.quantity == Quantity::fraction   ? 1
                        : field.quantity == Quantity::duration ? 3600
                        : positive                             ? 4096
                        : field.member == &Model::spread       ? 10
                                                               : 1e18;
    if (!std::isfinite(value) || value < (positive ? 1 : 0) || value > most) {
      return bad_input(fmt::format("{}={} is out of range", field.name, print_value(field, value)),
                       fmt::format("from {} to {}", positive ? 1 : 0, print_value(field, most)));
    }
  }
  if (model.iops > 0 && model.iops < 0.001) {
    return bad_input(fmt::format("iops={} is out of range", print_number(model.iops)),
                     "0.001 at least, or 0 for no limit");
  }
  if (model.seek_full < model.seek) {
    return bad_input("seek-full is less than seek", "it is the time over the whole device");
  }
  if (model.rpm > 0 && (model.read_bandwidth <= 0 || model.rpm < 1)) {
    return bad_input("a rotating device needs a read-bandwidth and at least 1 rpm",
                     "together they tell how long a track is");
  }
  return {};
}

Result<Model> parse_model(std::string_view text, const std::string& path) {
  SLUICE_TRY(const toml::table file, parse_toml(text, path));
  Model model;
  if (const toml::node* preset = file.get("preset")) {
    auto found = find_preset(preset->value<std::string>().value_or("(no text)"));
    if (!found) {
      return std::move(found).error().within(place_in(path, preset->source()));
    }
    model = *found;
  }
  for (const auto& [key, node] : file) {
    if (key == "preset") {
      continue;
    }
    const auto found = find_fields(key);
    if (found.empty()) {
      auto known = names();
      known.emplace_back("preset");
      return unknown_key(path, key, known);
    }
    if (auto status = set_value(model, key, typed(node, *found.front())); !status) {
      return std::move(status).error().within(place_in(path, node.source()));
    }
  }
  if (auto status = check(model); !status) {
    return std::move(status).error().within(path);
  }
  return model;
}

Result<Model> load_model(const std::string& preset_or_file) {
  auto preset = find_preset(preset_or_file);
  if (preset) {
    return *preset;
  }
  auto text = read_file(preset_or_file, std::size_t{1} << 20);
  if (!text && text.error().number == ENOENT) {
    return bad_input(fmt::format("{} is neither a preset nor a file", quote(preset_or_file)),
                     preset.error().advice);
  }
  if (!text) {
    return std::move(text).error();
  }
  return parse_model(*text, preset_or_file);
}

std::string print_value(const ModelField& field, double value) {
  switch (field.quantity) {
    case Quantity::duration:
      return value > 0 ? print(Duration::from_seconds(value)) : "0";
    case Quantity::rate:
      return print_size(static_cast<std::uint64_t>(std::min(value, 1e18))) + "/s";
    case Quantity::size:
      return print_size(static_cast<std::uint64_t>(std::min(value, 1e18)));
    case Quantity::flag:
      return value != 0 ? "true" : "false";
    case Quantity::count:
    case Quantity::number:
    case Quantity::fraction:
      break;
  }
  return print_number(value);
}

std::vector<std::string> print_model(const Model& model) {
  std::vector<std::string> out;
  for (const ModelField& field : fields) {
    if (model.*field.member != 0) {
      out.push_back(fmt::format("{}={}", field.name, print_value(field, model.*field.member)));
    }
  }
  return out;
}

Json model_json(const Model& model) {
  Json out;
  for (const ModelField& field : fields) {
    const double value = model.*field.member;
    if (field.quantity == Quantity::flag) {
      out[std::string(field.name)] = value != 0;
    } else if (field.quantity == Quantity::count || field.quantity == Quantity::size) {
      out[std::string(field.name)] = static_cast<std::uint64_t>(value);
    } else {
      out[std::string(field.name)] = value;
    }
  }
  return out;
}

}  // namespace sluice::lab
