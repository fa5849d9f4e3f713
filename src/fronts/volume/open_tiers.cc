#include "fronts/volume/open_tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/subprocess.h"
#include "base/text.h"
#include "tier/file_device.h"
#include "tier/nbd_device.h"

namespace sluice::volume {

Result<OpenTiers> open_tiers(const Description& description, bool look_only, bool all) {
  OpenTiers out;
  SLUICE_TRY(out.ring, tier::Ring::create());
  for (const TierSpec& spec : description.tiers) {
    const auto open = [&]() -> Result<std::unique_ptr<tier::Device>> {
      if (tier::NbdDevice::is_uri(spec.path)) {
        SLUICE_TRY(auto device, tier::NbdDevice::open(spec.path, look_only));
        out.fds.push_back(device->fd());
        return std::unique_ptr<tier::Device>(std::move(device));
      }
      // Memory that went with the power is made again.
      if (!spec.persistent && spec.size > 0 && !look_only && sys().access(spec.path.c_str(), F_OK) != 0) {
        SLUICE_CHECK(tier::FileDevice::create(spec.path, spec.size));
      }
      SLUICE_TRY(auto device, tier::FileDevice::open(*out.ring, spec.path, look_only));
      return std::unique_ptr<tier::Device>(std::move(device));
    };
    auto device = open();
    if (!device) {
      Error error = std::move(device).error().within(fmt::format("tier {}", quote(spec.name)));
      // What is not there may be left out. What somebody else uses, or may change, may not.
      static constexpr std::array gone = {ENOENT, ENXIO, ENODEV, EIO, ENOTCONN};
      const bool absent = tier::NbdDevice::is_uri(spec.path) ||
                          std::find(gone.begin(), gone.end(), error.number) != gone.end();
      if (all || !absent) {
        return error;
      }
      out.missing.push_back(error.text());
      continue;
    }
    out.tiers.push_back(
        {.name = spec.name, .device = device->get(), .persistent = spec.persistent, .size = spec.size});
    out.devices.push_back(std::move(*device));
  }
  return out;
}

Status check_empty(const TierSpec& spec) {
  if (tier::NbdDevice::is_uri(spec.path) || spec.make) {
    return {};
  }
  SLUICE_TRY(const auto ring, tier::Ring::create());
  SLUICE_TRY(const auto device, tier::FileDevice::open(*ring, spec.path, true));
  if (const auto label = tier::Store::read_label(*device)) {
    return fail(fmt::format("{} is a tier of a volume already", quote(spec.path)),
                "give --force to make it a new one; what is on it is lost");
  }
  // blkid knows file systems, partition tables, RAID and LVM.
  std::vector<Subprocess> asked;
  asked.push_back(Subprocess::start(Command("blkid", {"-p", spec.path})));
  const auto found =
      Subprocess::finish(std::move(asked), std::chrono::steady_clock::now() + std::chrono::seconds(10));
  if (found.front().status == 0 && !found.front().output.empty()) {
    return fail(fmt::format("{} holds something: {}", quote(spec.path), escape(trim(found.front().output))),
                "give --force to use it all the same; what is on it is lost");
  }
  return {};
}

}  // namespace sluice::volume
