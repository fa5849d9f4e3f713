#include "profile/profile_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/json.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr int kept_version = 3;

const char* operation(bool write) {
  return write ? "write" : "read";
}
// Of access past the page cache.
const char* kind(const Access& access) {
  return access.mode == Mode::sustained ? "sustained" : operation(access.write);
}
const char* pattern(bool random) {
  return random ? "random" : "sequential";
}

Json points_json(const Curve& curve) {
  Json out = Json::array();
  for (const Measured& point : curve.points) {
    out.push_back({{"size", point.size},
                   {"seconds", point.seconds},
                   {"half", point.half},
                   {"repetitions", point.repetitions},
                   {"outliers", point.outliers}});
  }
  return out;
}

Json grid_json(const Curve& curve, const std::vector<std::uint64_t>& sizes) {
  Json out = Json::array();
  for (const std::uint64_t size : sizes) {
    const Estimate estimate = curve.at(static_cast<double>(size));
    out.push_back(
        {{"size", size}, {"seconds", estimate.seconds}, {"low", estimate.low}, {"high", estimate.high}});
  }
  return out;
}

// Sequential throughput by random throughput, for every size, and the mean, least and largest of them.
void put_ratios(Json& out, const Curve* curves, const std::vector<std::uint64_t>& sizes) {
  for (const Access& access : std::span(accesses).first(past_cache_count)) {
    if (access.random) {
      continue;
    }
    const Curve& sequential = curves[index_of(access)];
    const Curve& random = curves[index_of({.mode = access.mode, .write = access.write, .random = true})];
    const std::uint64_t largest = sequential.points.back().size;
    Json rows = Json::array();
    double sum = 0;
    std::size_t count = 0;  // of sizes that are not beyond all that was measured
    double least = 0;
    double most = 0;
    for (const std::uint64_t size : sizes) {
      const Estimate one = ratio(random, sequential, static_cast<double>(size));
      rows.push_back({{"size", size}, {"ratio", one.seconds}, {"low", one.low}, {"high", one.high}});
      if (size <= largest || count == 0) {
        ++count;
        sum += one.seconds;
        least = count == 1 ? one.seconds : std::min(least, one.seconds);
        most = std::max(most, one.seconds);
      }
    }
    out["ratio"][kind(access)] = std::move(rows);
    out["ratio_summary"][kind(access)] = {
        {"average", sum / static_cast<double>(count)}, {"minimum", least}, {"maximum", most}};
  }
}

void put_direct(Json& out, const Curve* curves, const std::vector<std::uint64_t>& sizes) {
  for (std::size_t i = 0; i < past_cache_count; ++i) {
    const Access& access = accesses[i];
    out["curves"][kind(access)][pattern(access.random)] = grid_json(curves[i], sizes);
    out["measured"][kind(access)][pattern(access.random)] = points_json(curves[i]);
  }
  put_ratios(out, curves, sizes);
}

Json conditions_json(const Conditions& conditions) {
  return {{"kernel", conditions.kernel},
          {"filesystem", conditions.filesystem},
          {"options", conditions.options},
          {"device", conditions.device},
          {"scheduler", conditions.scheduler}};
}

Json waits_json(const Profile& profile) {
  Json out = Json::object();
  for (const Wait& wait : profile.waits) {
    out[wait.name] = {{"seconds", wait.one.seconds},
                      {"low", std::max(0.0, wait.one.seconds - wait.one.half)},
                      {"high", wait.one.seconds + wait.one.half},
                      {"repetitions", wait.one.repetitions}};
  }
  return out;
}

Json depths_json(const Profile& profile) {
  Json out{{"read", Json::array()}, {"write", Json::array()}};
  for (const Depth& one : profile.depths) {
    out[operation(one.write)].push_back({{"depth", one.depth}, {"iops", one.iops}});
  }
  return out;
}

Json streams_json(const Profile& profile) {
  Json out = Json::array();
  for (const Streams& one : profile.streams) {
    out.push_back({{"mode", print(one.access.mode)},
                   {"operation", operation(one.access.write)},
                   {"pattern", pattern(one.access.random)},
                   {"size", one.size},
                   {"streams", one.streams},
                   {"seconds", one.seconds},
                   {"factor", profile.factor(one)}});
  }
  return out;
}

Json strides_json(const Profile& profile) {
  Json out{{"read", Json::array()}, {"write", Json::array()}};
  for (const Stride& one : profile.strides) {
    out[operation(one.write)].push_back({{"gap", one.gap}, {"share", one.share}});
  }
  return out;
}

Json sawtooth_json(const std::optional<Sawtooth>& sawtooth) {
  return sawtooth ? Json{{"block", sawtooth->block},           {"base", sawtooth->base},
                         {"slope", sawtooth->slope},           {"tooth", sawtooth->tooth},
                         {"page_tooth", sawtooth->page_tooth}, {"error", sawtooth->error}}
                  : Json(nullptr);
}

