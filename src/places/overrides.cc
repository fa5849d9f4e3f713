#include "places/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "base/toml.h"
#include "places/naming.h"

namespace sluice {
namespace {

// A value under way from the file into a trait.
struct Entry {
  const std::string& file;
  std::string_view key;
  const toml::node& node;

  [[nodiscard]] std::string origin() const {
    return fmt::format("{}:{}", escape(file), node.source().begin.line);
  }
  [[nodiscard]] Error wrong(std::string_view expected) const {
    return bad_input(fmt::format("{}: {} = {} is wrong", place_in(file, node.source()), key, text()),
                     fmt::format("it must be {}", expected));
  }
  [[nodiscard]] std::string text() const {
    if (const auto* value = node.as_string()) {
      return quote(value->get());
    }
    if (const auto* value = node.as_integer()) {
      return std::to_string(value->get());
    }
    if (const auto* value = node.as_floating_point()) {
      return print_number(value->get());
    }
    if (const auto* value = node.as_boolean()) {
      return value->get() ? "true" : "false";
    }
    return node.is_table() ? "a table" : node.is_array() ? "a list" : "a date";
  }
};

Result<std::uint64_t> read_size(const Entry& entry) {
  constexpr std::string_view expected = "a size above zero such as \"16M\" or a number of bytes";
  if (const auto* text = entry.node.as_string()) {
    if (const Result<std::uint64_t> value = parse_size(text->get()); value && *value > 0) {
      return *value;
    }
  } else if (const auto* number = entry.node.as_integer(); number != nullptr && number->get() > 0) {
    return static_cast<std::uint64_t>(number->get());
  }
  return entry.wrong(expected);
}

Result<std::uint64_t> read_count(const Entry& entry) {
  if (const auto* number = entry.node.as_integer(); number != nullptr && number->get() >= 0) {
    return static_cast<std::uint64_t>(number->get());
  }
  return entry.wrong("a whole number, zero or more");
}

// Far above any code that a disk uses; Eq. 1 sums over the bits of a sector.
constexpr std::int64_t most_sector_bits = 1 << 20;

Result<std::uint64_t> read_sector_bits(const Entry& entry) {
  if (const auto* number = entry.node.as_integer();
      number != nullptr && number->get() > 0 && number->get() <= most_sector_bits) {
    return static_cast<std::uint64_t>(number->get());
  }
  return entry.wrong(fmt::format("a whole number from 1 to {}", most_sector_bits));
}

Result<double> read_positive(const Entry& entry) {
  const std::optional<double> value = entry.node.value<double>();
  if (entry.node.is_number() && value && std::isfinite(*value) && *value > 0) {
    return *value;
  }
  return entry.wrong("a number above zero");
}

Result<double> read_price(const Entry& entry) {
  const std::optional<double> value = entry.node.value<double>();
  if (entry.node.is_number() && value && std::isfinite(*value) && *value >= 0) {
    return *value;
  }
  return entry.wrong("a number, zero or more");
}

Result<double> read_probability(const Entry& entry) {
  const std::optional<double> value = entry.node.value<double>();
  if (entry.node.is_number() && value && *value >= 0 && *value < 1) {
    return *value;
  }
  return entry.wrong("a number from 0 to below 1 such as 1e-15");
}

Result<double> read_rate(const Entry& entry) {
  if (const auto* text = entry.node.as_string()) {
    if (const Result<double> value = parse_rate(text->get()); value && *value > 0) {
      return *value;
    }
  } else if (const Result<double> value = read_positive(entry)) {
    return *value;
  }
  return entry.wrong("a rate such as \"130MB/s\" or a number of bytes per second, above zero");
}

std::optional<Duration> duration_of(const Entry& entry) {
  if (const auto* text = entry.node.as_string()) {
    const Result<Duration> value = parse_duration(text->get());
    return value ? std::optional(*value) : std::nullopt;
  }
  const std::optional<double> seconds = entry.node.value<double>();
  return entry.node.is_number() && seconds && std::isfinite(*seconds) && *seconds >= 0
             ? std::optional(Duration::from_seconds(*seconds))
             : std::nullopt;
}

Result<Duration> read_duration(const Entry& entry) {
  const std::optional<Duration> value = duration_of(entry);
  if (!value) {
    return entry.wrong("a duration such as \"8ms\" or a number of seconds");
  }
  return *value;
}

Result<Duration> read_lifetime(const Entry& entry) {
  const std::optional<Duration> value = duration_of(entry);
  if (!value || *value == Duration{}) {
    return entry.wrong("a duration above zero such as \"10y\" or a number of seconds");
  }
  return *value;
}

Result<bool> read_flag(const Entry& entry) {
  const auto* value = entry.node.as_boolean();
  if (value == nullptr) {
    return entry.wrong("true or false");
  }
  return value->get();
}

Result<Media> read_media(const Entry& entry) {
  static constexpr std::array all = {Media::ram, Media::nvram,   Media::nvme,   Media::ssd,
                                     Media::hdd, Media::network, Media::unknown};
  std::vector<std::string_view> names;
  for (const Media media : all) {
    names.push_back(print(media));
    if (const auto* text = entry.node.as_string(); text != nullptr && lower(text->get()) == print(media)) {
      return media;
    }
  }
  return entry.wrong(fmt::format("one of {}", fmt::join(names, ", ")));
}

Result<Layout> read_layout(const Entry& entry) {
  const auto* text = entry.node.as_string();
  if (text == nullptr) {
    return entry.wrong("a layout such as \"raid5:4\"");
  }
  Result<Layout> layout = parse_layout(text->get());
  if (!layout) {
    return std::move(layout).error().within(place_in(entry.file, entry.node.source()));
  }
  return layout;
}

Result<std::vector<std::string>> read_words(const Entry& entry) {
  const auto* list = entry.node.as_array();
  std::vector<std::string> out;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto* text = list->get(i)->as_string();
    if (text == nullptr || text->get().empty()) {
      return Entry{entry.file, entry.key, *list->get(i)}.wrong("a list of words such as [\"archive\"]");
    }
    out.push_back(lower(text->get()));
  }
  if (list == nullptr) {
    return entry.wrong("a list of words such as [\"archive\"]");
  }
  return out;
}

// One reader for each key; a value that a nearer file gave already is checked but not taken.
template <auto member, auto reader>
Status take(const Entry& entry, Place& traits) {
  auto value = reader(entry);
  if (!value) {
    return std::move(value).error();
  }
  if (auto& trait = traits.*member; !trait) {
    trait = {.value = std::move(*value), .source = Source::configuration, .detail = entry.origin()};
  }
  return {};
}

struct Key {
  std::string_view name;
  Status (*take)(const Entry&, Place&);
  bool of_device;  // also in [device.NAME]
};

constexpr std::array keys = std::to_array<Key>({
    {"media", take<&Place::media, read_media>, true},
    {"volatile", take<&Place::is_volatile, read_flag>, true},
    {"global", take<&Place::global, read_flag>, false},
    {"labels", take<&Place::labels, read_words>, false},
    {"capacity", take<&Place::capacity, read_size>, false},
    {"free", take<&Place::free, read_size>, false},
    {"block-size", take<&Place::block, read_size>, false},
    {"max-file-size", take<&Place::max_file, read_size>, false},
    {"layout", take<&Place::layout, read_layout>, true},
    {"mttf", take<&Place::mttf, read_lifetime>, true},
    {"mttr", take<&Place::mttr, read_lifetime>, true},
    {"ber", take<&Place::ber, read_probability>, true},
    {"ecc-bits", take<&Place::ecc_bits, read_count>, true},
    {"sector-bits", take<&Place::sector_bits, read_sector_bits>, true},
    {"read-bandwidth", take<&Place::read_bandwidth, read_rate>, false},
    {"write-bandwidth", take<&Place::write_bandwidth, read_rate>, false},
    {"latency", take<&Place::latency, read_duration>, false},
    {"seek-latency", take<&Place::seek, read_duration>, false},
    {"max-iops", take<&Place::iops, read_positive>, false},
    {"price-per-gigabyte", take<&Place::price, read_price>, false},
});

Status read_traits(const std::string& file, const toml::table& table,
                   const std::vector<std::string_view>& known, Place& traits) {
  for (const auto& item : table) {
    const toml::key& key = item.first;
    const toml::node& node = item.second;
    const Entry entry{file, key.str(), node};
    const auto* row =
        std::find_if(keys.begin(), keys.end(), [&](const Key& one) { return one.name == key.str(); });
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      return unknown_key(file, key, known);
    }
    if (row != keys.end()) {
      SLUICE_CHECK(row->take(entry, traits));
    }
  }
  return {};
}

