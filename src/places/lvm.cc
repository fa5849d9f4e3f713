#include "places/lvm.h"

#include <nlohmann/json.hpp>

#include "base/units.h"

namespace sluice {
namespace {

std::string text_of(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

Command lvs_command() {
  return {"lvs",
          {"-a", "--reportformat", "json", "--units", "b", "--nosuffix", "-o",
           "lv_dm_path,segtype,stripes,stripe_size"}};
}

LvmVolumes parse_lvs(std::string_view json) {
  LvmVolumes out;
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  const auto reports = document.is_object() ? document.find("report") : document.end();
  if (reports == document.end() || !reports->is_array()) {
    return out;
  }
  for (const nlohmann::json& report : *reports) {
    const auto rows = report.is_object() ? report.find("lv") : report.end();
    if (rows == report.end() || !rows->is_array()) {
      continue;
    }
    for (const nlohmann::json& row : *rows) {
      if (!row.is_object()) {
        continue;
      }
      constexpr std::string_view folder = "/dev/mapper/";
      const std::string path = text_of(row, "lv_dm_path");
      if (!path.starts_with(folder)) {
        continue;
      }
      LvmVolume volume{.segment = text_of(row, "segtype"),
                       .stripes = static_cast<unsigned>(parse_count(text_of(row, "stripes")).value_or(1)),
                       .stripe = parse_count(text_of(row, "stripe_size")).value_or(0),
                       .mixed = false};
      const auto [at, fresh] = out.try_emplace(path.substr(folder.size()), volume);
      // One row a segment: a volume that was extended later may be laid out in two ways.
      if (!fresh && (at->second.segment != volume.segment || at->second.stripes != volume.stripes)) {
        at->second.mixed = true;
      }
    }
  }
  return out;
}

}  // namespace sluice
