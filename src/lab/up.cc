#include "lab/up.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/step.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "lab/down.h"
#include "lab/serve.h"
#include "lab/service.h"
#include "lab/store.h"

namespace sluice::lab {
namespace {

constexpr double mega = 1024.0 * 1024.0;
constexpr double giga = 1024 * mega;

enum class Made { memory, ext4, btrfs_raid1, shared };

struct Row {
  std::string_view name;
  Made made = Made::ext4;
  std::string_view media;
  double capacity = 0;
  Model model;
};

// IOSIG's table 2. Its shared place is NFS; here two mount points show the same file system. Memory comes
// last: by then the devices have told what this machine adds to every request.
const std::array table = std::to_array<Row>({
    {"nvram",
     Made::ext4,
     "nvram",
     2 * giga,
     {.read_latency = 100e-6,
      .write_latency = 100e-6,
      .read_bandwidth = 1700 * mega,
      .write_bandwidth = 1700 * mega,
      .iops = 9000}},
    {"raid1",
     Made::btrfs_raid1,
     "ssd",
     4 * giga,
     {.read_latency = 110e-6,
      .write_latency = 110e-6,
      .read_bandwidth = 430 * mega,
      .write_bandwidth = 415 * mega,
      .iops = 6000}},
    {"hdd",
     Made::ext4,
     "hdd",
     1536 * giga,
     {.read_latency = 0.15,
      .write_latency = 0.15,
      .seek = 0.02,
      .seek_full = 0.02,
      .read_bandwidth = 130 * mega,
      .write_bandwidth = 125 * mega}},
    {"shared",
     Made::shared,
     "network",
     1024 * giga,
     {.read_latency = 400e-6,
      .write_latency = 400e-6,
      .read_bandwidth = 105 * mega,
      .write_bandwidth = 103 * mega,
      .iops = 1000}},
    {"ramdisk",
     Made::memory,
     "ram",
     1 * giga,
     {.read_latency = 1e-6,
      .write_latency = 1e-6,
      .read_bandwidth = 2300 * mega,
      .write_bandwidth = 2400 * mega,
      .iops = 800'000,
      .volatile_ = 1}},
});

// The least that the file systems can be made on.
constexpr double least_ext4 = 16 * mega;
constexpr double least_btrfs = 192 * mega;

constexpr std::array<ToolName, 3> tools = {"mkfs.ext4", "mkfs.btrfs", "umount"};

class Builder {
 public:
  Builder(const std::string& lab, UniqueFd& lock, const UpOptions& options,
          const std::function<void(std::string_view)>& progress)
      : lab_(lab), lock_(lock), options_(options), progress_(progress) {}

  Result<Json> build();

 private:
  struct Place {
    const Row& row;
    Model model;  // as it is emulated
    std::uint64_t capacity = 0;
    std::string path = {};
    std::string note = {};
    bool honoured = true;
    std::vector<std::string> devices = {};
    std::string filesystem = {};
  };
  Result<Place> make(const Row& row);
  Result<LoopDevice> device(const Place& place, const std::string& name);
  Status make_filesystem(Place& place);
  Status make_point(const std::string& path);
  Status mount_at(const std::string& source, const std::string& point, const char* type, unsigned long flags,
                  const std::string& data);
  void judge(Place& place) const;
  [[nodiscard]] std::string config() const;
  [[nodiscard]] Json json() const;

