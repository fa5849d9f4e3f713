#include "fronts/volume/volume_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "tier/nbd_device.h"

namespace sluice::volume {
namespace {

bool is_in_memory(const std::string& path) {
  struct statfs found {};
  return statfs(path.c_str(), &found) == 0 && (found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC);
}

bool is_memory_device(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("zram") || name.starts_with("ram");
}

Status check_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.size() > 31 || name.front() == '.' || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), good)) {
    return bad_input(fmt::format("{} cannot be a name", quote(name)),
                     "letters, digits, '.', '_' and '-', 31 at most, and a letter or digit first");
  }
  return {};
}

// Whoever can write here decides which devices root's server opens.
Status check_owner(const std::string& path) {
  struct stat found {};
  if (sys().stat(path.c_str(), &found) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(path)));
  }
  if ((found.st_uid != geteuid() && found.st_uid != 0) || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(fmt::format("others may write to {}", quote(path)),
                fmt::format("it should be yours and have mode 0700: chown and chmod it, or give --volumes"));
  }
  return {};
}

}  // namespace

const Option option_volumes = {
    .name = "volumes",
    .type = OptionType::path,
    .argument = "DIR",
    .help =
        "where volumes are described; by default /var/lib/sluice/volumes for root, and "
        "for others sluice/volumes in $XDG_DATA_HOME or ~/.local/share",
    .setting = true};

std::string volumes_folder(const Options& options) {
  if (options.given("volumes")) {
    return absolute(options.text("volumes"), current_folder());
  }
  return default_volumes_folder();
}

std::string default_volumes_folder() {
  if (geteuid() == 0) {
    return "/var/lib/sluice/volumes";
  }
  const std::string data = environment("XDG_DATA_HOME");
  return data.starts_with('/') ? data + "/sluice/volumes"
                               : environment("HOME") + "/.local/share/sluice/volumes";
}

Status VolumeFolder::create(const Description& description) const {
  SLUICE_CHECK(check_name(name()));
  SLUICE_CHECK(make_folders(folder_of(path())));
  if (sys().mkdir(path().c_str(), 0700) != 0) {
    const Errno error;
    return errno == EEXIST ? fail(fmt::format("there is a volume {} already", quote(name())),
                                  "choose another name, or remove that one first")
                           : error.fail(fmt::format("cannot create {}", quote(path())));
  }
  return write(description);
}

Status VolumeFolder::write(const Description& description) const {
  return write_file(file("volume.json"), write_json(to_json(description), 2) + "\n");
}

Result<Description> VolumeFolder::read() const {
  SLUICE_CHECK(check_owner(path()));
  SLUICE_TRY(const std::string text, read_file(file("volume.json"), std::size_t{1} << 20));
  const Json json = Json::parse(text, nullptr, false);
  auto out = from_json(json);
  if (!out) {
    return std::move(out).error().within(quote(file("volume.json")));
  }
  return out;
}

Status VolumeFolder::remove() const {
  SLUICE_TRY(const auto names, list_folder(path()));
  for (const std::string& name : names) {
    if (sys().unlink(file(name).c_str()) != 0 && errno != ENOENT) {
      return Errno().fail(fmt::format("cannot remove {}", quote(file(name))));
    }
  }
  return rmdir(path().c_str()) == 0 ? Status() : Errno().fail(fmt::format("cannot remove {}", quote(path())));
}

Result<UniqueFd> lock_volume(const VolumeFolder& volume) {
  const std::string path = volume.file("lock");
  UniqueFd out(sys().open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  if (flock(out.get(), LOCK_EX | LOCK_NB) != 0) {
    return Errno()
        .fail(fmt::format("another command is at work on the volume {}", quote(volume.name())))
        .advise("wait for it to end");
  }
  return out;
}

std::vector<VolumeFolder> all_volumes(const std::string& volumes) {
  std::vector<VolumeFolder> out;
  const auto names = list_folder(volumes);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    VolumeFolder volume(volumes, name);
    if (check_name(name) && sys().access(volume.file("volume.json").c_str(), F_OK) == 0) {
      out.push_back(std::move(volume));
    }
  }
  return out;
}