// Size, seconds, half, repetitions, outliers: five numbers a point, because there are hundreds.
Json kept_points(const Curve& curve) {
  Json out = Json::array();
  for (const Measured& point : curve.points) {
    out.push_back({point.size, point.seconds, point.half, point.repetitions, point.outliers});
  }
  return out;
}

// A number that can be; what is no number, or no such one, is thrown like all other damage.
std::uint64_t count_in(const Json& value, std::uint64_t most = std::uint64_t{1} << 62) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    throw Json::other_error::create(599, "a count that cannot be", nullptr);
  }
  return value;
}
double number_in(const Json& value, double least, double most) {
  const double out = value;
  if (!(out >= least && out <= most)) {
    throw Json::other_error::create(599, "a number that cannot be", nullptr);
  }
  return out;
}
constexpr double shortest = 1e-10;  // seconds of anything
constexpr double longest = 1e9;

Measured point_from(const Json& row) {
  return {.size = count_in(row.at(0)),
          .seconds = number_in(row.at(1), shortest, longest),
          .half = number_in(row.at(2), 0, longest),
          .repetitions = count_in(row.at(3)),
          .outliers = count_in(row.at(4))};
}

// Nothing is believed: a curve of nonsense would become a forecast of nonsense.
Result<Curve> curve_from(const Json& rows, const std::vector<std::uint64_t>& boundaries) {
  std::vector<Measured> points;
  for (const Json& row : rows) {
    const Measured point = point_from(row);
    if (point.size == 0 || (!points.empty() && point.size <= points.back().size)) {
      return fail("a kept profile has points that cannot be");
    }
    points.push_back(point);
  }
  return fit(std::move(points), boundaries);
}

Result<Profile> read_kept(const Json& kept) {
  if (kept.at("version") != kept_version) {
    return fail("a kept profile is of another version");
  }
  Profile out;
  out.place = kept.at("place");
  out.path = kept.at("path");
  out.id = kept.at("id");
  out.taken = count_in(kept.at("taken"), std::uint64_t{1} << 40);
  const Json& conditions = kept.at("conditions");
  out.conditions = {.kernel = conditions.at("kernel"),
                    .filesystem = conditions.at("filesystem"),
                    .options = conditions.at("options"),
                    .device = conditions.at("device"),
                    .scheduler = conditions.at("scheduler")};
  SLUICE_TRY(out.grid, parse_grid(kept.at("grid").get<std::string>()));
  std::vector<std::uint64_t> boundaries;
  for (const Interval& interval : out.grid) {
    boundaries.push_back(interval.high);
  }
  const Json& cache = kept.at("cache");
  out.cache = {.state = cache.at("state"),
               .why = cache.at("why"),
               .asked = cache.at("asked"),
               .reached = cache.at("reached")};
  for (std::size_t i = 0; i < access_count; ++i) {
    SLUICE_TRY(out.curves[i], curve_from(kept.at("curves").at(print(accesses[i])), boundaries));
  }
  if (std::any_of(out.curves.begin(), out.curves.begin() + past_cache_count,
                  [](const Curve& curve) { return curve.empty(); })) {
    return fail("a kept profile has no points");
  }
  for (const Json& row : kept.at("files")) {
    FileCurves file{.file = row.at("file"), .curves = {}};
    for (std::size_t i = 0; i < past_cache_count; ++i) {
      SLUICE_TRY(file.curves[i], curve_from(row.at("curves").at(i), boundaries));
    }
    out.files.push_back(std::move(file));
  }
  for (const Json& row : kept.at("waits")) {
    out.waits.push_back({.name = row.at(0), .one = point_from(row.at(1))});
  }
  for (const Json& row : kept.at("depths")) {
    out.depths.push_back({.write = row.at(0),
                          .depth = static_cast<unsigned>(count_in(row.at(1), 1 << 20)),
                          .iops = number_in(row.at(2), 0, 1e12)});
  }
  for (const Json& row : kept.at("streams")) {
    out.streams.push_back({.access = accesses.at(count_in(row.at(0), access_count - 1)),
                           .size = count_in(row.at(1)),
                           .streams = static_cast<unsigned>(count_in(row.at(2), 1 << 20)),
                           .seconds = number_in(row.at(3), 1e-12, 1e6)});
    if (out.streams.back().streams == 0) {
      return fail("a kept profile has streams that cannot be");
    }
  }
  for (const Json& row : kept.at("strides")) {
    out.strides.push_back(
        {.write = row.at(0), .gap = count_in(row.at(1)), .share = number_in(row.at(2), 0, 10)});
    if (out.strides.back().gap == 0) {
      return fail("a kept profile has a stride of nothing");
    }
  }
  if (const Json& tooth = kept.at("sawtooth"); !tooth.is_null()) {
    out.sawtooth = {.block = count_in(tooth.at("block")),
                    .base = number_in(tooth.at("base"), -longest, longest),
                    .slope = number_in(tooth.at("slope"), -1, 1),
                    .tooth = number_in(tooth.at("tooth"), 0, longest),
                    .page_tooth = number_in(tooth.at("page_tooth"), 0, longest),
                    .error = number_in(tooth.at("error"), 0, longest)};
    if (out.sawtooth->block == 0) {
      return fail("a kept profile has a block of nothing");
    }
  }
  out.block = count_in(kept.at("block"));
  out.file = count_in(kept.at("file"));
  out.largest = count_in(kept.at("largest"));
  out.requests = kept.at("requests");
  out.seconds = kept.at("seconds");
  out.bound = kept.at("bound");
  out.sure = kept.at("sure");
  out.rounds = kept.at("rounds");
  for (const Json& note : kept.at("notes")) {
    out.notes.push_back(note);
  }
  return out;
}

}  // namespace

