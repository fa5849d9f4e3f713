#include "profile/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace sluice {
namespace {

constexpr std::uint64_t sector = 512;
constexpr std::uint64_t largest = std::uint64_t{2} << 30;
constexpr std::uint64_t most_sizes = 100'000;

constexpr std::string_view default_grid = "512:4K:512,4K:64K:4K,64K:1M:64K,1M:16M:1M,16M:64M:16M";
constexpr std::string_view paper_grid = "8K:64K:8K,64K:4M:32K";

Result<Interval> parse_interval(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3) {
    return bad_input(fmt::format("{} is no interval of sizes", quote(text)), "LO:HI:GAP, such as 8K:64K:8K");
  }
  Interval out;
  SLUICE_TRY(out.low, parse_size(parts[0]));
  SLUICE_TRY(out.high, parse_size(parts[1]));
  SLUICE_TRY(out.gap, parse_size(parts[2]));
  if (out.low > out.high) {
    return bad_input(fmt::format("the interval {} is empty", quote(text)),
                     "the first size is the smaller one");
  }
  if (out.gap == 0 && out.low != out.high) {
    return bad_input(fmt::format("the interval {} has no gap", quote(text)), "LO:HI:GAP, such as 8K:64K:8K");
  }
  out.gap = std::max(out.gap, sector);
  for (const std::uint64_t size : {out.low, out.high, out.gap}) {
    if (size == 0 || size % sector != 0) {
      return bad_input(fmt::format("{} in {} is no multiple of 512", print_size(size), quote(text)),
                       "requests past the page cache are whole sectors");
    }
  }
  if (out.high > largest) {
    return bad_input(fmt::format("requests of {} are too large", print_size(out.high)), "2G is the most");
  }
  if ((out.high - out.low) / out.gap >= most_sizes) {
    return bad_input(fmt::format("{} has more than {} sizes", quote(text), most_sizes),
                     "choose a larger gap");
  }
  return out;
}

}  // namespace

std::vector<std::uint64_t> Interval::sizes() const {
  std::vector<std::uint64_t> out;
  for (std::uint64_t size = low; size <= high; size += gap) {
    out.push_back(size);
  }
  if (out.back() != high) {
    out.push_back(high);  // the extremes are always in
  }
  return out;
}

Result<std::vector<Interval>> parse_grid(std::string_view text) {
  const std::string_view list = text == "default" ? default_grid : text == "paper" ? paper_grid : text;
  std::vector<Interval> out;
  for (const std::string_view part : split(list, ',')) {
    SLUICE_TRY(const Interval interval, parse_interval(trim(part)));
    if (!out.empty() && interval.low < out.back().high) {
      return bad_input(fmt::format("the interval {} begins before the one before it ends", quote(part)),
                       "intervals ascend");
    }
    out.push_back(interval);
  }
  if (all_sizes(out).size() > most_sizes) {
    return bad_input(fmt::format("more than {} sizes", most_sizes), "choose larger gaps");
  }
  return out;
}

std::string print_grid(const std::vector<Interval>& grid) {
  std::vector<std::string> parts;
  for (const Interval& interval : grid) {
    parts.push_back(fmt::format("{}:{}:{}", print_size(interval.low), print_size(interval.high),
                                print_size(interval.gap)));
  }
  return join(parts, ",");
}

std::vector<std::uint64_t> all_sizes(const std::vector<Interval>& grid) {
  std::vector<std::uint64_t> out;
  for (const Interval& interval : grid) {
    const auto sizes = interval.sizes();
    out.insert(out.end(), sizes.begin() + (!out.empty() && out.back() == sizes.front() ? 1 : 0), sizes.end());
  }
  return out;
}

std::vector<std::uint64_t> draw_sizes(const Interval& interval, std::size_t points, std::mt19937_64& random) {
  std::vector<std::uint64_t> all = interval.sizes();
  if (all.size() <= points) {
    return all;
  }
  std::vector<std::uint64_t> out = {all.front(), all.back()};
  std::sample(all.begin() + 1, all.end() - 1, std::back_inserter(out),
              static_cast<std::ptrdiff_t>(points) - 2, random);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace sluice