  const std::string& lab_;
  UniqueFd& lock_;
  const UpOptions& options_;
  const std::function<void(std::string_view)>& progress_;
  std::optional<Instant> overhead_;
  std::vector<Place> places_;
  std::set<std::string> warnings_;  // said once for all devices
};

double max_iops(const Model& model, double latency) {
  return model.iops > 0 ? std::min(model.iops, 1 / latency) : 1 / (latency + model.seek_full);
}

// Latencies by scale and slow motion, bandwidths by slow motion alone.
Model scaled(const Model& model, const UpOptions& options) {
  return model.slower(1 / options.scale, false).slower(options.slow_motion, true);
}

double seconds(Instant time) {
  return std::chrono::duration<double>(time).count();
}

// Below this the machine itself is in the way: what comes out is longer than asked.
double floor_of(Instant overhead) {
  return 1.25 * seconds(overhead);
}

Result<LoopDevice> Builder::device(const Place& place, const std::string& name) {
  DeviceOptions options{.name = name, .model = {}, .size = place.capacity};
  options.overhead = overhead_;
  options.remove_backing = true;
  options.place = place.row.name;
  if (!options_.backing.empty()) {
    options.backing = options_.backing + "/" + name + ".img";
  }
  SLUICE_TRY(const Json status, start_device(lab_, lock_, options));
  for (const Json& warning : status.value("warnings", Json::array())) {
    if (warnings_.insert(warning.get<std::string>()).second) {
      log::warn("{}: {}", name, warning.get<std::string>());
    }
  }
  overhead_ = Instant(std::llround(status.value("overhead", 0.0) * 1e9));
  auto loop = attach_loop(device_file(Member(lab_, name)), true);
  step("loop attached");
  return loop;
}

Status Builder::make_point(const std::string& path) {
  if (sys().mkdir(path.c_str(), 0755) != 0) {
    return Errno().fail(fmt::format("cannot create {}", quote(path)));
  }
  return {};
}

Status Builder::mount_at(const std::string& source, const std::string& point, const char* type,
                         unsigned long flags, const std::string& data) {
  SLUICE_CHECK(make_point(point));
  if (mount(source.c_str(), point.c_str(), type, flags, data.c_str()) != 0) {
    return Errno().fail(fmt::format("cannot mount {} at {}", quote(source), quote(point)));
  }
  step("mounted");
  // Anybody may use a place, as /tmp.
  if (chmod(point.c_str(), 01777) != 0) {
    return Errno().fail(fmt::format("cannot open {} to everybody", quote(point)));
  }
  return {};
}

Status Builder::make_filesystem(Place& place) {
  const std::string name(place.row.name);
  const bool pair = place.row.made == Made::btrfs_raid1;
  place.devices = pair ? std::vector{name + "-a", name + "-b"} : std::vector{name};
  place.filesystem = pair ? "btrfs" : "ext4";
  std::vector<LoopDevice> loops;
  for (const std::string& each : place.devices) {
    SLUICE_TRY(LoopDevice loop, device(place, each));
    loops.push_back(std::move(loop));
  }
  // Made at full speed; the model comes when the place is ready.
  if (pair) {
    SLUICE_TRY(const auto said,
               run_tool({"mkfs.btrfs",
                         {"-q", "-f", "-K", "-d", "raid1", "-m", "raid1", loops[0].path, loops[1].path}}));
    SLUICE_CHECK(mount_at(loops[0].path, place.path, "btrfs", MS_NODEV | MS_NOSUID,
                          fmt::format("device={},device={}", loops[0].path, loops[1].path)));
  } else {
    const std::string journal =
        fmt::format("size={}", static_cast<double>(place.capacity) < 256 * mega ? 4 : 64);
    SLUICE_TRY(const auto said,
               run_tool({"mkfs.ext4",
                         {"-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1",
                          "-J", journal, loops[0].path}}));
    // Without noinit_itable the kernel would go on writing in the background for hours.
    SLUICE_CHECK(mount_at(loops[0].path, place.path, "ext4", MS_NODEV | MS_NOSUID, "noinit_itable"));
  }
  for (const std::string& each : place.devices) {
    SLUICE_TRY(const Json status,
               ask(Member(lab_, each), fmt::format("set {}", join(print_model(place.model), " "))));
    step("model set");
  }
  if (place.row.made == Made::shared) {
    SLUICE_CHECK(mount_at(place.path, place.path + "-too", nullptr, MS_BIND, {}));
  }
  return {};
}

void Builder::judge(Place& place) const {
  const double asked = place.model.read_latency;
  if (place.devices.empty()) {
    place.note = "this machine's memory, at its own speed";
  } else if (const double floor = floor_of(*overhead_); asked < floor) {
    place.honoured = false;
    place.note =
        fmt::format("{} was asked for, and below about {} this machine is in the way: it comes out longer",
                    human_duration(asked), human_duration(floor));
  }
}

Result<Builder::Place> Builder::make(const Row& row) {
  Place place{.row = row, .model = scaled(row.model, options_)};
  place.path = fmt::format("{}/mnt/{}", lab_, row.name);
  // Memory is faster than any device here; only slow motion makes it one.
  const bool memory = row.made == Made::memory && options_.slow_motion == 1;
  const double least = memory ? block_size : row.made == Made::btrfs_raid1 ? least_btrfs : least_ext4;
  const double capacity = row.capacity / options_.scale;
  place.capacity = static_cast<std::uint64_t>(std::max(capacity, least)) / block_size * block_size;
  if (memory) {
    place.filesystem = "tmpfs";
    SLUICE_CHECK(mount_at("sluice-lab", place.path, "tmpfs", MS_NODEV | MS_NOSUID,
                          fmt::format("size={}", place.capacity)));
  } else {
    SLUICE_CHECK(make_filesystem(place));
  }
  judge(place);
  if (capacity < least) {
    place.note += fmt::format("{}{} is the least that {} takes", place.note.empty() ? "" : "; ",
                              human_size(place.capacity), place.filesystem);
  }
  return place;
}

std::string Builder::config() const {
  std::string out = "# Written by `sluice lab up`, and gone after `sluice lab down`.\n";
  for (const Place& place : places_) {
    const Model& model = place.model;
    const double latency = place.devices.empty() ? place.row.model.read_latency
                                                 : std::max(model.read_latency, seconds(*overhead_));
    const auto rate = [](double value) { return static_cast<std::uint64_t>(value); };
    out += fmt::format("\n[place.{}]\npath = {}\nmedia = \"{}\"\nvolatile = {}\nglobal = {}\n",
                       place.row.name, toml_text(place.path), place.row.media, model.volatile_ != 0,
                       place.row.made == Made::shared);
    if (place.row.made == Made::btrfs_raid1) {
      out += "layout = \"raid1:2\"\n";
    }
    out += fmt::format("read-bandwidth = {}\nwrite-bandwidth = {}\n", rate(model.read_bandwidth),
                       rate(model.write_bandwidth));
    out += fmt::format("latency = \"{}\"", print(Duration::from_seconds(latency)));
    out += place.honoured ? "\n" : fmt::format("  # {}\n", place.note);
    out += fmt::format("seek-latency = \"{}\"\n", print(Duration::from_seconds(model.seek_full)));
    out += fmt::format("max-iops = {}\n", print_number(std::max(1.0, std::round(max_iops(model, latency)))));
  }
  return out;
}

Json Builder::json() const {
  Json out;
  put_bytes(out, "lab", lab_);
  put_bytes(out, "config", lab_ + "/sluice.toml");
  out["scale"] = options_.scale;
  out["slow_motion"] = options_.slow_motion;
  out["overhead"] = seconds(*overhead_);
  out["floor"] = floor_of(*overhead_);
  out["places"] = Json::array();
  for (const Place& place : places_) {
    Json row = {{"name", place.row.name}};
    put_bytes(row, "path", place.path);
    row["filesystem"] = place.filesystem;
    row["devices"] = place.devices;
    row["capacity"] = place.capacity;
    row["volatile"] = place.model.volatile_ != 0;
    row["global"] = place.row.made == Made::shared;
    row["read_bandwidth"] = place.model.read_bandwidth;
    row["write_bandwidth"] = place.model.write_bandwidth;
    row["latency"] = place.model.read_latency;
    row["seek_latency"] = place.model.seek_full;
    row["max_iops"] = max_iops(place.model, place.model.read_latency);
    row["honoured"] = place.honoured;
    row["note"] = place.note;
    out["places"].push_back(std::move(row));
  }
  return out;
}

Result<Json> Builder::build() {
  SLUICE_CHECK(make_point(lab_ + "/mnt"));
  step("mount folder");
  for (const Row& row : table) {
    progress_(fmt::format("making {}", row.name));
    auto place = make(row);
    if (!place) {
      return std::move(place).error().within(row.name);
    }
    places_.push_back(std::move(*place));
  }
  SLUICE_CHECK(write_file(lab_ + "/sluice.toml", config()));
  step("configuration");
  return json();
}

}  // namespace

Result<Json> bring_up(const std::string& lab, UniqueFd& lock, const UpOptions& options,
                      const std::function<void(std::string_view)>& progress) {
  if (geteuid() != 0) {
    return fail("the places of a lab are mounts, and mounts need root",
                "without root, `sluice lab device` serves a file that can be read and written");
  }
  for (const ToolName tool : tools) {
    if (find_tool(tool).empty()) {
      return not_installed(tool.text());
    }
  }
  for (const Row& row : table) {
    if (auto status = check(scaled(row.model, options)); !status) {
      return std::move(status).error().within(row.name).advise(
          "choose a smaller --slow-motion, or a larger --scale");
    }
  }
  struct stat found {};
  if (!members(lab).empty() || sys().stat((lab + "/mnt").c_str(), &found) == 0) {
    return fail(fmt::format("there is a lab in {} already", quote(lab)),
                "`sluice lab down` removes it, --lab=DIR makes another");
  }
  if (!options.backing.empty()) {
    SLUICE_CHECK(make_folders(options.backing));
  }
  auto out = Builder(lab, lock, options, progress).build();
  if (!out) {
    if (auto removed = take_down(lab); !removed) {
      log::warn("{}", removed.error().text());
    }
  }
  return out;
}

}  // namespace sluice::lab
