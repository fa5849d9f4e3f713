#include "profile/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/html.h"
#include "base/svg.h"
#include "base/units.h"

namespace sluice {
namespace {

// Sizes at which curves are drawn, evenly apart on a logarithmic axis; the smallest and the largest of the
// points are among them.
std::vector<double> drawn_sizes(const Curve& curve) {
  constexpr int steps = 160;
  std::vector<double> out;
  const auto low = static_cast<double>(curve.points.front().size);
  const auto high = static_cast<double>(curve.points.back().size);
  for (int i = 0; i <= steps; ++i) {
    out.push_back(low * std::pow(high / low, static_cast<double>(i) / steps));
  }
  return out;
}

bool drawable(const Curve& curve) {
  return !curve.empty() && !curve.points.empty();
}

Series access_series(const Curve& curve, std::string name) {
  Series out{.name = std::move(name), .points = {}};
  for (const double size : drawn_sizes(curve)) {
    out.points.push_back({size, curve.at(size).seconds});
  }
  for (const Measured& point : curve.points) {
    out.dots.push_back({static_cast<double>(point.size), point.seconds});
  }
  return out;
}

Chart access_chart(const Profile& profile, Mode mode, const std::string& title) {
  Chart out{.title = title,
            .x = {.title = "request size", .unit = Unit::bytes, .logarithmic = true},
            .y = {.title = "time of one request", .unit = Unit::seconds, .logarithmic = true},
            .series = {}};
  for (std::size_t i = 0; i < access_count; ++i) {
    const Access& access = accesses[i];
    if (access.mode == mode && drawable(profile.curves[i])) {
      out.series.push_back(access_series(
          profile.curves[i],
          fmt::format("{} {}", access.random ? "random" : "sequential", access.write ? "write" : "read")));
    }
  }
  return out;
}

Series ratio_series(const Profile& profile, Mode mode, bool write, const char* name) {
  const Curve& sequential = profile.curves[index_of({mode, write, false})];
  const Curve& random = profile.curves[index_of({mode, write, true})];
  Series out{.name = name, .points = {}};
  if (!drawable(sequential) || !drawable(random)) {
    return out;
  }
  for (const double size : drawn_sizes(sequential)) {
    out.points.push_back({size, ratio(random, sequential, size).seconds});
  }
  for (const Measured& point : sequential.points) {
    const auto same = std::find_if(random.points.begin(), random.points.end(),
                                   [&](const Measured& each) { return each.size == point.size; });
    if (same != random.points.end()) {
      out.dots.push_back({static_cast<double>(point.size), same->seconds / point.seconds});
    }
  }
  return out;
}

Chart ratio_chart(const Profile& profile) {
  return {.title = "Sequential throughput as a multiple of random",
          .x = {.title = "request size", .unit = Unit::bytes, .logarithmic = true},
          .y = {.title = "ratio", .unit = Unit::number, .logarithmic = true},
          .series = {ratio_series(profile, Mode::direct, false, "reads"),
                     ratio_series(profile, Mode::direct, true, "writes, cached"),
                     ratio_series(profile, Mode::sustained, true, "writes, sustained")}};
}

// Adds a point to the series of that name, which is made where it is missing.
void add_point(Chart& chart, const std::string& name, Point point) {
  auto at = std::find_if(chart.series.begin(), chart.series.end(),
                         [&](const Series& series) { return series.name == name; });
  if (at == chart.series.end()) {
    at = chart.series.insert(at, {.name = name, .points = {}, .markers = true});
  }
  at->points.push_back(point);
}

Chart depth_chart(const Profile& profile) {
  Chart out{.title = "Requests a second, many at once",
            .x = {.title = "queue depth", .logarithmic = true},
            .y = {.title = "requests a second"},
            .series = {}};
  for (const Depth& depth : profile.depths) {
    add_point(out, depth.write ? "random write" : "random read",
              {static_cast<double>(depth.depth), depth.iops});
  }
  return out;
}

Chart stream_chart(const Profile& profile, Mode mode, const std::string& title) {
  Chart out{
      .title = title, .x = {.title = "streams"}, .y = {.title = "multiple of one stream"}, .series = {}};
  for (const Streams& streams : profile.streams) {
    const Access& access = streams.access;
    if (access.mode != mode) {
      continue;
    }
    const std::string name = fmt::format("{} {} {}", access.random ? "random" : "sequential",
                                         access.write ? "write" : "read", print_size(streams.size));
    if (std::none_of(out.series.begin(), out.series.end(),
                     [&](const Series& series) { return series.name == name; })) {
      add_point(out, name, {1, 1});
    }
    add_point(out, name, {static_cast<double>(streams.streams), profile.factor(streams)});
  }
  return out;
}

Chart stride_chart(const Profile& profile) {
  Chart out{.title = "Requests that leave a gap",
            .x = {.title = "gap", .unit = Unit::bytes, .logarithmic = true},
            .y = {.title = "0 = as sequential, 1 = as random"},
            .series = {}};
  for (const Stride& stride : profile.strides) {
    add_point(out, stride.write ? "writes" : "reads", {static_cast<double>(stride.gap), stride.share});
  }
  return out;
}

Chart sawtooth_chart(const Profile& profile) {
  constexpr std::uint64_t grain = 1024;
  constexpr std::uint64_t most = 256 * grain;
  Chart out{.title = "Flushed writes, one after another",
            .x = {.title = "request size", .unit = Unit::bytes},
            .y = {.title = "time of one request", .unit = Unit::seconds},
            .series = {}};
  if (profile.sawtooth) {
    Series series{.name = fmt::format("blocks of {}", print_size(profile.sawtooth->block)), .points = {}};
    for (std::uint64_t size = 2 * grain; size <= most; size += grain) {
      series.points.push_back({static_cast<double>(size), profile.sawtooth->at(size)});
    }
    out.series.push_back(std::move(series));
  }
  return out;
}

bool has_points(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const Series& series) { return !series.points.empty(); });
}

