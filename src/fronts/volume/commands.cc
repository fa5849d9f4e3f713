// What the control socket understands: a word, then what it needs as JSON on the same line.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "fronts/volume/hints.h"
#include "fronts/volume/server.h"
#include "tier/file_device.h"
#include "tier/nbd_device.h"

namespace sluice::volume {
namespace {

// An answer has to fit the socket's buffer.
constexpr std::uint64_t most_rows = 512;

// Unknown keys are refused, so that a misspelt one is not taken for nothing said.
Status check_keys(const Json& json, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return bad_input(fmt::format("{} is not known here", quote(key)));
    }
  }
  return {};
}

}  // namespace

Result<unsigned> VolumeServer::tier_named(const std::string& name) const {
  const tier::Store& store = engine_->store();
  std::string names;
  for (unsigned i = 0; i < store.tier_count(); ++i) {
    if (store.label().tiers[i].state != tier::TierState::present) {
      continue;
    }
    if (store.tier_name(i) == name) {
      return i;
    }
    names += names.empty() ? store.tier_name(i) : ", " + store.tier_name(i);
  }
  return bad_input(fmt::format("the volume has no tier {}", quote(name)), fmt::format("it has {}", names));
}

Result<Json> VolumeServer::command(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, blank);
  Json request = Json::object();
  if (blank < line.size()) {
    request = Json::parse(line.substr(blank + 1), nullptr, false);
    if (!request.is_object()) {
      return bad_input("what follows the word must be a JSON object");
    }
  }
  try {
    if (word == "status") {
      return status();
    }
    if (word == "stat") {
      return statistics();
    }
    if (word == "map") {
      return map(request);
    }
    if (word == "heat") {
      return heat(request);
    }
    if (word == "operate") {
      return operate(request);
    }
    if (word == "hint") {
      return hint(request);
    }
    if (word == "drain" || word == "undrain") {
      return drain(request, word == "drain");
    }
    if (word == "left" || word == "removable") {
      SLUICE_TRY(const unsigned tier, tier_named(request.at("tier")));
      if (word == "removable") {
        SLUICE_CHECK(engine_->check_removable(tier));
      }
      return left_on(tier);
    }
    if (word == "propose") {
      return propose(request);
    }
    if (word == "configure") {
      return configure(request);
    }
    if (word == "add-tier") {
      return add_tier(request);
    }
    if (word == "remove-tier") {
      return remove_tier(request);
    }
    if (word == "resize") {
      return resize(request);
    }
    if (word == "stop") {
      reactor_.stop();
      return Json::object();
    }
  } catch (const Json::exception& error) {
    return bad_input(fmt::format("{}: {}", word, error.what()));
  }
  return bad_input(fmt::format("{} is no command of a volume", quote(word)));
}

Json VolumeServer::status() const {
  const tier::Store& store = engine_->store();
  Json tiers = Json::array();
  for (unsigned i = 0; i < store.tier_count(); ++i) {
    const tier::TierRow& row = store.label().tiers[i];
    if (row.state != tier::TierState::present) {
      continue;
    }
    const bool there = store.device(i) != nullptr;
    const bool map = store.label().map_tiers[0] == i || store.label().map_tiers[1] == i;
    const std::uint64_t free = engine_->space().free(i);
    Json tier = {{"name", store.tier_name(i)},
                 {"state", !there                 ? "missing"
                           : engine_->draining(i) ? "draining"
                                                  : "up"},
                 {"persistent", row.persistent != 0},
                 {"map", map},
                 {"size", row.slots * store.chunk_size()},
                 {"used", (row.slots - std::min(row.slots, free)) * store.chunk_size()}};
    const auto found = std::find_if(description_.tiers.begin(), description_.tiers.end(),
                                    [&](const TierSpec& spec) { return spec.name == store.tier_name(i); });
    if (found != description_.tiers.end()) {
      put_bytes(tier, "path", found->path);
    }
    tiers.push_back(std::move(tier));
  }
  Json out = {{"name", folder_.name()},
              {"size", engine_->size()},
              {"chunk_size", store.chunk_size()},
              {"chunks", store.chunks()},
              {"mapped", store.mapped * store.chunk_size()},
              {"policy", description_.policy},
              {"interval", description_.interval},
              {"scheduler", description_.scheduler},
              {"tiers", std::move(tiers)},
              {"warnings", notes_.notes}};
  for (const std::string& why : tiers_.missing) {
    out["warnings"].push_back(why);
  }
  return out;
}

