#include "places/defaults.h"

#include <fmt/format.h>

#include <array>

namespace sluice {
namespace {

constexpr double mebi = 1024.0 * 1024.0;

struct Typical {
  Media media;
  double read;            // MiB/s
  double write;           // MiB/s
  std::uint32_t latency;  // microseconds
  std::uint32_t seek;     // microseconds
  double iops;
  std::string_view words;
};

// Ordinary devices of each kind, sequential and one stream; measure to know better.
constexpr std::array table = std::to_array<Typical>({
    {Media::ram, 4000, 4000, 1, 0, 1000000, "typical for memory"},
    {Media::nvram, 3000, 1500, 2, 0, 500000, "typical for persistent memory"},
    {Media::nvme, 2500, 1500, 80, 0, 300000, "typical for an NVMe SSD"},
    {Media::ssd, 500, 450, 100, 0, 80000, "typical for an SSD"},
    {Media::hdd, 160, 150, 100, 12000, 120, "typical for a hard disk"},
    {Media::network, 110, 100, 1000, 1000, 5000, "typical for a network file system"},
    {Media::unknown, 160, 150, 100, 5000, 500, "cautious, the medium is unknown"},
});

constexpr Duration microseconds(std::uint32_t count) {
  return {0, count * 1000};
}

constexpr std::uint64_t day = 86400;
constexpr std::uint64_t year = 365 * day;
constexpr Duration mttf{10 * year, 0};
constexpr Duration mttr{day, 0};
constexpr double ber = 1e-6;
constexpr std::uint64_t ecc_bits = 2;
constexpr std::uint64_t sector_bits = 512;
constexpr std::string_view reliability_words = "common assumption, not known of this device";

template <class T>
void assume(Trait<T>& trait, T value, std::string_view words) {
  if (!trait) {
    trait = {.value = std::move(value), .source = Source::fallback, .detail = std::string(words)};
  }
}

}  // namespace

void fill_defaults(Place& place) {
  assume(place.media, Media::unknown, "nothing tells what it is made of");
  for (const Typical& typical : table) {
    if (typical.media == *place.media) {
      assume(place.read_bandwidth, typical.read * mebi, typical.words);
      assume(place.write_bandwidth, typical.write * mebi, typical.words);
      assume(place.latency, microseconds(typical.latency), typical.words);
      assume(place.seek, microseconds(typical.seek), typical.words);
      assume(place.iops, typical.iops, typical.words);
    }
  }
  assume(place.mttf, mttf, reliability_words);
  assume(place.mttr, mttr, reliability_words);
  assume(place.ber, ber, reliability_words);
  assume(place.ecc_bits, ecc_bits, reliability_words);
  assume(place.sector_bits, sector_bits, reliability_words);
  assume(place.labels, std::vector<std::string>{}, "none");
  assume(place.global, false, "taken as local");
}

}  // namespace sluice