std::vector<Chart> first_charts(const Profile& profile) {
  return {access_chart(profile, Mode::direct,
                       fmt::format("{}: past the page cache, one request at a time", profile.place)),
          ratio_chart(profile)};
}

std::string local_time(std::uint64_t seconds) {
  const auto value = static_cast<std::time_t>(seconds);
  std::tm parts{};
  localtime_r(&value, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

std::vector<Fact> facts_of(const Profile& profile) {
  std::vector<Fact> out = {
      {"folder", profile.path},
      {"latency", human_duration(profile.latency())},
      {"seek", human_duration(profile.seek())},
      {"bandwidth", fmt::format("reads {}, writes {}", human_rate(profile.bandwidth(false)),
                                human_rate(profile.bandwidth(true)))},
      {"requests a second",
       fmt::format("reads {:.0f}, writes {:.0f}", profile.iops(false), profile.iops(true))},
      {"block", fmt::format("{}{}", human_size(profile.block),
                            profile.sawtooth ? ", found in the times of flushed writes" : "")}};
  for (const Wait& wait : profile.waits) {
    out.push_back({wait.name, human_duration(wait.one.seconds)});
  }
  out.push_back(
      {"page cache", profile.cache.state + (profile.cache.why.empty() ? "" : ": " + profile.cache.why)});
  const Conditions& conditions = profile.conditions;
  for (const Fact& fact : {Fact{"file system", conditions.filesystem},
                           Fact{"mounted with", conditions.options}, Fact{"device", conditions.device},
                           Fact{"scheduler", conditions.scheduler}, Fact{"kernel", conditions.kernel}}) {
    if (!fact.value.empty()) {
      out.push_back(fact);
    }
  }
  out.push_back(
      {"measured", fmt::format("{}, {} requests in {}, a file of {}{}", local_time(profile.taken),
                               profile.requests, human_duration(profile.seconds), human_size(profile.file),
                               profile.sure ? "" : "; not sure within the bound yet")});
  for (const std::string& note : profile.notes) {
    out.push_back({"note", note});
  }
  return out;
}

}  // namespace

std::string draw_profile(const Profile& profile) {
  return draw(first_charts(profile));
}

std::string page_profile(const Profile& profile) {
  std::vector<Chart> charts = first_charts(profile);
  for (Chart chart :
       {access_chart(profile, Mode::buffered, "Through the page cache"),
        access_chart(profile, Mode::synced, "Every write flushed"),
        access_chart(profile, Mode::sustained, "Long passes of writes with a flush"), depth_chart(profile),
        stream_chart(profile, Mode::direct, "Streams past the page cache, together"),
        stream_chart(profile, Mode::buffered, "Streams through the page cache, together"),
        stream_chart(profile, Mode::synced, "Streams of flushed writes, together"), stride_chart(profile),
        sawtooth_chart(profile)}) {
    if (has_points(chart)) {
      charts.push_back(std::move(chart));
    }
  }
  return html_page(fmt::format("Profile of {}", profile.place), facts_of(profile), draw(charts));
}

}  // namespace sluice
