// A place: somewhere data can live. What is known of it are traits, each with where it came from.
//
// The model is IOSIG's (section 4): a place is a mount point (or a folder on one) with a file system on a
// device, and a device is simple (a disk), complex (an array, a network file system) or a partition.
// Plain values: copy freely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "places/layout.h"

namespace sluice {

enum class Source { fallback, system, measurement, configuration };  // rising strength
std::string_view print(Source source);  // "default", "system", "measurement", "configuration"

template <class T>
struct Trait {
  std::optional<T> value;
  Source source = Source::fallback;
  std::string detail;  // the file, tool or rule that said so

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  [[nodiscard]] T value_or(T other) const { return value.value_or(std::move(other)); }
};

enum class Media { unknown, ram, nvram, nvme, ssd, hdd, network };
std::string_view print(Media media);

enum class DeviceKind { simple, complex, partition };
std::string_view print(DeviceKind kind);

struct Device {
  std::string name;  // sda1, md0, server:/export
  DeviceKind kind = DeviceKind::simple;
  Media media = Media::unknown;
  bool is_volatile = false;
  std::uint64_t size = 0;            // bytes, 0 = unknown
  std::uint32_t logical_block = 0;   // bytes, 0 = unknown
  std::uint32_t physical_block = 0;  // bytes, 0 = unknown
  std::string model;
  std::string scheduler;
  bool degraded = false;         // redundancy is lost until it is repaired
  std::string note;              // "degraded: 1 of 3 disks missing"
  std::optional<Layout> layout;  // complex devices whose layout is known
  std::uint64_t stripe = 0;      // bytes one member takes in turn, 0 = unknown or none
  std::vector<Device> below;     // members of a complex device; the owner of a partition
};

enum class Reach { reachable, denied, unreachable };
std::string_view print(Reach reach);

struct Place {
  std::string name;        // unique, from the mount point or the configuration
  std::string path;        // the folder where data would go
  std::string mount;       // the mount point it lies on
  std::string filesystem;  // type, as in mountinfo
  std::string origin;      // what is mounted: /dev/sda1, server:/export
  std::string options;     // mount options, of the mount and of the file system
  std::string id;      // stays the same across reboots: file system UUID, server:/export, or type and mount
  std::string volume;  // whose space it takes: places of one file system share it
  Reach reach = Reach::reachable;
  std::string reach_note;  // why it is not reachable
  bool read_only = false;
  bool writable = false;  // by this user, at path

  Trait<std::uint64_t> capacity;
  Trait<std::uint64_t> free;   // for this user: free space and every quota counted
  Trait<std::uint64_t> quota;  // the tightest limit of this user, group or project
  Trait<std::uint64_t> block;
  Trait<std::uint64_t> max_file;
  Trait<bool> is_volatile;
  Trait<bool> global;
  Trait<std::vector<std::string>> labels;
  Trait<Media> media;
  Trait<Layout> layout;
  Trait<Duration> mttf;              // of one disk
  Trait<Duration> mttr;              // of one disk
  Trait<double> ber;                 // raw bit errors per bit read
  Trait<std::uint64_t> ecc_bits;     // correctable bits a sector
  Trait<std::uint64_t> sector_bits;  // bits an ECC covers
  Trait<double> read_bandwidth;      // bytes per second
  Trait<double> write_bandwidth;     // bytes per second
  Trait<Duration> latency;           // of one operation
  Trait<Duration> seek;              // added to a random operation
  Trait<double> iops;                // largest number of operations per second
  Trait<double> price;               // per gigabyte
  std::optional<Device> device;
  std::uint64_t promised = 0;  // bytes promised to earlier placements
};

// One trait as name, value and origin, for tables and JSON: the same list serves both.
struct TraitRow {
  std::string_view name;  // also the key in sluice.toml
  std::string value;      // for people; "" = unknown
  Source source = Source::fallback;
  std::string detail;
};
std::vector<TraitRow> trait_rows(const Place& place);

}  // namespace sluice
