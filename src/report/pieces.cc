#include "report/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr double lane_height = 24;
constexpr std::array<std::string_view, kinds> kind_class = {"r", "w", "o"};

std::uint64_t sum_of(const Cell& cell) {
  return std::accumulate(cell.nanoseconds.begin(), cell.nanoseconds.end(), std::uint64_t{0});
}

std::string table_row(std::span<const HtmlColumn> columns, const std::vector<HtmlCell>& cells) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view style = !cells[i].style.empty() ? cells[i].style : columns[i].number ? "n" : "";
    out +=
        fmt::format("<td{}{}>{}</td>", style.empty() ? "" : fmt::format(" class=\"{}\"", style),
                    cells[i].value ? fmt::format(" data-v=\"{:.9g}\"", *cells[i].value) : "", cells[i].html);
  }
  return out + "</tr>\n";
}

}  // namespace

std::string html_section(std::string_view id, std::string_view topic, std::string_view finding,
                         std::string_view hint, std::string_view html) {
  return fmt::format("<section id=\"{}\">\n<p class=\"topic\">{}</p>\n<h2>{}</h2>\n{}{}</section>\n", id,
                     escape_xml(topic), escape_xml(finding),
                     hint.empty() ? "" : fmt::format("<p class=\"hint\">{}</p>\n", escape_xml(hint)), html);
}

std::string html_path(const std::string& path, std::string_view tag) {
  const std::size_t slash = path.rfind('/');
  const std::size_t split = slash == std::string::npos || slash + 1 == path.size() ? 0 : slash + 1;
  return fmt::format(
      "<{0} class=\"name\" title=\"{1}\"><span class=\"dir\">{2}</span><span class=\"base\">{3}</span></{0}>",
      tag, escape_xml(path), escape_xml(path.substr(0, split)),
      path.empty() ? "(no name)" : escape_xml(path.substr(split)));
}

std::string html_table(std::string_view label, std::span<const HtmlColumn> columns,
                       std::span<const std::vector<HtmlCell>> rows, const std::vector<HtmlCell>& last,
                       std::string_view style) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table "
      "class=\"{1}\">\n<thead><tr>",
      escape_xml(label), style);
  for (const HtmlColumn& column : columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"n\"" : "",
                       escape_xml(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<HtmlCell>& row : rows) {
    out += table_row(columns, row);
  }
  out += "</tbody>\n";
  if (!last.empty()) {
    out += "<tfoot>" + table_row(columns, last) + "</tfoot>\n";
  }
  return out + "</table>\n</div>\n";
}

double fullest(const Lane& lane) {
  std::uint64_t most = 0;
  for (const Cell& cell : lane.cells()) {
    most = std::max(most, sum_of(cell));
  }
  return static_cast<double>(most);
}

std::string lane_svg(const Lane& lane, std::uint32_t bins, double full) {
  constexpr double least = 1.5;  // what is there can be seen
  std::array<std::string, kinds> paths;
  for (const Cell& cell : lane.cells()) {
    const auto sum = static_cast<double>(sum_of(cell));
    if (sum <= 0 && cell.calls == 0) {
      continue;
    }
    // The square root, because a tenth of the busiest bin is worth seeing too.
    const double height = std::clamp(lane_height * std::sqrt(sum / std::max(full, 1.0)), least, lane_height);
    double y = lane_height;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const double part = sum > 0     ? height * static_cast<double>(cell.nanoseconds[kind]) / sum
                          : kind == 2 ? height
                                      : 0;
      if (part > 0) {
        paths[kind] += fmt::format("M{} {:.3g}h1v-{:.3g}h-1z", cell.bin, y, part);
        y -= part;
      }
    }
  }
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {:g}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">", bins, lane_height);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (!paths[kind].empty()) {
      out += fmt::format("<path class=\"{}\" d=\"{}\"/>", kind_class[kind], paths[kind]);
    }
  }
  return out + "</svg>";
}

FileMap file_map(const Lane& lane, std::uint32_t bins) {
  std::uint64_t all = 0;
  for (const Cell& cell : lane.cells()) {
    all |= cell.bands[0] | cell.bands[1];
  }
  const auto height = std::max<std::uint64_t>(static_cast<std::uint64_t>(std::bit_width(all)), 1);
  // Two bins are one column: it is half as much text and no worse to look at.
  std::vector<std::array<std::uint64_t, 2>> columns(bins / 2 + 1);
  for (const Cell& cell : lane.cells()) {
    for (std::size_t kind = 0; kind < cell.bands.size(); ++kind) {
      columns[std::min<std::size_t>(cell.bin / 2, columns.size() - 1)][kind] |= cell.bands[kind];
    }
  }
  std::array<std::string, 2> paths;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    for (std::size_t kind = 0; kind < paths.size(); ++kind) {
      std::uint64_t bits = columns[column][kind];
      while (bits != 0) {
        const auto from = static_cast<std::uint64_t>(std::countr_zero(bits));
        const auto run = static_cast<std::uint64_t>(std::countr_one(bits >> from));
        paths[kind] += fmt::format("M{} {}h1v-{}h-1z", column, height - from, run);
        bits = from + run >= 64 ? 0 : bits >> (from + run) << (from + run);
      }
    }
  }
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                  (bins + 1) / 2, height);
  for (std::size_t kind = 0; kind < paths.size(); ++kind) {
    if (!paths[kind].empty()) {
      svg += fmt::format("<path class=\"{}\" d=\"{}\"/>", kind_class[kind], paths[kind]);
    }
  }
  return {.svg = svg + "</svg>", .bytes = height * lane.band()};
}

std::uint32_t bins_of(const TraceView& view) {
  const double bins = view.bin_seconds > 0 ? std::ceil(view.seconds / view.bin_seconds) : 1;
  return static_cast<std::uint32_t>(std::clamp(bins, 1.0, static_cast<double>(Grid::bins)));
}

std::string lanes_json(std::span<const Lane* const> lanes, const TraceView& view, std::uint32_t bins) {
  std::string out = fmt::format("{{\"bins\":{},\"width\":{},\"seconds\":{},\"lanes\":[", bins,
                                view.bin_seconds, view.seconds);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    out += i == 0 ? "[" : ",[";
    bool first = true;
    for (const Cell& cell : lanes[i]->cells()) {
      const auto microseconds = [&](std::size_t kind) {
        return static_cast<double>(cell.nanoseconds[kind]) / 1e3;
      };
      out += fmt::format("{}[{},{},{:.4g},{:.4g},{:.4g},{:.4g},{:.4g}]", first ? "" : ",", cell.bin,
                         cell.calls, static_cast<double>(cell.bytes[0]), static_cast<double>(cell.bytes[1]),
                         microseconds(0), microseconds(1), microseconds(2));
      first = false;
    }
    out += "]";
  }
  return out + "]}";
}

}  // namespace sluice