Json VolumeServer::statistics() {
  const tier::Store& store = engine_->store();
  const tier::VolumeCounts& counts = engine_->counts();
  Json tiers = Json::array();
  for (unsigned i = 0; i < store.tier_count(); ++i) {
    tier::TierQueue* const queue = engine_->queue(i);
    if (queue == nullptr) {
      continue;
    }
    const tier::TierCounts& own = queue->counts();
    const double mean = own.foreground_requests > 0
                            ? own.foreground_seconds / static_cast<double>(own.foreground_requests)
                            : 0;
    tiers.push_back({{"name", store.tier_name(i)},
                     {"hits", counts.hits[i]},
                     {"reads", own.reads},
                     {"writes", own.writes},
                     {"read_bytes", own.read_bytes},
                     {"written_bytes", own.written_bytes},
                     {"moved_in", own.moved_in},
                     {"moved_out", own.moved_out},
                     {"errors", own.errors},
                     {"flushes", own.flushes},
                     {"queued", queue->open()},
                     {"most_queued", queue->most_open()},
                     {"mean_latency", mean},
                     {"used", store.slots[i].used() * store.chunk_size()},
                     {"size", store.slots[i].count() * store.chunk_size()}});
  }
  Json moved = Json::object();
  for (unsigned i = 0; i < tier::reasons; ++i) {
    moved[tier::name_of(static_cast<tier::Reason>(i))] = {{"chunks", counts.moved_chunks[i]},
                                                          {"bytes", counts.moved_bytes[i]}};
  }
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const double up = steady_seconds() - started_;
  const double used = static_cast<double>(nanoseconds(cpu)) * 1e-9;
  return {{"name", folder_.name()},
          {"seconds", up},
          {"cpu_seconds", used},
          {"reads", counts.reads},
          {"writes", counts.writes},
          {"read_bytes", counts.read_bytes},
          {"written_bytes", counts.written_bytes},
          {"flushes", counts.flushes},
          {"zeroes", counts.zeroes},
          {"tiers", std::move(tiers)},
          {"moved", std::move(moved)},
          {"returned", counts.returned},
          {"replicated", counts.replicated},
          {"prefetched", counts.prefetched},
          {"prefetch_hits", counts.prefetch_hits},
          {"redirected", counts.redirected},
          {"cancelled", counts.cancelled},
          {"held", counts.held},
          {"no_space", counts.no_space},
          {"queued", engine_->queued() + backlog_.size()},
          {"moving", engine_->moving()},
          {"pending", engine_->pending()},
          {"policy_runs", policy_runs_},
          {"map",
           {{"commits", store.counts().commits},
            {"journal_blocks", store.counts().journal_blocks},
            {"checkpoints", store.counts().checkpoints},
            {"written_bytes", store.counts().bytes}}}};
}

// {"first", "count"}: rows of chunks that were written, in order.
Result<Json> VolumeServer::map(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"first", "count"}));
  const tier::Store& store = engine_->store();
  const std::uint64_t first = request.value("first", std::uint64_t{0});
  const std::uint64_t count = std::min(request.value("count", most_rows), most_rows);
  Json rows = Json::array();
  std::uint64_t chunk = first;
  for (; chunk < store.chunks() && rows.size() < count; ++chunk) {
    const tier::Entry& entry = store.entries[chunk];
    if (!entry.mapped()) {
      continue;
    }
    const tier::Heat& heat = store.heat[chunk];
    Json row = {{"chunk", chunk},
                {"tier", store.tier_name(entry.place().tier)},
                {"score", heat.score + static_cast<float>(heat.reads) + static_cast<float>(heat.writes)},
                {"last", entry.last}};
    const tier::Label label = entry.hints();
    if (label != tier::Label{}) {
      row["hints"] = describe(label);
    }
    if (entry.stream() != 0) {
      row["stream"] = entry.stream();
    }
    if ((entry.flags & tier::flag_replicated) != 0) {
      const tier::Replicas::Copies copies = store.replicas.find(chunk);
      row["copies"] = Json::array();
      for (unsigned i = 0; i < copies.count; ++i) {
        row["copies"].push_back(store.tier_name(copies.places[i].tier));
      }
    }
    if (engine_->prefetched(chunk)) {
      row["prefetched"] = true;
    }
    rows.push_back(std::move(row));
  }
  return Json{{"chunk_size", store.chunk_size()},
              {"rows", std::move(rows)},
              {"next", chunk < store.chunks() ? Json(chunk) : Json(nullptr)}};
}

