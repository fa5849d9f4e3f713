#include "profile/profile.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr std::size_t index(Test test) {
  return static_cast<std::size_t>(test);
}

// Where the kernel counts what reaches a place: its block device, or where it has none of its own (btrfs over
// several), those below.
void counters_of(const Device& device, std::vector<std::string>& out) {
  const std::string stat = fmt::format("/sys/class/block/{}/stat", device.name);
  if (sys().access(stat.c_str(), R_OK) == 0) {
    out.push_back(stat);
    return;
  }
  for (const Device& below : device.below) {
    counters_of(below, out);
  }
}

// Bytes that were read from the devices so far.
std::uint64_t bytes_read(const std::vector<std::string>& stats) {
  std::uint64_t out = 0;
  for (const std::string& path : stats) {
    const auto text = read_file(path, 4096);
    const auto words = split_blanks(text ? std::string_view(*text) : std::string_view());
    const auto sectors = words.size() > 2 ? parse_count(words[2]) : Result<std::uint64_t>(0);
    out += sectors.value_or(0) * 512;
  }
  return out;
}

// Reads tell: what came from memory never reached a disk. Writes may be doubled by a mirror or merged.
CacheCheck check_cache(const WorkFile& file, const Place& place, std::uint64_t asked, std::uint64_t reached,
                       bool counted) {
  CacheCheck out{.state = {}, .why = {}, .asked = asked, .reached = reached};
  if (!file.direct()) {
    out.state = "not bypassed";
    out.why = file.why_cached();
  } else if (place.media.value_or(Media::unknown) == Media::ram) {
    out.state = "not bypassed";
    out.why = "memory is the medium here, there is nothing below it";
  } else if (!counted) {
    out.state = "unknown";
    out.why = "no device of this machine counts what reaches this place";
  } else if (static_cast<double>(reached) >= 0.95 * static_cast<double>(asked)) {
    out.state = "bypassed";
    out.why = "what was read was read from its devices; caches below them are not known";
  } else {
    out.state = "not bypassed";
    out.why = "part of what was read never reached its devices";
  }
  return out;
}

}  // namespace

Conditions conditions_of(const Place& place) {
  utsname name{};
  uname(&name);
  return {.kernel = name.release,
          .filesystem = place.filesystem,
          .options = place.options,
          .device = place.device ? place.device->name : place.origin,
          .scheduler = place.device ? place.device->scheduler : ""};
}

double Profile::latency() const {
  const Curve& curve = curves.tests[index(Test::sequential_read)];
  return curve.empty() ? 0 : std::max(0.0, curve.lines.front().at(0));
}

double Profile::seek() const {
  const Curve& curve = curves.tests[index(Test::random_read)];
  return curve.empty() ? 0 : std::max(0.0, curve.lines.front().at(0) - latency());
}

double Profile::bandwidth(bool write) const {
  const Curve& curve = curves.tests[index(write ? Test::sequential_write : Test::sequential_read)];
  if (curve.empty()) {
    return 0;
  }
  const Line& last = curve.lines.back();
  return last.slope > 0 ? 1 / last.slope : last.to / last.at(last.to);
}

double Profile::ratio(bool write, double size) const {
  const double sequential =
      curves.tests[index(write ? Test::sequential_write : Test::sequential_read)].at(size).seconds;
  const double random = curves.tests[index(write ? Test::random_write : Test::random_read)].at(size).seconds;
  return random / sequential;
}

Result<Profile> take_profile(const Place& place, const ProfileOptions& options,
                             const MeasureProgress& progress) {
  if (options.idle) {
    constexpr int idle_class = 3 << 13;
    syscall(SYS_ioprio_set, 1, 0, idle_class);
  }
  Profile out;
  out.place = place.name;
  out.path = place.path;
  out.id = place.id;
  out.conditions = conditions_of(place);
  out.taken = static_cast<std::uint64_t>(std::time(nullptr));
  out.grid = options.measure.grid;
  MeasureOptions measure = options.measure;
  // A tenth of the place stays free, whatever else is written there meanwhile.
  const std::uint64_t free = place.free.value_or(0);
  const std::uint64_t spare = place.capacity.value_or(free) / 10;
  measure.room = free > spare ? free - spare : 0;
  if (measure.file > measure.room) {
    return fail(fmt::format("a file of {} does not fit into {}", print_size(measure.file), quote(place.path)),
                fmt::format("{} is free, of which {} must stay so", human_size(free), human_size(spare)));
  }
  if (measure.room == 0) {
    return fail(fmt::format("{} is full", quote(place.path)),
                "a tenth of it must stay free; make room first");
  }
  std::vector<std::string> stats;
  if (place.device) {
    counters_of(*place.device, stats);
  }
  SLUICE_TRY(WorkFile file, WorkFile::create(place.path));
  const std::uint64_t before = bytes_read(stats);
  SLUICE_TRY(out.curves, measure_curves(file, measure, progress));
  out.cache = check_cache(file, place, out.curves.bytes_read, bytes_read(stats) - before, !stats.empty());
  return out;
}

Json profile_json(const Profile& profile) {
  Json out;
  put_bytes(out, "place", profile.place);
  put_bytes(out, "path", profile.path);
  out["id"] = profile.id;
  out["taken"] = profile.taken;
  out["cache"] = profile.cache.state;
  out["cache_why"] = profile.cache.why;
  out["bytes_asked"] = profile.cache.asked;
  out["bytes_reached"] = profile.cache.reached;
  out["seconds"] = profile.curves.seconds;
  out["requests"] = profile.curves.requests;
  out["sure"] = profile.curves.sure;
  out["file"] = profile.curves.file;
  out["largest"] = profile.curves.largest;
  out["grid"] = print_grid(profile.grid);
  out["points"] = profile.curves.tests[0].points.size();
  out["conditions"] = {{"kernel", profile.conditions.kernel},
                       {"filesystem", profile.conditions.filesystem},
                       {"options", profile.conditions.options},
                       {"device", profile.conditions.device},
                       {"scheduler", profile.conditions.scheduler}};
  const auto sizes = all_sizes(profile.grid);
  for (const bool write : {false, true}) {
    const char* operation = write ? "write" : "read";
    Json ratios = Json::array();
    for (const bool random : {false, true}) {
      const Test test = write ? (random ? Test::random_write : Test::sequential_write)
                              : (random ? Test::random_read : Test::sequential_read);
      const Curve& curve = profile.curves.tests[index(test)];
      Json rows = Json::array();
      for (const std::uint64_t size : sizes) {
        const Estimate estimate = curve.at(static_cast<double>(size));
        rows.push_back(
            {{"size", size}, {"seconds", estimate.seconds}, {"low", estimate.low}, {"high", estimate.high}});
      }
      Json measured = Json::array();
      for (const Measured& point : curve.points) {
        measured.push_back({{"size", point.size},
                            {"seconds", point.seconds},
                            {"half", point.half},
                            {"repetitions", point.repetitions},
                            {"outliers", point.outliers}});
      }
      out["curves"][operation][random ? "random" : "sequential"] = std::move(rows);
      out["measured"][operation][random ? "random" : "sequential"] = std::move(measured);
    }
    for (const std::uint64_t size : sizes) {
      ratios.push_back({{"size", size}, {"ratio", profile.ratio(write, static_cast<double>(size))}});
    }
    out["ratio"][operation] = std::move(ratios);
  }
  out["latency"] = profile.latency();
  out["seek"] = profile.seek();
  out["bandwidth"] = {{"read", profile.bandwidth(false)}, {"write", profile.bandwidth(true)}};
  return out;
}

}  // namespace sluice
