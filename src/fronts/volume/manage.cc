#include "fronts/volume/manage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/mountinfo.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "fronts/volume/fuse_file.h"
#include "fronts/volume/open_tiers.h"
#include "service/control.h"
#include "service/daemon.h"
#include "service/loop.h"
#include "tier/blocking.h"
#include "tier/file_device.h"
#include "tier/nbd_device.h"

namespace sluice::volume {
namespace {

// A server that was killed leaves its mount, which nobody can use any more.
void remove_dead_mount(const std::string& file) {
  if (sys().access(file.c_str(), F_OK) == 0 || errno != ENOTCONN) {
    return;
  }
  if (geteuid() == 0) {
    umount2(file.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  } else {
    [[maybe_unused]] const auto done = run_tool(Command("fusermount3", {"-u", "-z", "--", file}));
  }
}

// A tier on the volume's own file or loop device would wait for itself.
Status check_not_own(const VolumeFolder& folder, const Description& description) {
  for (const TierSpec& spec : description.tiers) {
    if (tier::NbdDevice::is_uri(spec.path)) {
      continue;
    }
    const auto devices = attached_devices(folder);
    if (spec.path.starts_with(folder.path() + "/") ||
        std::find(devices.begin(), devices.end(), spec.path) != devices.end()) {
      return bad_input(fmt::format("tier {} lies on the volume itself", quote(spec.name)));
    }
    struct stat tier {};
    if (sys().stat((spec.make ? folder_of(spec.path) : spec.path).c_str(), &tier) != 0) {
      continue;
    }
    for (const std::string& device : devices) {
      struct stat own {};
      if (sys().stat(device.c_str(), &own) == 0 && !S_ISBLK(tier.st_mode) && own.st_rdev == tier.st_dev) {
        return bad_input(fmt::format("tier {} lies on the volume itself", quote(spec.name)),
                         "put it on other storage");
      }
    }
  }
  for (std::size_t i = 0; i < description.tiers.size(); ++i) {
    struct stat one {};
    if (sys().stat(description.tiers[i].path.c_str(), &one) != 0) {
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) {
      struct stat other {};
      const bool same = sys().stat(description.tiers[j].path.c_str(), &other) == 0 &&
                        (S_ISBLK(one.st_mode) && S_ISBLK(other.st_mode)
                             ? one.st_rdev == other.st_rdev
                             : one.st_dev == other.st_dev && one.st_ino == other.st_ino);
      if (same) {
        return bad_input(fmt::format("tiers {} and {} are the same", quote(description.tiers[j].name),
                                     quote(description.tiers[i].name)));
      }
    }
  }
  return {};
}

Json describe(const tier::LabelBlock& label) {
  return {
      {"size", label.chunks * label.chunk_size}, {"chunk_size", label.chunk_size}, {"chunks", label.chunks}};
}

}  // namespace

Result<Json> create_volume(const VolumeFolder& folder, Description description, const tier::VolumePlan& plan,
                           bool force) {
  SLUICE_CHECK(check_not_own(folder, description));
  for (const TierSpec& spec : description.tiers) {
    if (!force) {
      SLUICE_CHECK(check_empty(spec));
    }
  }
  SLUICE_CHECK(folder.create(description));
  std::vector<std::string> made;
  const auto undo = [&] {
    for (const std::string& path : made) {
      sys().unlink(path.c_str());
    }
    [[maybe_unused]] const Status removed = folder.remove();
  };
  const auto make = [&]() -> Result<Json> {
    SLUICE_TRY(const UniqueFd lock, lock_volume(folder));
    for (TierSpec& spec : description.tiers) {
      if (spec.make) {
        SLUICE_CHECK(tier::FileDevice::create(spec.path, spec.size));
        made.push_back(spec.path);
        spec.make = false;
      }
    }
    SLUICE_TRY(const OpenTiers tiers, open_tiers(description, false, true));
    SLUICE_TRY(const tier::LabelBlock label, tier::Store::plan(plan, tiers.tiers));
    SLUICE_CHECK(tier::Store::create(label, tiers.tiers));
    Json out = describe(label);
    out["name"] = folder.name();
    return out;
  };
  auto out = make();
  if (!out) {
    undo();
  }
  return out;
}

Result<Json> adopt_volume(const VolumeFolder& folder, Description description) {
  SLUICE_CHECK(check_not_own(folder, description));
  SLUICE_TRY(const OpenTiers tiers, open_tiers(description, true, true));
  tier::Store::Loaded notes;
  SLUICE_TRY(const auto store, tier::Store::load(tiers.tiers, true, notes));
  // Tiers are known by the names in their labels.
  for (std::size_t i = 0; i < description.tiers.size(); ++i) {
    SLUICE_TRY(const tier::LabelBlock label, tier::Store::read_label(*tiers.devices[i]));
    description.tiers[i].name = store->tier_name(label.tier);
    description.tiers[i].persistent = store->persistent(label.tier);
  }
  SLUICE_CHECK(folder.create(description));
  Json out = describe(store->label());
  out["name"] = folder.name();
  return out;
}

Status remove_volume(const VolumeFolder& folder, bool wipe) {
  SLUICE_TRY(const UniqueFd lock, lock_volume(folder));
  if (folder.server() > 0) {
    return fail(fmt::format("the volume {} is being served", quote(folder.name())),
                fmt::format("end its server first: {}", folder.end_command()));
  }
  remove_dead_mount(folder.disk());
  if (wipe) {
    SLUICE_TRY(const Description description, folder.read());
    SLUICE_TRY(const OpenTiers tiers, open_tiers(description, false, false));
    for (const tier::TierDevice& tier : tiers.tiers) {
      tier::Buffer nothing(2 * tier::block_size);
      SLUICE_CHECK(tier::transfer(*tier.device, tier::Op::write, 0, {nothing.data(), nothing.size()}));
    }
  }
  return folder.remove();
}

Result<Json> serve_volume(const VolumeFolder& folder, bool foreground,
                          const std::function<void()>& announce) {
  SLUICE_TRY(UniqueFd lock, lock_volume(folder));
  if (const int pid = folder.server(); pid > 0) {
    return fail(fmt::format("the volume {} is served already, by process {}", quote(folder.name()), pid));
  }
  SLUICE_TRY(const Description description, folder.read());
  SLUICE_CHECK(check_not_own(folder, description));
  remove_dead_mount(folder.disk());
  const auto serve = [&](const service::Ready& ready) {
    return serve_file(folder, [&] {
      ready();
      if (foreground && announce) {
        announce();
      }
    });
  };
  if (foreground) {
    SLUICE_CHECK(service::serve_here(folder, lock, serve));
    return Json(nullptr);
  }
  SLUICE_TRY(const int pid, service::start_server(folder, lock, serve));
  SLUICE_TRY(Json out, service::ask(folder, "status"));
  out["pid"] = pid;
  put_bytes(out, "file", folder.disk());
  return out;
}

Status stop_volume(const VolumeFolder& folder, bool force) {
  SLUICE_TRY(const UniqueFd lock, lock_volume(folder));
  if (!force) {
    const auto devices = attached_devices(folder);
    if (!devices.empty() && folder.server() > 0) {
      return fail(fmt::format("{} is attached to the volume {}", join(devices, ", "), quote(folder.name())),
                  fmt::format("unmount what is on it, then: sluice volume detach {}", folder.name()));
    }
  }
  // Its queues may be long and its devices slow.
  if (const int pid = folder.server(); pid > 0) {
    SLUICE_CHECK(service::end_server(folder, Duration(120, 0)));
  }
  remove_dead_mount(folder.disk());
  return {};
}

std::vector<std::string> attached_devices(const VolumeFolder& folder) {
  return service::loops_below(folder.path());
}

Result<std::string> attach_volume(const VolumeFolder& folder) {
  SLUICE_TRY(const UniqueFd lock, lock_volume(folder));
  if (folder.server() <= 0) {
    return fail(fmt::format("nobody serves the volume {}", quote(folder.name())),
                fmt::format("start its server: sluice volume serve {}", folder.name()));
  }
  if (const auto devices = attached_devices(folder); !devices.empty()) {
    return fail(
        fmt::format("the volume {} is attached already: {}", quote(folder.name()), join(devices, ", ")));
  }
  SLUICE_TRY(const service::LoopDevice device, service::attach_loop(folder.disk(), false, tier::block_size));
  return device.path;
}

Status detach_volume(const VolumeFolder& folder) {
  SLUICE_TRY(const UniqueFd lock, lock_volume(folder));
  const auto devices = attached_devices(folder);
  if (devices.empty()) {
    return fail(fmt::format("the volume {} is not attached", quote(folder.name())));
  }
  for (const std::string& device : devices) {
    // A loop device that is in use would detach itself later, and nobody would know when.
    const UniqueFd exclusive(sys().open(device.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC, 0));
    if (!exclusive) {
      return Errno().fail(fmt::format("cannot detach {}", device)).advise("unmount what is on it first");
    }
  }
  for (const std::string& device : devices) {
    SLUICE_CHECK(service::detach_loop(device, folder.path()));
  }
  return {};
}

Status tell_size(const VolumeFolder& folder) {
  for (const std::string& device : attached_devices(folder)) {
    const UniqueFd fd(sys().open(device.c_str(), O_RDONLY | O_CLOEXEC, 0));
    if (!fd || sys().ioctl(fd.get(), LOOP_SET_CAPACITY, nullptr) != 0) {
      return Errno().fail(fmt::format("cannot tell {} of the new size", device));
    }
  }
  return {};
}

Status check_new_tier(const VolumeFolder& folder, const TierSpec& spec, bool force) {
  SLUICE_TRY(Description description, folder.read());
  description.tiers.push_back(spec);
  SLUICE_CHECK(check_not_own(folder, description));
  return force ? Status() : check_empty(spec);
}

Result<Json> check_volume(const VolumeFolder& folder, bool read) {
  SLUICE_TRY(const UniqueFd lock, lock_volume(folder));
  if (folder.server() > 0) {
    return fail(
        fmt::format("the volume {} is being served", quote(folder.name())),
        fmt::format("end its server first ({}), or look with `sluice volume status`", folder.end_command()));
  }
  SLUICE_TRY(const Description description, folder.read());
  SLUICE_TRY(const OpenTiers tiers, open_tiers(description, true, false));
  tier::Store::Loaded notes;
  SLUICE_TRY(const auto store, tier::Store::load(tiers.tiers, true, notes));
  Json lost = Json::array();
  const std::uint64_t chunk_size = store->chunk_size();
  const auto lose = [&](std::uint64_t chunk, const std::string& tier) {
    if (!lost.empty() && lost.back().at("tier") == tier &&
        lost.back().at("offset").get<std::uint64_t>() + lost.back().at("length").get<std::uint64_t>() ==
            chunk * chunk_size) {
      lost.back()["length"] = lost.back().at("length").get<std::uint64_t>() + chunk_size;
    } else {
      lost.push_back({{"offset", chunk * chunk_size}, {"length", chunk_size}, {"tier", tier}});
    }
  };
  tier::Buffer data(read ? chunk_size : tier::block_size);
  const auto readable = [&](tier::Place place) {
    tier::Device* const device = store->device(place.tier);
    return device != nullptr && (!read || tier::transfer(*device, tier::Op::read, store->offset(place),
                                                         {data.data(), data.size()}));
  };
  for (std::uint64_t chunk = 0; chunk < store->chunks(); ++chunk) {
    const tier::Entry& entry = store->entries[chunk];
    if (!entry.mapped() || readable(entry.place())) {
      continue;
    }
    const tier::Replicas::Copies copies = store->replicas.find(chunk);
    const bool diverging = (entry.flags & tier::flag_diverging) != 0;
    if (diverging || std::none_of(copies.places.begin(), copies.places.begin() + copies.count, readable)) {
      lose(chunk, store->tier_name(entry.place().tier));
    }
  }
  Json out = describe(store->label());
  out["name"] = folder.name();
  out["clean"] = notes.was_clean;
  out["mapped"] = store->mapped * chunk_size;
  out["notes"] = notes.notes;
  out["missing"] = tiers.missing;
  out["lost"] = std::move(lost);
  return out;
}

}  // namespace sluice::volume
