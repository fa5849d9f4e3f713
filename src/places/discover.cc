#include "places/discover.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "places/defaults.h"
#include "places/describe.h"
#include "places/filesystems.h"
#include "places/machine.h"
#include "places/mounts.h"
#include "places/naming.h"
#include "places/overrides.h"
#include "places/select.h"

namespace sluice {
namespace {

bool is_network(const Mount& mount) {
  return filesystem_facts(mount.type, mount.major != 0).kind == FsClass::network;
}

// UUIDs of file systems by kernel name of their device, as udev left them.
std::unordered_map<std::string, std::string> known_uuids(const Machine& machine) {
  std::unordered_map<std::string, std::string> out;
  for (const std::string& uuid : machine.list("/dev/disk/by-uuid")) {
    const std::string target = machine.link("/dev/disk/by-uuid/" + uuid);
    out.emplace(target.substr(target.rfind('/') + 1), uuid);
  }
  return out;
}

bool has_logical_volumes(const Machine& machine) {
  for (const std::string& name : machine.list("/sys/block")) {
    if (name.starts_with("dm-") && machine.line("/sys/block/" + name + "/dm/uuid").starts_with("LVM-")) {
      return true;
    }
  }
  return false;
}

// Tools to run, each once however many mounts ask for it.
class ToolBox {
 public:
  std::size_t add(const Tool& tool) {
    const auto [at, fresh] = numbers_.try_emplace(tool, tools_.size());
    if (fresh) {
      tools_.push_back(tool);
    }
    return at->second;
  }
  [[nodiscard]] const std::vector<Tool>& tools() const { return tools_; }

 private:
  std::vector<Tool> tools_;
  std::map<Tool, std::size_t> numbers_;
};

class Discoverer {
 public:
  Discoverer(const Machine& machine, const MountInfo& info, const Overrides& overrides,
             const DiscoverOptions& options)
      : machine_(machine),
        mounts_(info.mounts),
        overrides_(overrides),
        options_(options),
        user_(machine.user()),
        uuids_(known_uuids(machine)) {
    for (const std::string& line : info.unread) {
      out_.skipped.push_back({.mount = {}, .filesystem = {}, .because = line});
    }
  }

  Result<Discovery> run() {
    choose_candidates();
    ask();
    judge_answers(candidates_);
    describe();
    SLUICE_CHECK(apply_overrides());
    finish();
    return std::move(out_);
  }

 private:
  void choose_candidates() {
    std::set<const Mount*> wanted;
    for (const PlaceOverride& one : overrides_.places) {
      if (one.path) {
        wanted.insert(mounts_.holder(*one.path));
      }
    }
    for (const Mount& mount : mounts_.all()) {
      const bool is_wanted = wanted.contains(&mount);
      std::string because = reason_to_skip(mount, mounts_, user_.id, is_wanted);
      if (because.empty()) {
        candidates_.push_back({.mount = &mount, .answer = {}, .wanted = is_wanted, .because = {}});
      } else {
        skip(mount, std::move(because));
      }
    }
    // Those that answer surely come first, so that a dead server does not keep them waiting.
    std::stable_partition(candidates_.begin(), candidates_.end(),
                          [](const MountCandidate& one) { return !is_network(*one.mount); });
  }

  std::vector<Question> questions() {
    std::unordered_map<const Mount*, std::vector<std::string>> folders;
    for (const std::string& folder : user_.folders) {
      folders[mounts_.holder(folder)].push_back(folder);
    }
    std::vector<Question> out;
    for (const MountCandidate& one : candidates_) {
      const Mount& mount = *one.mount;
      Question question{.folder = mount.point, .folders = {}, .device = {}, .device_number = 0};
      if (const auto found = folders.find(&mount); found != folders.end()) {
        question.folders = found->second;
      }
      if (mount.major != 0 && mount.source.starts_with("/dev/") && !uuids_.contains(kernel_name(mount))) {
        question.device = mount.source;
        question.device_number = makedev(mount.major, mount.minor);
      }
      out.push_back(std::move(question));
    }
    // Folders that the configuration makes places of are asked for themselves, after the mounts.
    for (const PlaceOverride& one : overrides_.places) {
      if (one.path && !is_mount_point(*one.path)) {
        folder_answers_[*one.path] = out.size();
        out.push_back({.folder = *one.path, .folders = {}, .device = {}, .device_number = 0});
      }
    }
    return out;
  }

