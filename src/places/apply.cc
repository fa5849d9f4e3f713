// The second half of overrides.h: putting what was configured into places.
#include <algorithm>
#include <type_traits>

#include "places/devices.h"
#include "places/overrides.h"

namespace sluice {
namespace {

template <class T>
void take_one(const Trait<T>& from, Trait<T>& to) {
  if (from) {
    to = from;
  }
}

// Changes the device in the tree and what those above it have from it. True when it is there.
bool change_device(const DeviceOverride& override, Device& device) {
  bool found = device.name == override.name;
  bool below = false;
  for (Device& one : device.below) {
    below = change_device(override, one) || below;
  }
  if (below) {
    inherit_from_below(device);
  }
  if (found) {
    device.media = override.traits.media.value_or(device.media);
    device.is_volatile = override.traits.is_volatile.value_or(device.is_volatile);
    if (override.traits.layout) {
      device.layout = *override.traits.layout;
      device.kind = DeviceKind::complex;
    }
  }
  return found || below;
}

// `worse(a, b)`: a is less reliable than b.
template <class T, class Worse>
void take_worse(const Trait<T>& from, Trait<T>& to, Worse worse) {
  if (from && (to.source != Source::configuration || !to || worse(*from, *to))) {
    to = from;
  }
}

}  // namespace

void take_traits(const Place& from, Place& to) {
  take_one(from.capacity, to.capacity);
  take_one(from.free, to.free);
  take_one(from.block, to.block);
  take_one(from.max_file, to.max_file);
  take_one(from.is_volatile, to.is_volatile);
  take_one(from.global, to.global);
  take_one(from.labels, to.labels);
  take_one(from.media, to.media);
  take_one(from.layout, to.layout);
  take_one(from.mttf, to.mttf);
  take_one(from.mttr, to.mttr);
  take_one(from.ber, to.ber);
  take_one(from.ecc_bits, to.ecc_bits);
  take_one(from.sector_bits, to.sector_bits);
  take_one(from.read_bandwidth, to.read_bandwidth);
  take_one(from.write_bandwidth, to.write_bandwidth);
  take_one(from.latency, to.latency);
  take_one(from.seek, to.seek);
  take_one(from.iops, to.iops);
  take_one(from.price, to.price);
}

void apply_devices(const std::vector<DeviceOverride>& overrides, Place& place) {
  for (const DeviceOverride& override : overrides) {
    if (!place.device || !change_device(override, *place.device)) {
      continue;
    }
    const Place& traits = override.traits;
    if (traits.media) {
      place.media = traits.media;
      place.media.value = place.device->media;
    }
    if (traits.is_volatile) {
      place.is_volatile = traits.is_volatile;
      place.is_volatile.value = place.device->is_volatile;
    }
    if (traits.layout) {
      place.layout = traits.layout;
      place.layout.value = whole_layout(*place.device);
    }
    take_worse(traits.mttf, place.mttf, std::less<>());
    take_worse(traits.mttr, place.mttr, std::greater<>());
    take_worse(traits.ber, place.ber, std::greater<>());
    take_worse(traits.ecc_bits, place.ecc_bits, std::less<>());
    take_worse(traits.sector_bits, place.sector_bits, std::greater<>());
  }
}

}  // namespace sluice