Result<VolumeFolder> find_volume(const std::string& volumes, const std::string& name) {
  std::vector<std::string> names;
  for (VolumeFolder& volume : all_volumes(volumes)) {
    if (volume.name() == name) {
      return std::move(volume);
    }
    names.push_back(volume.name());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string meant = did_you_mean(name, views);
  return bad_input(fmt::format("there is no volume {} in {}", quote(name), quote(volumes)),
                   !meant.empty()  ? meant
                   : names.empty() ? "`sluice volume create` makes one"
                                   : fmt::format("there is {}", join(names, ", ")));
}

Result<TierSpec> parse_tier(std::string_view text, const std::string& volume) {
  TierSpec out;
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size()) {
    return bad_input(fmt::format("{} is no tier", quote(text)), "give NAME=PATH[,SIZE][,volatile]");
  }
  out.name = std::string(text.substr(0, sign));
  SLUICE_CHECK(check_name(out.name));
  std::string_view rest = text.substr(sign + 1);
  bool said = false;
  // From the end, because a path may have commas.
  for (std::size_t comma = rest.rfind(','); comma != std::string_view::npos; comma = rest.rfind(',')) {
    const std::string_view word = rest.substr(comma + 1);
    if (word == "volatile" || word == "persistent") {
      out.persistent = word == "persistent";
      said = true;
    } else if (const auto size = parse_size(word); size && !word.empty()) {
      out.size = *size;
    } else {
      break;
    }
    rest = rest.substr(0, comma);
  }
  out.path = std::string(rest);
  if (tier::NbdDevice::is_uri(out.path)) {
    return out;
  }
  out.path = absolute(out.path, current_folder());
  struct stat found {};
  const bool exists = sys().stat(out.path.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) {
    out.path += fmt::format("/{}-{}.tier", volume, out.name);
    out.make = sys().stat(out.path.c_str(), &found) != 0;
  } else {
    out.make = !exists;
  }
  if (out.make && out.size == 0) {
    return bad_input(fmt::format("{} is not there", quote(out.path)),
                     fmt::format("to have it made, say how large: --tier {}={},10G", out.name, out.path));
  }
  if (!said) {
    const bool block_device = exists && S_ISBLK(found.st_mode);
    out.persistent =
        block_device ? !is_memory_device(out.path) : !is_in_memory(exists ? out.path : folder_of(out.path));
  }
  return out;
}

Json to_json(const Description& description) {
  Json tiers = Json::array();
  for (const TierSpec& tier : description.tiers) {
    Json row = {{"name", tier.name}};
    put_bytes(row, "path", tier.path);
    row["size"] = tier.size;
    row["persistent"] = tier.persistent;
    tiers.push_back(std::move(row));
  }
  return {{"version", 1},
          {"tiers", std::move(tiers)},
          {"policy", description.policy},
          {"interval", description.interval},
          {"scheduler", description.scheduler},
          {"move_rate", description.move_rate},
          {"prefetch_slots", description.prefetch_slots},
          {"update_copies", description.update_copies},
          {"top", description.top},
          {"threshold", description.threshold},
          {"damping", description.damping},
          {"keep_free", description.keep_free},
          {"placement", description.placement}};
}

Result<Description> from_json(const Json& json) {
  try {
    if (!json.is_object() || json.at("version") != 1) {
      return fail("it is not the description of a volume");
    }
    Description out;
    for (const Json& row : json.at("tiers")) {
      out.tiers.push_back({.name = row.at("name"),
                           .path = row.at("path"),
                           .size = row.value("size", std::uint64_t{0}),
                           .persistent = row.value("persistent", true)});
    }
    out.policy = json.value("policy", out.policy);
    out.interval = json.value("interval", out.interval);
    out.scheduler = json.value("scheduler", out.scheduler);
    out.move_rate = json.value("move_rate", out.move_rate);
    out.prefetch_slots = json.value("prefetch_slots", out.prefetch_slots);
    out.update_copies = json.value("update_copies", out.update_copies);
    out.top = json.value("top", out.top);
    out.threshold = json.value("threshold", out.threshold);
    out.damping = json.value("damping", out.damping);
    out.keep_free = json.value("keep_free", out.keep_free);
    out.placement = json.value("placement", out.placement);
    return out;
  } catch (const Json::exception& error) {
    return fail(fmt::format("it does not say what it must: {}", error.what()));
  }
}

}  // namespace sluice::volume