  void ask() {
    ToolBox box;
    std::optional<std::size_t> lvs;
    std::optional<std::size_t> zpool;
    std::vector<std::vector<std::size_t>> tools(candidates_.size());
    if (has_logical_volumes(machine_)) {
      lvs = box.add(lvs_command());
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Mount& mount = *candidates_[i].mount;
      if (mount.type == "zfs") {
        zpool = box.add(zpool_command());
      }
      for (const Tool& tool : is_network(mount) ? network_tools(mount) : std::vector<Tool>{}) {
        tools[i].push_back(box.add(tool));
      }
    }
    const std::vector<Question> asked = questions();
    answers_ = machine_.ask(asked, box.tools(), options_.timeout, options_.progress);
    if (lvs) {
      volumes_ = parse_lvs(answers_.tools[*lvs].output);
    }
    if (zpool) {
      pools_ = parse_zpool_status(answers_.tools[*zpool].output);
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      candidates_[i].answer = answers_.mounts[i];
      if (!tools[i].empty()) {
        std::vector<const Outcome*> outcomes;
        for (const std::size_t tool : tools[i]) {
          outcomes.push_back(&answers_.tools[tool]);
        }
        network_[candidates_[i].mount] = network_facts(*candidates_[i].mount, outcomes);
      }
    }
  }

  void describe() {
    Describer describer(machine_, mounts_, volumes_, pools_);
    std::stable_sort(
        candidates_.begin(), candidates_.end(),
        [](const MountCandidate& a, const MountCandidate& b) { return a.mount->point < b.mount->point; });
    out_.places.reserve(candidates_.size());
    for (const MountCandidate& one : candidates_) {
      if (!one.because.empty()) {
        skip(*one.mount, one.because);
        continue;
      }
      const auto facts = network_.find(one.mount);
      std::string uuid = one.answer.uuid;
      if (const auto known = uuids_.find(kernel_name(*one.mount)); uuid.empty() && known != uuids_.end()) {
        uuid = known->second;
      }
      out_.places.push_back(describer.describe(*one.mount, one.answer, uuid,
                                               facts != network_.end() ? facts->second : NetworkFacts{}));
      apply_devices(overrides_.devices, out_.places.back());
    }
  }

  Status apply_overrides() {
    UniqueNames names;
    for (const PlaceOverride& one : overrides_.places) {
      if (one.path) {
        SLUICE_CHECK(name_by_path(one, names.take(one.name)));
      }
    }
    for (Place& place : out_.places) {
      if (place.name.empty()) {
        place.name = names.take(name_of(place.mount));
      }
    }
    for (const PlaceOverride& one : overrides_.places) {
      const auto found = find_named(one);
      if (!found) {
        SLUICE_CHECK(leave_out(one, found.error()));
        continue;
      }
      Place* const place = *found;
      take_traits(one.traits, *place);
      if (!one.ignored.empty()) {
        out_.skipped.push_back({.mount = place->path,
                                .filesystem = place->filesystem,
                                .because = fmt::format("ignored, says {}", one.ignored)});
        ignored_.insert(place->name);
      }
    }
    std::erase_if(out_.places, [&](const Place& place) { return ignored_.contains(place.name); });
    return {};
  }

  // One to be ignored need not be there; any other must.
  Status leave_out(const PlaceOverride& one, const Error& error) {
    if (one.ignored.empty()) {
      return tl::unexpected(error);
    }
    out_.skipped.push_back({.mount = one.path.value_or(one.name),
                            .filesystem = "",
                            .because = fmt::format("not there, and ignored, says {}", one.ignored)});
    return {};
  }

  // Gives the place at this path its configured name, or adds one for a folder.
  Status name_by_path(const PlaceOverride& one, std::string name) {
    Place* base = nullptr;
    const Mount* holder = mounts_.holder(*one.path);
    for (Place& place : out_.places) {
      if (place.path == *one.path && !place.name.empty()) {
        return bad_input(fmt::format("{}: {} is already the path of place '{}'", one.path_origin,
                                     quote(*one.path), place.name),
                         "give each place its own path");
      }
      if (holder != nullptr && place.mount == holder->point &&
          (base == nullptr || base->path != place.mount)) {
        base = &place;
      }
    }
    if (base == nullptr) {
      std::string why = "nothing is mounted there";
      for (const Skipped& skipped : out_.skipped) {
        if (holder != nullptr && skipped.mount == holder->point) {
          why = skipped.because;
        }
      }
      auto error =
          bad_input(fmt::format("{}: {} cannot be a place: {}", one.path_origin, quote(*one.path), why));
      return one.ignored.empty() ? Status(std::move(error)) : Status();
    }
    const auto answer = folder_answers_.find(*one.path);
    if (answer == folder_answers_.end()) {
      base->name = std::move(name);
      base->path = *one.path;
      return {};
    }
    Place added = *base;
    added.name = std::move(name);
    added.id += ":" + one.path->substr(holder->point == "/" ? 0 : holder->point.size());
    describe_answer(answers_.mounts[answer->second], *one.path, added);
    out_.places.push_back(std::move(added));
    return {};
  }

