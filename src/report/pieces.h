// Pieces of a page. Strings that are named `html` are put in as they are; all others are escaped.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace sluice {

// A card with a small line that names the subject, and the finding as its heading.
std::string html_section(std::string_view id, std::string_view topic, std::string_view finding,
                         std::string_view hint, std::string_view html);

// A path, the folder apart from the name so that it can be shortened first.
std::string html_path(const std::string& path, std::string_view tag);

struct HtmlCell {
  std::string html;
  std::optional<double> value = {};  // to sort by
  std::string_view style = {};       // class
};
struct HtmlColumn {
  std::string_view title;
  bool number = false;
};
// `last` stays at the end however the others are sorted; none where it is empty.
std::string html_table(std::string_view label, std::span<const HtmlColumn> columns,
                       std::span<const std::vector<HtmlCell>> rows, const std::vector<HtmlCell>& last = {},
                       std::string_view style = "sorts");

// A row of a timeline as a picture: in each bin how long, by kind. `full` nanoseconds in a bin are all of its
// height.
std::string lane_svg(const Lane& lane, std::uint32_t bins, double full);
// Which parts of a file were read and written when: time from left to right, the file from bottom to top.
struct FileMap {
  std::string svg;
  std::uint64_t bytes = 0;  // at its top
};
FileMap file_map(const Lane& lane, std::uint32_t bins);
// The largest sum of a bin.
double fullest(const Lane& lane);
// What the script needs to tell of lanes: numbers alone.
std::string lanes_json(std::span<const Lane* const> lanes, const TraceView& view, std::uint32_t bins);
// How many bins of the view are in use.
std::uint32_t bins_of(const TraceView& view);

// Sections of what was tuned.
std::string tune_sections(const ReportTune& tune);

}  // namespace sluice