Status read_path(const Entry& entry, PlaceOverride& out) {
  const auto* text = entry.node.as_string();
  if (text == nullptr || !text->get().starts_with('/') || text->get().find('\0') != std::string::npos) {
    return entry.wrong("an absolute path");
  }
  if (!out.path) {
    out.path = absolute(text->get(), "/");
    out.path_origin = place_in(entry.file, entry.node.source());
  }
  return {};
}

Status read_place(const std::string& file, const toml::table& table, PlaceOverride& out, bool& ignore_seen) {
  static const std::vector<std::string_view> known = place_keys();
  SLUICE_CHECK(read_traits(file, table, known, out.traits));
  if (const toml::node* node = table.get("path")) {
    SLUICE_CHECK(read_path({file, "path", *node}, out));
  }
  if (const toml::node* node = table.get("ignore")) {
    const Entry entry{file, "ignore", *node};
    SLUICE_TRY(const bool ignore, read_flag(entry));
    if (!ignore_seen) {
      out.ignored = ignore ? entry.origin() : std::string{};
      ignore_seen = true;
    }
  }
  return {};
}

// The tables under [place] or [device] of one file, checked to be tables.
Result<std::vector<std::pair<std::string, const toml::table*>>> tables_of(const ConfigFile& file,
                                                                          std::string_view group) {
  std::vector<std::pair<std::string, const toml::table*>> out;
  const toml::node* node = file.table.get(group);
  if (node == nullptr) {
    return out;
  }
  if (!node->is_table()) {
    return bad_input(fmt::format("{}: {} must be a table", place_in(file.path, node->source()), group),
                     fmt::format("write [{}.NAME] and below it the traits", group));
  }
  for (const auto& [key, value] : *node->as_table()) {
    const std::string name(key.str());
    if (!value.is_table()) {
      return bad_input(
          fmt::format("{}: {}.{} must be a table", place_in(file.path, key.source()), group, escape(name)),
          fmt::format("write [{}.NAME] and below it the traits", group));
    }
    if (group == "place" && !is_place_name(name)) {
      return bad_input(
          fmt::format("{}: {} is no name of a place", place_in(file.path, key.source()), quote(name)),
          "a name has letters, digits, '.', '_' and '-', and starts with a letter, a digit or '_'");
    }
    out.emplace_back(name, value.as_table());
  }
  return out;
}

