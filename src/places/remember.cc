#include "places/remember.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::int64_t fresh = 3600;  // seconds

std::int64_t now() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

void put(Json& traits, const char* key, Json value) {
  traits[key]["value"] = std::move(value);
}

// The part of a place's JSON that lasts: no free space, which would make every run write.
std::string lasting(const Place& place) {
  Json out;
  put_bytes(out, "mount", place.mount);
  put_bytes(out, "filesystem", place.filesystem);
  put_bytes(out, "origin", place.origin);
  Json& traits = out["traits"] = Json::object();
  if (place.capacity) {
    put(traits, "capacity", *place.capacity);
  }
  if (place.block) {
    put(traits, "block-size", *place.block);
  }
  if (place.max_file) {
    put(traits, "max-file-size", *place.max_file);
  }
  if (place.is_volatile) {
    put(traits, "volatile", *place.is_volatile);
  }
  if (place.global) {
    put(traits, "global", *place.global);
  }
  if (place.media) {
    put(traits, "media", std::string(print(*place.media)));
  }
  if (place.layout) {
    put(traits, "layout", print(*place.layout));
  }
  return out.dump();
}

// A value of a remembered row, or null.
Json value_in(const Json& row, const char* key) {
  const auto traits = row.find("traits");
  if (traits == row.end() || !traits->is_object()) {
    return nullptr;
  }
  const auto trait = traits->find(key);
  return trait != traits->end() && trait->is_object() ? trait->value("value", Json()) : Json();
}

std::optional<Media> media_named(const Json& name) {
  constexpr std::array all = {Media::ram, Media::nvram, Media::nvme, Media::ssd, Media::hdd, Media::network};
  for (const Media media : all) {
    if (name.is_string() && name.get_ref<const std::string&>() == print(media)) {
      return media;
    }
  }
  return std::nullopt;
}

template <class T>
void fill(Trait<T>& trait, std::optional<T> value, const std::string& detail) {
  if (value && (!trait || trait.source == Source::fallback)) {
    trait = {.value = std::move(value), .source = Source::system, .detail = detail};
  }
}

std::optional<std::uint64_t> number_of(const Json& value) {
  return value.is_number_unsigned() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

std::optional<bool> flag_of(const Json& value) {
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::optional<Layout> layout_of(const Json& value) {
  if (!value.is_string()) {
    return std::nullopt;
  }
  const Result<Layout> layout = parse_layout(value.get_ref<const std::string&>());
  return layout ? std::optional(*layout) : std::nullopt;
}

void fill_from(const Json& row, const std::string& detail, Place& place) {
  fill(place.capacity, number_of(value_in(row, "capacity")), detail);
  fill(place.block, number_of(value_in(row, "block-size")), detail);
  fill(place.max_file, number_of(value_in(row, "max-file-size")), detail);
  fill(place.is_volatile, flag_of(value_in(row, "volatile")), detail);
  fill(place.global, flag_of(value_in(row, "global")), detail);
  fill(place.media, media_named(value_in(row, "media")), detail);
  fill(place.layout, layout_of(value_in(row, "layout")), detail);
}

// Without an answer there is no UUID, so the row may be known by what is mounted where.
bool describes(const Json& row, const Place& place) {
  Json expected;
  put_bytes(expected, "mount", place.mount);
  put_bytes(expected, "filesystem", place.filesystem);
  put_bytes(expected, "origin", place.origin);
  return std::all_of(expected.items().begin(), expected.items().end(), [&](const auto& item) {
    const auto found = row.find(item.key());
    return found != row.end() && *found == item.value();
  });
}

}  // namespace

Status remember(Catalog& catalog, std::span<const Place> places) {
  SLUICE_TRY(const std::vector<PlaceRow> before, catalog.places());
  std::map<std::string_view, const PlaceRow*> known;
  for (const PlaceRow& row : before) {
    known[row.id] = &row;
  }
  const std::int64_t time = now();
  std::vector<PlaceRow> rows;
  for (const Place& place : places) {
    // A volatile place is new after every boot: nothing of it is worth keeping.
    if (place.reach != Reach::reachable || place.is_volatile.value_or(false)) {
      continue;
    }
    PlaceRow row{
        .id = place.id, .name = place.name, .path = place.path, .traits = lasting(place), .seen = time};
    const auto found = known.find(row.id);
    if (found != known.end() && time - found->second->seen < fresh && found->second->seen <= time) {
      row.seen = found->second->seen;
      // Where a user may write depends on the current folder: no change of the place.
      row.path = found->second->path;
      if (row == *found->second) {
        continue;
      }
      row.seen = time;
      row.path = place.path;
    }
    rows.push_back(std::move(row));
  }
  return rows.empty() ? Status{} : catalog.put_places(rows);
}

Status recall(Catalog& catalog, std::vector<Place>& places) {
  if (std::all_of(places.begin(), places.end(),
                  [](const Place& one) { return one.reach == Reach::reachable; })) {
    return {};
  }
  SLUICE_TRY(const std::vector<PlaceRow> rows, catalog.places());
  for (Place& place : places) {
    if (place.reach == Reach::reachable) {
      continue;
    }
    for (const PlaceRow& row : rows) {
      const Json json = Json::parse(row.traits, nullptr, false);
      if (json.is_object() && (row.id == place.id || describes(json, place))) {
        fill_from(json, fmt::format("remembered from {:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(row.seen)), place);
        place.id = row.id;
        break;
      }
    }
  }
  return {};
}

}  // namespace sluice
