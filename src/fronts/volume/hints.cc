#include "fronts/volume/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "fronts/volume/server.h"

namespace sluice::volume {
namespace {

// HintStor 3.3, level 2.
constexpr std::array<std::uint64_t, 5> bounds = {256 << 10, 1 << 20, 10 << 20, 100 << 20,
                                                 std::uint64_t{1} << 30};
constexpr std::array<std::string_view, 4> kinds = {"", "metadata", "data", ""};
constexpr std::array<std::string_view, 4> patterns = {"", "write-intensive", "read-intensive", "archival"};

Result<std::uint8_t> index_of(const std::array<std::string_view, 4>& words, const std::string& word) {
  const auto* const found = std::find(words.begin() + 1, words.end(), word);
  if (word.empty() || found == words.end()) {
    return bad_input(
        fmt::format("{} is not one of {}", quote(word), fmt::join(words.begin() + 1, words.end(), ", ")));
  }
  return static_cast<std::uint8_t>(found - words.begin());
}

Status check_keys(const Json& json, std::initializer_list<std::string_view> known) {
  if (!json.is_object()) {
    return bad_input("a hint must be a JSON object");
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return bad_input(fmt::format("{} is not known in a hint", quote(key)));
    }
  }
  return {};
}

}  // namespace

std::uint8_t size_bucket(std::uint64_t size) {
  return static_cast<std::uint8_t>(1 +
                                   (std::upper_bound(bounds.begin(), bounds.end(), size) - bounds.begin()));
}

std::string bucket_name(std::uint8_t bucket) {
  if (bucket == 0 || bucket > bounds.size() + 1) {
    return "";
  }
  if (bucket == 1) {
    return "<" + print_size(bounds[0]);
  }
  return bucket == bounds.size() + 1
             ? ">=" + print_size(bounds.back())
             : fmt::format("{}-{}", print_size(bounds[bucket - 2U]), print_size(bounds[bucket - 1U]));
}

Result<tier::Label> read_label(const Json& json) {
  tier::Label out;
  if (json.contains("class")) {
    SLUICE_TRY(out.kind, index_of(kinds, json.at("class")));
  }
  if (json.contains("size")) {
    out.bucket = size_bucket(json.at("size"));
  }
  if (json.contains("pattern")) {
    SLUICE_TRY(out.pattern, index_of(patterns, json.at("pattern")));
  }
  out.pinned = json.value("pin", false);
  return out;
}

Json describe(const tier::Label& label) {
  Json out = Json::object();
  if (label.kind != 0) {
    out["class"] = kinds[label.kind];
  }
  if (label.bucket != 0) {
    out["size"] = bucket_name(label.bucket);
  }
  if (label.pattern != 0) {
    out["pattern"] = patterns[label.pattern];
  }
  if (label.pinned) {
    out["pin"] = true;
  }
  return out;
}

Result<tier::Placement> read_placement(const Json& rules,
                                       const std::function<Result<unsigned>(const std::string&)>& find) {
  tier::Placement out;
  out.tier.fill(tier::no_tier);
  if (!rules.is_array()) {
    return bad_input("placement must be a list of rules");
  }
  for (const Json& rule : rules) {
    SLUICE_CHECK(check_keys(rule, {"class", "below", "from", "pattern", "tier"}));
    SLUICE_TRY(const unsigned tier, find(rule.at("tier")));
    const bool everything = rule.size() == 1;
    if (everything) {
      out.fallback = static_cast<std::uint8_t>(tier);
    }
    std::uint8_t kind = 0;
    std::uint8_t pattern = 0;
    if (rule.contains("class")) {
      SLUICE_TRY(kind, index_of(kinds, rule.at("class")));
    }
    if (rule.contains("pattern")) {
      SLUICE_TRY(pattern, index_of(patterns, rule.at("pattern")));
    }
    const std::uint8_t first = rule.contains("from") ? size_bucket(rule.at("from")) : 1;
    // "below" a bound leaves out the range that begins there.
    const auto end =
        rule.contains("below")
            ? static_cast<std::uint8_t>(size_bucket(rule.at("below").get<std::uint64_t>() - 1) + 1)
            : static_cast<std::uint8_t>(bounds.size() + 2);
    const bool sized = rule.contains("from") || rule.contains("below");
    for (unsigned row = 1; row < out.tier.size(); ++row) {
      tier::Entry entry;
      entry.label = static_cast<std::uint16_t>(row);
      const tier::Label label = entry.hints();
      const bool fits = (kind == 0 || label.kind == kind) && (pattern == 0 || label.pattern == pattern) &&
                        (!sized || (label.bucket >= first && label.bucket < end));
      if (fits && !everything && out.tier[row] == tier::no_tier) {
        out.tier[row] = static_cast<std::uint8_t>(tier);
      }
    }
  }
  return out;
}

Status VolumeServer::place_labels() {
  SLUICE_TRY(placement_, read_placement(description_.placement,
                                        [this](const std::string& name) { return tier_named(name); }));
  engine_->set_placement(placement_);
  return {};
}

// {"ranges": [[offset, length]...], "class", "size", "pattern", "pin", "stream", "prefetch", "now"}
Result<Json> VolumeServer::hint(const Json& request) {
  SLUICE_CHECK(
      check_keys(request, {"ranges", "class", "size", "pattern", "pin", "stream", "prefetch", "now"}));
  SLUICE_TRY(const tier::Label label, read_label(request));
  const std::uint64_t stream = request.value("stream", std::uint64_t{0});
  if (stream > 0xffff) {
    return bad_input("a stream is a number up to 65535");
  }
  const bool prefetch = request.value("prefetch", false);
  const bool now = request.value("now", false);
  const std::uint64_t chunk_size = engine_->store().chunk_size();
  std::uint64_t chunks = 0;
  for (const Json& range : request.at("ranges")) {
    const std::uint64_t offset = range.at(0);
    const std::uint64_t length = range.at(1);
    if (length == 0 || offset >= engine_->size()) {
      continue;
    }
    const std::uint64_t end = std::min(engine_->size(), offset + std::min(length, engine_->size()));
    for (std::uint64_t chunk = offset / chunk_size; chunk * chunk_size < end; ++chunk) {
      tier::Entry& entry = engine_->store().entries[chunk];
      tier::Label own = entry.hints();
      // A chunk that several files share takes the class of the smallest; metadata goes before data.
      if (label.kind != 0) {
        own.kind = own.kind == 0 ? label.kind : std::min(own.kind, label.kind);
      }
      if (label.bucket != 0) {
        own.bucket = own.bucket == 0 ? label.bucket : std::min(own.bucket, label.bucket);
      }
      own.pattern = label.pattern != 0 ? label.pattern : own.pattern;
      own.pinned = request.contains("pin") ? label.pinned : own.pinned;
      engine_->label(chunk, own,
                     request.contains("stream") ? static_cast<std::uint16_t>(stream) : entry.stream());
      if (prefetch) {
        backlog_.push_back(
            {.chunk = chunk, .action = tier::Action::prefetch, .reason = tier::Reason::hint, .to = 0});
      }
      const std::uint8_t wanted = placement_.tier[entry.label & 0xff];
      if (now && entry.mapped() && wanted != tier::no_tier && wanted != entry.place().tier) {
        backlog_.push_back(
            {.chunk = chunk, .action = tier::Action::migrate, .reason = tier::Reason::hint, .to = wanted});
      }
      ++chunks;
    }
  }
  return Json{{"chunks", chunks}};
}

}  // namespace sluice::volume