  Result<Place*> find_named(const PlaceOverride& one) {
    std::vector<std::string_view> known;
    for (Place& place : out_.places) {
      if (place.name == one.name) {
        return &place;
      }
      known.push_back(place.name);
    }
    const std::string hint = did_you_mean(one.name, known);
    return bad_input(
        fmt::format("{}: place '{}' has no path, and no mount has that name", one.origin, one.name),
        hint.empty() ? "add path = \"/some/folder\"" : hint);
  }

  void finish() {
    // Places are large and mostly in order already: look before moving them.
    const auto before = [](const Place& a, const Place& b) {
      return std::tie(a.mount, a.path) < std::tie(b.mount, b.path);
    };
    if (!std::is_sorted(out_.places.begin(), out_.places.end(), before)) {
      std::stable_sort(out_.places.begin(), out_.places.end(), before);
    }
    std::unordered_set<std::string> identities;
    for (Place& place : out_.places) {
      fill_defaults(place);
      // Clones of one image share their UUID.
      if (!identities.insert(place.id).second) {
        place.id += ":" + place.path;
        identities.insert(place.id);
      }
    }
  }

  void skip(const Mount& mount, std::string because) {
    out_.skipped.push_back({.mount = mount.point, .filesystem = mount.type, .because = std::move(because)});
  }

  [[nodiscard]] bool is_mount_point(const std::string& path) const {
    const Mount* holder = mounts_.holder(path);
    return holder != nullptr && holder->point == path;
  }

  // "" for mounts without a device of their own.
  std::string kernel_name(const Mount& mount) {
    if (mount.major == 0) {
      return {};
    }
    const auto [at, fresh] = kernel_names_.try_emplace({mount.major, mount.minor});
    if (fresh) {
      const std::string target = machine_.link(fmt::format("/sys/dev/block/{}:{}", mount.major, mount.minor));
      at->second = target.substr(target.rfind('/') + 1);
    }
    return at->second;
  }

  const Machine& machine_;
  const Mounts mounts_;
  const Overrides& overrides_;
  const DiscoverOptions& options_;
  const Machine::User user_;
  const std::unordered_map<std::string, std::string> uuids_;
  std::map<std::pair<unsigned, unsigned>, std::string> kernel_names_;
  std::vector<MountCandidate> candidates_;
  std::map<std::string, std::size_t> folder_answers_;  // by path, into answers_.mounts
  Machine::Answers answers_;
  LvmVolumes volumes_;
  ZfsPools pools_;
  std::unordered_map<const Mount*, NetworkFacts> network_;
  std::set<std::string> ignored_;
  Discovery out_;
};

}  // namespace

Result<Discovery> discover(const Config& config, const DiscoverOptions& options) {
  SLUICE_TRY(const Overrides overrides, parse_overrides(config));
  const std::unique_ptr<Machine> machine =
      options.system.empty() ? this_machine() : recorded_machine(options.system);
  Result<std::string> text = machine->read("/proc/self/mountinfo");
  if (!text) {
    return std::move(text).error().within("cannot find out what is mounted");
  }
  return Discoverer(*machine, parse_mountinfo(*text), overrides, options).run();
}

const Place* place_of(const Discovery& found, std::string_view path) {
  std::string_view mount;
  for (const Skipped& skipped : found.skipped) {
    if (lies_in(path, skipped.mount) && skipped.mount.size() > mount.size()) {
      mount = skipped.mount;
    }
  }
  const Place* out = nullptr;
  const auto rank = [&](const Place& place) {
    // Whose folder it is not in is the mount as a whole, whose identity is the shortest.
    return std::pair(lies_in(path, place.path) ? place.path.size() : 0,
                     std::numeric_limits<std::size_t>::max() - place.id.size());
  };
  for (const Place& place : found.places) {
    if (lies_in(path, place.mount) && place.mount.size() >= mount.size() &&
        (out == nullptr || place.mount.size() > mount.size() || rank(place) > rank(*out))) {
      out = &place;
      mount = place.mount;
    }
  }
  return out;
}

}  // namespace sluice
