// The parsers of network.h: one for each tool, all of them forgiving, because tools change their words.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "places/devices.h"
#include "places/network.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

std::optional<Layout> copies(std::uint64_t count) {
  if (count < 2 || count > 64) {
    return std::nullopt;
  }
  return Layout{.scheme = Scheme::replica, .disks = static_cast<unsigned>(count), .parity = 0, .members = {}};
}

std::optional<Layout> pieces(std::uint64_t data, std::uint64_t parity) {
  if (data == 0 || parity == 0 || data + parity > 65536) {
    return std::nullopt;
  }
  return Layout{.scheme = Scheme::mds,
                .disks = static_cast<unsigned>(data + parity),
                .parity = static_cast<unsigned>(parity),
                .members = {}};
}

// "Key: value" in a line; "" when the line is another one.
std::string_view value_of(std::string_view line, std::string_view key) {
  line = trim(line);
  if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') {
    return {};
  }
  return trim(line.substr(key.size() + 1));
}

std::uint64_t leading_number(std::string_view text) {
  text = trim(text);
  return parse_count(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
}

const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) {
    return nothing;
  }
  const auto found = object.find(key);
  return found != object.end() ? *found : nothing;
}

// Ceph prints the numbers of an erasure profile as text.
std::uint64_t number_of(const Json& value) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>();
  }
  return value.is_string() ? leading_number(value.get_ref<const std::string&>()) : 0;
}

std::string string_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string{};
}

const Json& find_filesystem(const Json& dump, std::string_view name) {
  static const Json nothing;
  const Json& all = member(dump, "filesystems");
  if (!all.is_array() || all.empty()) {
    return nothing;
  }
  for (const Json& one : all) {
    const Json& map = member(one, "mdsmap");
    if (string_of(member(map, "fs_name")) == name) {
      return map;
    }
  }
  return name.empty() && all.size() == 1 ? member(all.front(), "mdsmap") : nothing;
}

}  // namespace

NetworkFacts parse_lfs(std::string_view df, std::string_view getstripe) {
  NetworkFacts out;
  for (const std::string_view line : split(df, '\n')) {
    // scratch-OST0001_UUID  1000  10  990  1% /mnt/lustre[OST:1]
    const std::vector<std::string_view> fields = split_blanks(line);
    if (!fields.empty() && fields[0].find("-OST") != std::string_view::npos) {
      out.targets.emplace_back(fields[0].substr(0, fields[0].rfind("_UUID")));
    }
  }
  std::uint64_t count = 0;
  std::uint64_t mirrors = 0;
  const std::vector<std::string_view> words = split_blanks(getstripe);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].ends_with("stripe_count:")) {
      count = std::max(count, leading_number(words[i + 1]));
    } else if (words[i].ends_with("stripe_size:")) {
      out.stripe = std::max(out.stripe, leading_number(words[i + 1]));
    } else if (words[i].ends_with("mirror_count:")) {
      mirrors = leading_number(words[i + 1]);
    }
  }
  out.layout = copies(mirrors);
  if (!out.targets.empty()) {
    out.note = fmt::format("{} targets", out.targets.size());
    out.note += count > 0 ? fmt::format(", files striped over {}", count) : "";
  }
  return out;
}

NetworkFacts parse_ceph(std::string_view osd_dump, std::string_view fs_dump, std::string_view filesystem) {
  NetworkFacts out;
  const Json osds = Json::parse(osd_dump, nullptr, false);
  const Json filesystems = Json::parse(fs_dump, nullptr, false);
  const Json& map = find_filesystem(filesystems, filesystem);
  out.largest_file = number_of(member(map, "max_file_size"));
  const Json& pools = member(map, "data_pools");
  const Json& known = member(osds, "pools");
  if (pools.is_array() && !pools.empty() && known.is_array()) {
    for (const Json& pool : known) {
      if (member(pool, "pool") != pools.front()) {
        continue;
      }
      const std::string profile = string_of(member(pool, "erasure_code_profile"));
      const Json& code = member(member(osds, "erasure_code_profiles"), profile.c_str());
      const bool erasure = number_of(member(pool, "type")) == 3;
      out.layout = erasure ? pieces(number_of(member(code, "k")), number_of(member(code, "m")))
                           : copies(number_of(member(pool, "size")));
      out.note = fmt::format("pool {}", string_of(member(pool, "pool_name")));
    }
  }
  if (const Json& all = member(osds, "osds"); all.is_array()) {
    for (const Json& one : all) {
      out.targets.push_back(fmt::format("osd.{}", number_of(member(one, "osd"))));
    }
    out.note += fmt::format("{}{} OSDs", out.note.empty() ? "" : ", ", all.size());
  }
  return out;
}