template <class T>
T& entry_named(std::vector<T>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  if (found != all.end()) {
    return *found;
  }
  all.emplace_back().name = name;
  return all.back();
}

}  // namespace

std::vector<std::string_view> place_keys() {
  std::vector<std::string_view> out = {"path", "ignore"};
  std::transform(keys.begin(), keys.end(), std::back_inserter(out), [](const Key& key) { return key.name; });
  return out;
}

std::vector<std::string_view> device_keys() {
  std::vector<std::string_view> out;
  for (const Key& key : keys) {
    if (key.of_device) {
      out.push_back(key.name);
    }
  }
  return out;
}

Result<Overrides> parse_overrides(const Config& config) {
  Overrides out;
  std::vector<std::string> ignore_seen;
  for (const auto& each : config.files()) {
    const ConfigFile& file = *each;
    SLUICE_TRY(const auto places, tables_of(file, "place"));
    for (const auto& [name, table] : places) {
      PlaceOverride& entry = entry_named(out.places, name);
      if (entry.origin.empty()) {
        entry.origin = place_in(file.path, table->source());
      }
      bool seen = std::find(ignore_seen.begin(), ignore_seen.end(), name) != ignore_seen.end();
      SLUICE_CHECK(read_place(file.path, *table, entry, seen));
      if (seen) {
        ignore_seen.push_back(name);
      }
    }
    SLUICE_TRY(const auto devices, tables_of(file, "device"));
    static const std::vector<std::string_view> known = device_keys();
    for (const auto& [name, table] : devices) {
      SLUICE_CHECK(read_traits(file.path, *table, known, entry_named(out.devices, name).traits));
    }
  }
  return out;
}

}  // namespace sluice
