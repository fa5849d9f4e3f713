#include "places/defaults.h"

#include <fmt/format.h>

#include <array>

namespace sluice {
namespace {

constexpr double mega = 1024.0 * 1024.0;
constexpr std::uint32_t microsecond = 1000;
constexpr std::uint32_t millisecond = 1'000'000;

struct Typical {
  Media media;
  double read;   // bytes per second
  double write;  // bytes per second
  Duration latency;
  Duration seek;
  double iops;
  std::string_view words;
};

// Ordinary devices of each kind, sequential and one stream; measure to know better.
constexpr std::array table = {
    Typical{Media::ram, 4000 * mega, 4000 * mega, {0, microsecond}, {0, 0}, 1e6, "typical for memory"},
    Typical{Media::nvram,
            3000 * mega,
            1500 * mega,
            {0, 2 * microsecond},
            {0, 0},
            5e5,
            "typical for persistent memory"},
    Typical{
        Media::nvme, 2500 * mega, 1500 * mega, {0, 80 * microsecond}, {0, 0}, 3e5, "typical for an NVMe SSD"},
    Typical{Media::ssd, 500 * mega, 450 * mega, {0, 100 * microsecond}, {0, 0}, 8e4, "typical for an SSD"},
    Typical{Media::hdd,
            160 * mega,
            150 * mega,
            {0, 100 * microsecond},
            {0, 12 * millisecond},
            120,
            "typical for a hard disk"},
    Typical{Media::network,
            110 * mega,
            100 * mega,
            {0, millisecond},
            {0, millisecond},
            5e3,
            "typical for a network file system"},
    Typical{Media::unknown,
            160 * mega,
            150 * mega,
            {0, 100 * microsecond},
            {0, 5 * millisecond},
            500,
            "cautious, the medium is unknown"},
};

constexpr std::uint64_t day = 24 * 3600;
constexpr Duration mttf{10 * 365 * day, 0};
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
      assume(place.read_bandwidth, typical.read, typical.words);
      assume(place.write_bandwidth, typical.write, typical.words);
      assume(place.latency, typical.latency, typical.words);
      assume(place.seek, typical.seek, typical.words);
      assume(place.iops, typical.iops, typical.words);
    }
  }
  assume(place.mttf, mttf, reliability_words);
  assume(place.mttr, mttr, reliability_words);
  assume(place.ber, ber, reliability_words);
  assume(place.ecc_bits, ecc_bits, reliability_words);
  assume(place.sector_bits, sector_bits, reliability_words);
  assume(place.labels, std::vector<std::string>{}, "none");
  assume(place.is_volatile, false, "taken as persistent");
  assume(place.global, false, "taken as local");
}

}  // namespace sluice