NetworkFacts parse_beegfs(std::string_view targets, std::string_view entry) {
  NetworkFacts out;
  for (const std::string_view line : split(targets, '\n')) {
    // TargetID NodeID, both numbers
    const std::vector<std::string_view> fields = split_blanks(line);
    if (fields.size() >= 2 && parse_count(fields[0])) {
      out.targets.push_back(fmt::format("target {}", fields[0]));
    }
  }
  bool mirrored = false;
  std::uint64_t wide = 0;
  for (const std::string_view line : split(entry, '\n')) {
    std::string_view word = trim(line);
    if (word.starts_with("+ ")) {
      word.remove_prefix(2);
    }
    mirrored = mirrored || value_of(word, "Type") == "Buddy Mirror";
    if (const std::string_view chunk = value_of(word, "Chunksize"); !chunk.empty()) {
      out.stripe = parse_size(chunk).value_or(0);
    }
    if (const std::string_view number = value_of(word, "Number of storage targets"); !number.empty()) {
      wide = leading_number(number.starts_with("desired:") ? number.substr(8) : number);
    }
  }
  out.layout = copies(mirrored ? 2 : 0);
  if (!out.targets.empty()) {
    out.note = fmt::format("{} targets{}", out.targets.size(),
                           wide > 0 ? fmt::format(", files striped over {}", wide) : "");
  }
  return out;
}

NetworkFacts parse_gluster(std::string_view volume_info) {
  NetworkFacts out;
  std::string type;
  for (const std::string_view line : split(volume_info, '\n')) {
    if (const std::string_view value = value_of(line, "Type"); !value.empty()) {
      type = lower(value);
    } else if (const std::string_view shape = value_of(line, "Number of Bricks"); !shape.empty()) {
      // "6", "2 x 3 = 6", "1 x (4 + 2) = 6", "1 x (2 + 1) = 3" with an arbiter
      const std::size_t times = shape.find(" x ");
      const std::string_view group = times == std::string_view::npos ? shape : trim(shape.substr(times + 3));
      const std::size_t plus = group.find('+');
      const std::uint64_t first = leading_number(group.starts_with('(') ? group.substr(1) : group);
      const std::uint64_t second =
          plus == std::string_view::npos ? 0 : leading_number(group.substr(plus + 1));
      if (type.find("disperse") != std::string::npos) {
        out.layout = pieces(first, second);
      } else if (type.find("replicate") != std::string::npos) {
        out.layout = copies(first);  // an arbiter holds no data
      }
    } else if (const std::size_t colon = line.find(": ");
               line.starts_with("Brick") && colon != std::string_view::npos) {
      out.targets.emplace_back(trim(line.substr(colon + 2)));
    }
  }
  if (!out.targets.empty()) {
    out.note = fmt::format("{} bricks, {}", out.targets.size(), type);
  }
  return out;
}

NetworkFacts parse_mmlsfs(std::string_view text) {
  NetworkFacts out;
  for (const std::string_view line : split(text, '\n')) {
    // mmlsfs::0:1:::gpfs0:defaultDataReplicas:2::
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() < 9 || fields[0] != "mmlsfs" || fields[2] == "HEADER") {
      continue;
    }
    if (fields[7] == "defaultDataReplicas") {
      out.layout = copies(leading_number(fields[8]));
    } else if (fields[7] == "blockSize") {
      out.stripe = leading_number(fields[8]);
    } else if (fields[7] == "disks") {
      for (const std::string_view disk : split(fields[8], ';')) {
        if (!disk.empty()) {
          out.targets.emplace_back(disk);
        }
      }
    }
  }
  if (!out.targets.empty()) {
    out.note = fmt::format("{} disks", out.targets.size());
  }
  return out;
}

}  // namespace sluice
