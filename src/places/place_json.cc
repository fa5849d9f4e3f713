#include "places/place_json.h"

#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

Json plain(std::uint64_t value) {
  return value;
}
Json plain(double value) {
  return value;
}
Json plain(bool value) {
  return value;
}
Json plain(Duration value) {
  return value.in_seconds();
}
Json plain(Media media) {
  return std::string(print(media));
}
Json plain(const Layout& layout) {
  return print(layout);
}

Json plain(const std::vector<std::string>& words) {
  Json out = Json::array();
  for (const std::string& word : words) {
    out.push_back(is_utf8(word) ? word : escape(word));
  }
  return out;
}

// Keys are written once each, so they are appended without the search that operator[] makes; there are some
// 20 000 of them where there are a thousand places.
template <class T>
void put_trait(Json::object_t& traits, const char* key, const Trait<T>& trait) {
  Json::object_t out;
  out.reserve(4);
  out.emplace_back("value", trait ? plain(*trait) : Json());
  out.emplace_back("source", trait ? Json(print(trait.source)) : Json());
  if (is_utf8(trait.detail)) {
    out.emplace_back("detail", trait.detail);
  } else {
    Json odd;
    put_bytes(odd, "detail", trait.detail);
    for (auto& [name, value] : odd.items()) {
      out.emplace_back(name, std::move(value));
    }
  }
  traits.emplace_back(key, std::move(out));
}

Json to_json(const Device& device) {
  Json out;
  put_bytes(out, "name", device.name);
  out["kind"] = std::string(print(device.kind));
  out["media"] = std::string(print(device.media));
  out["volatile"] = device.is_volatile;
  out["size"] = device.size != 0 ? Json(device.size) : Json();
  out["logical_block"] = device.logical_block != 0 ? Json(device.logical_block) : Json();
  out["physical_block"] = device.physical_block != 0 ? Json(device.physical_block) : Json();
  put_bytes(out, "model", device.model);
  put_bytes(out, "scheduler", device.scheduler);
  out["degraded"] = device.degraded;
  put_bytes(out, "note", device.note);
  out["layout"] = device.layout ? Json(print(*device.layout)) : Json();
  out["stripe"] = device.stripe != 0 ? Json(device.stripe) : Json();
  out["below"] = Json::array();
  for (const Device& one : device.below) {
    out["below"].push_back(to_json(one));
  }
  return out;
}

}  // namespace

Json to_json(const Place& place) {
  Json out;
  put_bytes(out, "name", place.name);
  put_bytes(out, "path", place.path);
  put_bytes(out, "mount", place.mount);
  put_bytes(out, "filesystem", place.filesystem);
  put_bytes(out, "origin", place.origin);
  put_bytes(out, "options", place.options);
  put_bytes(out, "id", place.id);
  out["reach"] = std::string(print(place.reach));
  put_bytes(out, "reach_note", place.reach_note);
  out["read_only"] = place.read_only;
  out["writable"] = place.writable;
  Json::object_t traits;
  traits.reserve(21);
  put_trait(traits, "capacity", place.capacity);
  put_trait(traits, "free", place.free);
  put_trait(traits, "quota", place.quota);
  put_trait(traits, "block-size", place.block);
  put_trait(traits, "max-file-size", place.max_file);
  put_trait(traits, "volatile", place.is_volatile);
  put_trait(traits, "global", place.global);
  put_trait(traits, "labels", place.labels);
  put_trait(traits, "media", place.media);
  put_trait(traits, "layout", place.layout);
  put_trait(traits, "mttf", place.mttf);
  put_trait(traits, "mttr", place.mttr);
  put_trait(traits, "ber", place.ber);
  put_trait(traits, "ecc-bits", place.ecc_bits);
  put_trait(traits, "sector-bits", place.sector_bits);
  put_trait(traits, "read-bandwidth", place.read_bandwidth);
  put_trait(traits, "write-bandwidth", place.write_bandwidth);
  put_trait(traits, "latency", place.latency);
  put_trait(traits, "seek-latency", place.seek);
  put_trait(traits, "max-iops", place.iops);
  put_trait(traits, "price-per-gigabyte", place.price);
  out["traits"] = std::move(traits);
  out["device"] = place.device ? to_json(*place.device) : Json();
  out["promised"] = place.promised;
  return out;
}

Json to_json(const Skipped& skipped) {
  Json out;
  put_bytes(out, "mount", skipped.mount);
  put_bytes(out, "filesystem", skipped.filesystem);
  put_bytes(out, "because", skipped.because);
  return out;
}

}  // namespace sluice