// {"buckets"}: the volume in equal parts, each with its mean score and how much of it is on which tier.
Result<Json> VolumeServer::heat(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"buckets"}));
  const tier::Store& store = engine_->store();
  const std::uint64_t buckets = std::clamp<std::uint64_t>(request.value("buckets", std::uint64_t{64}), 1,
                                                          std::min(store.chunks(), most_rows));
  Json names = Json::array();
  for (unsigned i = 0; i < store.tier_count(); ++i) {
    names.push_back(store.tier_name(i));
  }
  Json rows = Json::array();
  for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
    const std::uint64_t first = bucket * store.chunks() / buckets;
    const std::uint64_t end = (bucket + 1) * store.chunks() / buckets;
    double score = 0;
    float most = 0;
    std::array<std::uint64_t, tier::most_tiers> on{};
    for (std::uint64_t chunk = first; chunk < end; ++chunk) {
      const tier::Heat& heat = store.heat[chunk];
      const float own = heat.score + static_cast<float>(heat.reads) + static_cast<float>(heat.writes);
      score += static_cast<double>(own);
      most = std::max(most, own);
      if (store.entries[chunk].mapped()) {
        ++on[store.entries[chunk].place().tier];
      }
    }
    Json tiers = Json::array();
    for (unsigned i = 0; i < store.tier_count(); ++i) {
      tiers.push_back(on[i]);
    }
    rows.push_back({{"first", first},
                    {"chunks", end - first},
                    {"score", score / static_cast<double>(end - first)},
                    {"most", most},
                    {"tiers", std::move(tiers)}});
  }
  return Json{{"name", folder_.name()},
              {"chunk_size", store.chunk_size()},
              {"tiers", std::move(names)},
              {"buckets", std::move(rows)}};
}

// {"action", "first", "count", "to"}: an operation on each of these chunks.
Result<Json> VolumeServer::operate(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"action", "first", "count", "to"}));
  const std::string action = request.at("action");
  tier::Operation operation;
  operation.reason = tier::Reason::asked;
  const std::array actions = {tier::Action::migrate, tier::Action::replicate, tier::Action::prefetch,
                              tier::Action::drop};
  const auto* const found = std::find_if(actions.begin(), actions.end(),
                                         [&](tier::Action it) { return tier::name_of(it) == action; });
  if (found == actions.end()) {
    return bad_input(fmt::format("{} is no operation", quote(action)));
  }
  operation.action = *found;
  if (request.contains("to")) {
    SLUICE_TRY(const unsigned to, tier_named(request.at("to")));
    operation.to = static_cast<std::uint8_t>(to);
  } else if (operation.action == tier::Action::prefetch) {
    operation.to = 0;
  } else if (operation.action != tier::Action::drop) {
    return bad_input("to which tier?");
  }
  if (operation.action == tier::Action::prefetch && engine_->options().prefetch_slots == 0) {
    return fail("the volume has no prefetch buffer",
                "it gets one when it is made: sluice volume create --prefetch-buffer SIZE");
  }
  const std::uint64_t first = request.at("first");
  const std::uint64_t count = request.value("count", std::uint64_t{1});
  if (count == 0 || first >= engine_->store().chunks() || count > engine_->store().chunks() - first) {
    return bad_input(fmt::format("the volume has chunks 0 to {}", engine_->store().chunks() - 1));
  }
  std::uint64_t queued = 0;
  for (std::uint64_t chunk = first; chunk < first + count; ++chunk) {
    if (engine_->store().entries[chunk].mapped()) {
      operation.chunk = chunk;
      backlog_.push_back(operation);
      ++queued;
    }
  }
  return Json{{"queued", queued}};
}

Result<Json> VolumeServer::drain(const Json& request, bool on) {
  SLUICE_CHECK(check_keys(request, {"tier"}));
  SLUICE_TRY(const unsigned tier, tier_named(request.at("tier")));
  if (on) {
    SLUICE_CHECK(engine_->drain(tier));
  } else {
    engine_->undrain(tier);
  }
  return left_on(tier);
}

Json VolumeServer::left_on(unsigned tier) const {
  const tier::Store& store = engine_->store();
  return {{"left", (store.slots[tier].count() - engine_->space().free(tier)) * store.chunk_size()},
          {"draining", engine_->draining(tier)}};
}

