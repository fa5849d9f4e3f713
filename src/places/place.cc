#include "places/place.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sluice {
namespace {

std::string human(std::uint64_t bytes) {
  return human_size(bytes);
}
std::string human(bool value) {
  return value ? "yes" : "no";
}
std::string human(Media media) {
  return std::string(print(media));
}
std::string human(Duration value) {
  return human_duration(value.in_seconds());
}
std::string human(const Layout& layout) {
  return print(layout);
}
std::string human(const std::vector<std::string>& words) {
  return join(words, ", ");
}
std::string plain(std::uint64_t value) {
  return std::to_string(value);
}
std::string plain(double value) {
  return print_number(value);
}

template <class T, class Printer>
TraitRow row(std::string_view name, const Trait<T>& trait, Printer printer) {
  return {.name = name,
          .value = trait ? printer(*trait) : std::string{},
          .source = trait.source,
          .detail = trait.detail};
}

}  // namespace

std::string_view print(Source source) {
  switch (source) {
    case Source::fallback:
      return "default";
    case Source::system:
      return "system";
    case Source::measurement:
      return "measurement";
    case Source::configuration:
      return "configuration";
  }
  return "";
}

std::string_view print(Media media) {
  switch (media) {
    case Media::unknown:
      return "unknown";
    case Media::ram:
      return "ram";
    case Media::nvram:
      return "nvram";
    case Media::nvme:
      return "nvme";
    case Media::ssd:
      return "ssd";
    case Media::hdd:
      return "hdd";
    case Media::network:
      return "network";
  }
  return "";
}

std::string_view print(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::simple:
      return "simple";
    case DeviceKind::complex:
      return "complex";
    case DeviceKind::partition:
      return "partition";
  }
  return "";
}

std::string_view print(Reach reach) {
  switch (reach) {
    case Reach::reachable:
      return "reachable";
    case Reach::denied:
      return "denied";
    case Reach::unreachable:
      return "unreachable";
  }
  return "";
}

std::vector<TraitRow> trait_rows(const Place& place) {
  const auto text = [](const auto& value) { return human(value); };
  const auto number = [](const auto& value) { return plain(value); };
  const auto rate = [](double value) { return human_rate(value); };
  return {row("capacity", place.capacity, text),
          row("free", place.free, text),
          row("quota", place.quota, text),
          row("block-size", place.block, text),
          row("max-file-size", place.max_file, text),
          row("volatile", place.is_volatile, text),
          row("global", place.global, text),
          row("labels", place.labels, text),
          row("media", place.media, text),
          row("layout", place.layout, text),
          row("mttf", place.mttf, text),
          row("mttr", place.mttr, text),
          row("ber", place.ber, number),
          row("ecc-bits", place.ecc_bits, number),
          row("sector-bits", place.sector_bits, number),
          row("read-bandwidth", place.read_bandwidth, rate),
          row("write-bandwidth", place.write_bandwidth, rate),
          row("latency", place.latency, text),
          row("seek-latency", place.seek, text),
          row("max-iops", place.iops, number),
          row("price-per-gigabyte", place.price, number)};
}

}  // namespace sluice