Json profile_json(const Profile& profile) {
  Json out;
  put_bytes(out, "place", profile.place);
  put_bytes(out, "path", profile.path);
  put_bytes(out, "id", profile.id);
  out["taken"] = profile.taken;
  out["cache"] = profile.cache.state;
  out["cache_why"] = profile.cache.why;
  out["bytes_asked"] = profile.cache.asked;
  out["bytes_reached"] = profile.cache.reached;
  out["seconds"] = profile.seconds;
  out["requests"] = profile.requests;
  out["sure"] = profile.sure;
  out["bound"] = profile.bound;
  out["rounds"] = profile.rounds;
  out["notes"] = profile.notes;
  out["file"] = profile.file;
  out["largest"] = profile.largest;
  out["grid"] = print_grid(profile.grid);
  out["points"] = profile.curves[0].points.size();
  out["conditions"] = conditions_json(profile.conditions);
  const auto sizes = all_sizes(profile.grid);
  put_direct(out, profile.curves.data(), sizes);
  out["files"] = Json::array();
  for (const FileCurves& file : profile.files) {
    Json row{{"file", file.file}};
    put_direct(row, file.curves.data(), sizes);
    out["files"].push_back(std::move(row));
  }
  out["modes"] = Json::object();
  for (std::size_t i = past_cache_count; i < access_count; ++i) {
    const Access& access = accesses[i];
    out["modes"][std::string(print(access.mode))][operation(access.write)][pattern(access.random)] =
        points_json(profile.curves[i]);
  }
  out["latency"] = profile.latency();
  out["seek"] = profile.seek();
  out["bandwidth"] = {{"read", profile.bandwidth(false)}, {"write", profile.bandwidth(true)}};
  out["iops"] = {{"read", profile.iops(false)}, {"write", profile.iops(true)}};
  out["block"] = profile.block;
  out["sawtooth"] = sawtooth_json(profile.sawtooth);
  out["depths"] = depths_json(profile);
  out["streams"] = streams_json(profile);
  out["strides"] = strides_json(profile);
  out["waits"] = waits_json(profile);
  return out;
}

Json kept_json(const Profile& profile) {
  Json out{{"version", kept_version},
           {"place", profile.place},
           {"path", profile.path},
           {"id", profile.id},
           {"taken", profile.taken},
           {"conditions", conditions_json(profile.conditions)},
           {"grid", print_grid(profile.grid)},
           {"cache",
            {{"state", profile.cache.state},
             {"why", profile.cache.why},
             {"asked", profile.cache.asked},
             {"reached", profile.cache.reached}}},
           {"curves", Json::object()},
           {"files", Json::array()},
           {"waits", Json::array()},
           {"depths", Json::array()},
           {"streams", Json::array()},
           {"strides", Json::array()},
           {"sawtooth", sawtooth_json(profile.sawtooth)},
           {"block", profile.block},
           {"file", profile.file},
           {"largest", profile.largest},
           {"requests", profile.requests},
           {"seconds", profile.seconds},
           {"bound", profile.bound},
           {"sure", profile.sure},
           {"rounds", profile.rounds},
           {"notes", profile.notes}};
  for (std::size_t i = 0; i < access_count; ++i) {
    out["curves"][print(accesses[i])] = kept_points(profile.curves[i]);
  }
  for (const FileCurves& file : profile.files) {
    Json curves = Json::array();
    for (const Curve& curve : file.curves) {
      curves.push_back(kept_points(curve));
    }
    out["files"].push_back({{"file", file.file}, {"curves", std::move(curves)}});
  }
  for (const Wait& wait : profile.waits) {
    const Measured& one = wait.one;
    out["waits"].push_back(Json::array(
        {wait.name, Json::array({one.size, one.seconds, one.half, one.repetitions, one.outliers})}));
  }
  for (const Depth& one : profile.depths) {
    out["depths"].push_back(Json::array({one.write, one.depth, one.iops}));
  }
  for (const Streams& one : profile.streams) {
    out["streams"].push_back(Json::array({index_of(one.access), one.size, one.streams, one.seconds}));
  }
  for (const Stride& one : profile.strides) {
    out["strides"].push_back(Json::array({one.write, one.gap, one.share}));
  }
  return out;
}

Result<Profile> profile_from(const Json& kept) {
  try {
    return read_kept(kept);
  } catch (const Json::exception& error) {
    return fail(fmt::format("a kept profile is damaged: {}", error.what()));
  }
}

}  // namespace sluice