// {"policy"} begins a dry run; without it, what the last one found.
Result<Json> VolumeServer::propose(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"policy", "now"}));
  if (request.contains("policy") || request.contains("now")) {
    if (runner_->busy()) {
      return fail("the policy is at work", "try again in a moment");
    }
    SLUICE_TRY(const tier::Policy* policy, tier::find_policy(request.value("policy", description_.policy)));
    dry_run_ = !request.value("now", false);
    last_proposals_ = nullptr;
    runner_->start(*policy, settings_, placement_, !dry_run_);
    return Json::object();
  }
  return Json{{"busy", runner_->busy()}, {"proposals", last_proposals_}};
}

// What can be changed while the volume is served; it is kept in the description.
Result<Json> VolumeServer::configure(const Json& request) {
  SLUICE_CHECK(
      check_keys(request, {"policy", "interval", "top", "threshold", "damping", "keep_free", "placement"}));
  Json json = to_json(description_);
  json.update(request);
  SLUICE_TRY(const Description changed, from_json(json));
  SLUICE_TRY(const tier::Policy* policy, tier::find_policy(changed.policy));
  const Description before = description_;
  description_ = changed;
  if (Status placed = place_labels(); !placed) {
    description_ = before;
    return std::move(placed).error();
  }
  SLUICE_CHECK(folder_.write(description_));
  policy_ = policy;
  settings_ = {.top = description_.top,
               .threshold = description_.threshold,
               .damping = description_.damping,
               .keep_free = description_.keep_free};
  next_policy_ = std::min(
      next_policy_, service::monotonic_now() + std::chrono::duration_cast<service::Instant>(
                                                   std::chrono::duration<double>(description_.interval)));
  return to_json(description_);
}

Result<Json> VolumeServer::add_tier(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"name", "path", "size", "persistent", "make"}));
  const TierSpec spec{.name = request.at("name"),
                      .path = request.at("path"),
                      .size = request.value("size", std::uint64_t{0}),
                      .persistent = request.value("persistent", true),
                      .make = request.value("make", false)};
  std::unique_ptr<tier::Device> device;
  if (tier::NbdDevice::is_uri(spec.path)) {
    SLUICE_TRY(auto opened, tier::NbdDevice::open(spec.path, false));
    SLUICE_CHECK(reactor_.watch(opened->fd(), [] {}));
    tiers_.fds.push_back(opened->fd());
    device = std::move(opened);
  } else {
    if (spec.make) {
      SLUICE_CHECK(tier::FileDevice::create(spec.path, spec.size));
    }
    SLUICE_TRY(device, tier::FileDevice::open(*tiers_.ring, spec.path, false));
  }
  // The description first: a tier that it names and that has no label is left out with a warning, and one
  // that it does not name would be missed.
  Description changed = description_;
  changed.tiers.push_back(spec);
  changed.tiers.back().make = false;
  SLUICE_CHECK(folder_.write(changed));
  if (Status added = engine_->add_tier(
          {.name = spec.name, .device = device.get(), .persistent = spec.persistent, .size = spec.size});
      !added) {
    if (spec.make) {
      sys().unlink(spec.path.c_str());
    }
    SLUICE_CHECK(folder_.write(description_));
    return std::move(added).error();
  }
  description_ = changed;
  tiers_.devices.push_back(std::move(device));
  return status();
}

Result<Json> VolumeServer::remove_tier(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"tier"}));
  const std::string name = request.at("tier");
  SLUICE_TRY(const unsigned tier, tier_named(name));
  const tier::Device* const device = engine_->store().device(tier);
  SLUICE_CHECK(engine_->remove_tier(tier));
  std::erase_if(tiers_.devices, [device](const auto& it) { return it.get() == device; });
  std::erase_if(description_.tiers, [&](const TierSpec& spec) { return spec.name == name; });
  SLUICE_CHECK(folder_.write(description_));
  return status();
}

Result<Json> VolumeServer::resize(const Json& request) {
  SLUICE_CHECK(check_keys(request, {"size"}));
  const std::uint64_t size = request.at("size");
  const std::uint64_t chunk_size = engine_->store().chunk_size();
  SLUICE_CHECK(engine_->resize((size + chunk_size - 1) / chunk_size));
  return status();
}

}  // namespace sluice::volume
