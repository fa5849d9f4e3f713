// What a device is like: the numbers of its timing. One table has every number; from it follow --set, model
// files (TOML), the manual page and the JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace sluice::lab {

// Times in seconds, rates in bytes per second; zero means none, or without limit.
struct Model {
  double read_latency = 0;
  double write_latency = 0;
  double flush_latency = 0;
  double spread = 0;
  double tail_rate = 0;
  double tail_latency = 0;
  double seek = 0;
  double seek_full = 0;
  double rpm = 0;
  double read_bandwidth = 0;
  double write_bandwidth = 0;
  double block = 0;
  double parallel = 1;
  double queue_depth = 32;
  double iops = 0;
  double cache = 0;
  double cache_latency = 0;
  double cache_bandwidth = 0;
  double volatile_ = 0;
  double seed = 1;

  // Nothing ever waits.
  [[nodiscard]] bool instant() const;
  // All times multiplied by `factor`, limits of rate divided by it. Bandwidths too when `bandwidths`.
  [[nodiscard]] Model slower(double factor, bool bandwidths) const;
};

enum class Quantity { duration, rate, size, count, number, fraction, flag };

struct ModelField {
  std::string_view name;  // "read-latency"
  Quantity quantity = Quantity::number;
  double Model::*member = nullptr;
  std::string_view help = {};  // one sentence without a full stop
};
std::span<const ModelField> model_fields();

struct Preset {
  std::string_view name;
  std::string_view help;
  Model model;
};
std::span<const Preset> presets();

// "read-latency=2ms"; "latency=2ms" sets reads and writes, "preset=hdd" everything. The result is checked as
// a whole by check().
Status set_field(Model& model, std::string_view assignment);
Status check(const Model& model);

// A preset's name, or the path of a file. A file is TOML: `preset = "hdd"` to begin with, then fields as
// they are named in the table.
Result<Model> load_model(const std::string& preset_or_file);
// The text of such a file; `path` is for messages.
Result<Model> parse_model(std::string_view text, const std::string& path);

std::string print_value(const ModelField& field, double value);
// Name and value of each field that is not zero, as set_field() reads them.
std::vector<std::string> print_model(const Model& model);
Json model_json(const Model& model);

}  // namespace sluice::lab
