#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "report/findings.h"
#include "report/looks.h"
#include "report/pieces.h"
#include "report/report.h"

namespace sluice {
namespace {

constexpr std::size_t most_file_lanes = 30;
constexpr std::size_t most_process_lanes = 20;

std::string duration_of(std::uint64_t nanoseconds) {
  return human_duration(static_cast<double>(nanoseconds) / 1e9);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The command as it was given; quotes only where a blank would mislead.
std::string command_of(const Json& about) {
  std::string out;
  if (about.is_object() && about.contains("command") && about["command"].is_array()) {
    for (const Json& word : about["command"]) {
      const std::string text = word.is_string() ? word.get<std::string>() : word.dump();
      out += out.empty() ? "" : " ";
      out += text.empty() || text.find(' ') != std::string::npos ? "'" + text + "'" : text;
    }
  }
  constexpr std::size_t most = 300;
  return out.size() > most ? out.substr(0, most) + "..." : out;
}

std::string text_of(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : "";
}

std::string when(const Json& about) {
  if (!about.is_object() || !about.contains("time") || !about["time"].is_number_integer()) {
    return "";
  }
  const auto value = static_cast<std::time_t>(about["time"].get<std::int64_t>());
  std::tm parts{};
  char text[40];
  return gmtime_r(&value, &parts) == nullptr
             ? ""
             : std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts));
}

std::string head_of(const ReportInput& input) {
  const TraceView& view = input.view;
  const std::string command = command_of(*view.about);
  std::vector<std::string> facts;
  for (const std::string& fact : {text_of(*view.about, "host"), when(*view.about)}) {
    if (!fact.empty()) {
      facts.push_back(fact);
    }
  }
  if (view.end->is_object() && view.end->contains("status") && (*view.end)["status"].is_number_integer()) {
    facts.push_back(fmt::format("ended with status {}", (*view.end)["status"].get<std::int64_t>()));
  }
  facts.push_back(fmt::format("{} recorded", counted(view.events, "call", "calls")));
  if (!view.point.empty() && view.point != "program") {
    facts.push_back(fmt::format("as seen at the point {}", view.point));
  }
  std::string out = fmt::format(
      "<header>\n<p class=\"topic\">Sluice report</p>\n<h1><code>{}</code></h1>\n<p class=\"about\">{}</p>\n",
      escape_xml(command.empty() ? "A traced program" : command), escape_xml(join(facts, " \u00b7 ")));
  if (!view.trouble.empty()) {
    out += fmt::format(
        "<p class=\"warning\" role=\"note\">The trace is not whole: {}. What is before that is shown.</p>\n",
        escape_xml(view.trouble));
  }
  out += "<nav aria-label=\"parts of this page\">";
  if (input.tune) {
    out += "<a href=\"#gain\">Result</a>";
  }
  out +=
      "<a href=\"#time\">Time</a><a href=\"#timeline\">Timeline</a><a href=\"#sizes\">Request sizes</a>"
      "<a href=\"#files\">Files</a><a href=\"#processes\">Processes</a>";
  return out + "</nav>\n</header>\n";
}

std::string tiles_of(const TraceView& view) {
  const ViewRow& all = view.all;
  struct Tile {
    std::string value;
    std::string name;
  };
  const double spent = static_cast<double>(all.nanoseconds) / 1e9;
  const std::vector<Tile> tiles = {
      {human_duration(view.seconds), "the run took"},
      {human_duration(spent),
       all.threads > 1
           ? fmt::format("in I/O, {} threads together", grouped(all.threads))
           : fmt::format("in I/O, {} of the run", percent(view.seconds > 0 ? spent / view.seconds : 0))},
      {human_size(all.read.bytes), fmt::format("read in {}", counted(all.read.calls, "call", "calls"))},
      {human_size(all.write.bytes), fmt::format("written in {}", counted(all.write.calls, "call", "calls"))},
      {grouped(view.file_count), view.file_count == 1 ? "file" : "files"},
      {grouped(view.process_count), view.process_count == 1 ? "process" : "processes"},
      {grouped(all.syncs), all.syncs == 1 ? "sync" : "syncs"},
      {grouped(all.failures), all.failures == 1 ? "failed call" : "failed calls"}};
  std::string out = "<ul class=\"tiles\">\n";
  for (const Tile& tile : tiles) {
    out += fmt::format("<li><b>{}</b><span>{}</span></li>\n", escape_xml(tile.value), escape_xml(tile.name));
  }
  return out + "</ul>\n";
}

std::string_view kind_of(const std::string& operation) {
  return operation == "read" ? "r" : operation == "write" ? "w" : "o";
}

std::string time_section(const TraceView& view) {
  std::string html;
  const std::vector<std::string> remarks = remarks_on(view);
  if (!remarks.empty()) {
    html += "<ul class=\"remarks\">\n";
    for (const std::string& remark : remarks) {
      html += fmt::format("<li>{}</li>\n", escape_xml(remark));
    }
    html += "</ul>\n";
  }
  html += "<h3>By call</h3>\n<div class=\"split\" aria-hidden=\"true\">";
  std::vector<std::vector<HtmlCell>> rows;
  std::uint64_t longest = 1;
  std::uint64_t whole = 0;
  for (const auto& operation : view.operations) {
    longest = std::max(longest, operation.nanoseconds);
    whole += operation.nanoseconds;
  }
  for (const auto& operation : view.operations) {
    html += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{} {}\"></i>",
                        kind_of(operation.name), 100 * share_of(operation.nanoseconds, whole), operation.name,
                        percent(share_of(operation.nanoseconds, whole)));
    rows.push_back(
        {{.html = operation.name},
         {.html = fmt::format("<span class=\"bar {}\" style=\"width:{:.1f}%\"></span>",
                              kind_of(operation.name), 100 * share_of(operation.nanoseconds, longest)),
          .style = "wide"},
         {.html = percent(share_of(operation.nanoseconds, whole))},
         {.html = duration_of(operation.nanoseconds)},
         {.html = grouped(operation.calls)},
         {.html = duration_of(operation.nanoseconds / std::max<std::uint64_t>(operation.calls, 1))},
         {.html = grouped(operation.failures)}});
  }
  html += "</div>\n";
  constexpr std::array<HtmlColumn, 7> columns = {
      {{"call"}, {""}, {"share", true}, {"time", true}, {"calls", true}, {"mean", true}, {"failed", true}}};
  html += html_table("time by call", columns, rows, {}, "bars");

  html += "<h3>By file</h3>\n";
  rows.clear();
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, view.files.size()); ++i) {
    const ViewRow& row = view.files[i];
    std::string bar = "<div class=\"split\" style=\"height:14px;margin:0\">";
    const std::uint64_t other = row.nanoseconds - row.read.nanoseconds - row.write.nanoseconds;
    for (const auto& [kind, time] : {std::pair{"r", row.read.nanoseconds},
                                     std::pair{"w", row.write.nanoseconds}, std::pair{"o", other}}) {
      bar += time == 0 ? ""
                       : fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\"></i>", kind,
                                     100 * share_of(time, view.files[0].nanoseconds));
    }
    rows.push_back({{.html = html_path(row.name, "span"), .style = "file"},
                    {.html = bar + "</div>", .style = "wide"},
                    {.html = percent(share_of(row.nanoseconds, view.all.nanoseconds))},
                    {.html = duration_of(row.nanoseconds)}});
  }
  constexpr std::array<HtmlColumn, 4> file_columns = {{{"file"}, {""}, {"share", true}, {"time", true}}};
  html += html_table("time by file", file_columns, rows, {}, "bars");
  html +=
      "<ul class=\"legend\"><li><i class=\"r\"></i>reads</li><li><i class=\"w\"></i>writes</li>"
      "<li><i class=\"o\"></i>open, close, sync, seek and other calls</li></ul>\n";
  return html_section("time", "Where the time goes", finding_of_time(view),
                      "Time that the program's threads spent in calls on files, all threads together.", html);
}

std::string process_name(const ViewRow& row) {
  return fmt::format("{} {}", row.process, row.name);
}

class Timeline {
 public:
  explicit Timeline(const TraceView& view) : view_(view), bins_(bins_of(view)) {}

  std::string html() {
    std::string out =
        "<ul class=\"legend\"><li><i class=\"r\"></i>reads</li><li><i class=\"w\"></i>writes</li>"
        "<li><i class=\"o\"></i>other calls</li></ul>\n" +
        lane(view_.all, "<span class=\"name\"><span class=\"base\">all of it</span></span>",
             fullest(view_.all.lane), "lane whole");
    if (view_.process_count > 1) {
      out +=
          "<div class=\"views\" role=\"group\" aria-label=\"rows\" hidden><button type=\"button\" "
          "data-shows=\"by-file\">by file</button>"
          "<button type=\"button\" data-shows=\"by-process\">by process</button></div>\n";
    }
    out += "<div id=\"by-file\">\n" + lanes(view_.files, view_.other_files, most_file_lanes, "files");
    if (view_.process_count > 1) {
      out += "</div>\n<div id=\"by-process\">\n" +
             lanes(view_.processes, view_.other_processes, most_process_lanes, "processes");
    }
    return out + "</div>\n<p id=\"says\" aria-live=\"polite\" style=\"position:absolute;left:-999em\"></p>\n";
  }
  // After html().
  [[nodiscard]] std::string json() const { return lanes_json(lanes_, view_, bins_); }

 private:
  std::string lanes(const std::vector<ViewRow>& rows, const ViewRow& others, std::size_t most,
                    std::string_view many) {
    const std::size_t shown = worth_a_row(rows, most);
    rest_.emplace_back(std::make_unique<ViewRow>(others));
    ViewRow& rest = *rest_.back();
    std::uint64_t left = others.calls > 0 ? 1 : 0;
    for (std::size_t i = shown; i < rows.size(); ++i) {
      rest.add(rows[i]);
      ++left;
    }
    double full = left > 0 ? fullest(rest.lane) : 0;
    for (std::size_t i = 0; i < shown; ++i) {
      full = std::max(full, fullest(rows[i].lane));
    }
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) {
      out += lane(rows[i], html_path(rows[i].process != 0 ? process_name(rows[i]) : rows[i].name, "span"),
                  full, "lane");
    }
    if (left > 0) {
      out += lane(rest, fmt::format("<span class=\"name\"><span class=\"base\">other {}</span></span>", many),
                  full, "lane others");
    }
    return out + axis();
  }

  // Those that have nearly all of the time, and a few at least.
  [[nodiscard]] std::size_t worth_a_row(const std::vector<ViewRow>& rows, std::size_t most) const {
    constexpr std::size_t least = 8;
    std::uint64_t sum = 0;
    std::size_t out = 0;
    while (out < std::min(rows.size(), most) &&
           (out < least || share_of(sum, view_.all.nanoseconds) < 0.99)) {
      sum += rows[out++].nanoseconds;
    }
    return out;
  }

  std::string lane(const ViewRow& row, const std::string& name_html, double full, std::string_view style) {
    lanes_.push_back(&row.lane);
    return fmt::format(
        "<div class=\"{}\">{}<div class=\"strip\" data-lane=\"{}\" role=\"img\" aria-label=\"{}, {} in "
        "{}\">{}</div>"
        "<span class=\"amount\">{}</span></div>\n",
        style, name_html, lanes_.size() - 1, escape_xml(row.name.empty() ? "together" : row.name),
        duration_of(row.nanoseconds), counted(row.calls, "call", "calls"), lane_svg(row.lane, bins_, full),
        duration_of(row.nanoseconds));
  }

  [[nodiscard]] std::string axis() const {
    constexpr int steps = 4;
    const double end = bins_ * view_.bin_seconds;
    std::string out =
        "<div class=\"lane ticks\"><span class=\"name\"></span><div class=\"axis\" aria-hidden=\"true\">";
    for (int i = 0; i <= steps; ++i) {
      out += fmt::format("<span{} style=\"left:{}%\">{}</span>", i == steps ? " class=\"last\"" : "",
                         i * 100 / steps, i == 0 ? "0" : human_duration(end * i / steps));
    }
    return out + "</div><span class=\"amount\"></span></div>\n";
  }

  const TraceView& view_;
  std::uint32_t bins_;
  std::vector<const Lane*> lanes_;
  std::vector<std::unique_ptr<ViewRow>> rest_;
};

// The files that took longest, each as a picture of where it was used when. Of several files together there
// is none.
std::string where_section(const TraceView& view) {
  constexpr std::size_t most = 6;
  constexpr std::uint64_t few = 16;  // requests, which are no pattern
  std::string html;
  std::size_t shown = 0;
  for (const ViewRow& row : view.files) {
    if (shown == most || row.files != 1 || row.read.calls + row.write.calls < few) {
      continue;
    }
    const FileMap map = file_map(row.lane, bins_of(view));
    std::vector<std::string> words;
    for (const bool write : {false, true}) {
      const std::string pattern = (write ? row.write : row.read).pattern();
      if (!pattern.empty()) {
        words.push_back(fmt::format("{} {}", write ? "writes" : "reads", pattern));
      }
    }
    html += fmt::format(
        "<figure>{}<div class=\"map\" role=\"img\" aria-label=\"{}, "
        "{}\">{}<span>{}</span></div><figcaption>{}</figcaption></figure>\n",
        html_path(row.name, "div"), escape_xml(row.name), join(words, ", "), map.svg, human_size(map.bytes),
        join(words, ", "));
    ++shown;
  }
  return html.empty()
             ? ""
             : html_section(
                   "where", "Where in the files", finding_of_pattern(view),
                   "Time goes from left to right, the file from bottom to top: a rising line is a file that "
                   "is used from its "
                   "beginning to its end, a full field one that is used everywhere at once. Up to six files.",
                   "<div class=\"maps\">\n" + html + "</div>\n");
}

// Powers of two need no fraction.
std::string round_size(std::uint64_t bytes) {
  constexpr std::array names = {"B", "KiB", "MiB", "GiB"};
  std::size_t step = 0;
  for (; bytes >= 1024 && step + 1 < names.size(); ++step) {
    bytes /= 1024;
  }
  return fmt::format("{} {}", bytes, names[step]);
}

std::string sizes_section(const TraceView& view) {
  const ViewRequests& read = view.all.read;
  const ViewRequests& write = view.all.write;
  std::uint64_t most = 1;
  std::size_t first = ViewRequests::classes;
  std::size_t last = 0;
  for (std::size_t i = 0; i < ViewRequests::classes; ++i) {
    if (read.sizes[i].calls + write.sizes[i].calls > 0) {
      first = std::min(first, i);
      last = i;
    }
    most = std::max({most, read.sizes[i].calls, write.sizes[i].calls});
  }
  std::vector<std::vector<HtmlCell>> rows;
  for (std::size_t i = first; i <= last && first < ViewRequests::classes; ++i) {
    if (read.sizes[i].calls + write.sizes[i].calls == 0) {
      continue;
    }
    std::vector<HtmlCell> row = {{.html = i == 0 ? "0 B"
                                                 : round_size(std::uint64_t{1} << (i - 1)) +
                                                       (i + 1 == ViewRequests::classes ? " and more" : "")}};
    for (const bool is_write : {false, true}) {
      constexpr double widest = 55;  // the text stands behind the bar and needs its room
      const ViewRequests::Class& size = (is_write ? write : read).sizes[i];
      const std::string bar = fmt::format(
          "<span class=\"count\"><span class=\"bar {}\" style=\"width:{:.1f}%\"></span>"
          "<small>{}, {}</small></span>",
          is_write ? "w" : "r", widest * share_of(size.calls, most), grouped(size.calls),
          duration_of(size.nanoseconds));
      row.push_back({.html = size.calls == 0 ? "" : bar, .style = "wide"});
    }
    rows.push_back(std::move(row));
  }
  constexpr std::array<HtmlColumn, 3> columns = {{{"from"}, {"reads"}, {"writes"}}};
  std::string html = rows.empty() ? "" : html_table("request sizes", columns, rows, {}, "bars");
  return html_section("sizes", "Request sizes", finding_of_sizes(view),
                      "How many requests were of which size, and the time they took. A row goes up to twice "
                      "the size that begins it.",
                      html);
}

HtmlCell requests_cell(const ViewRequests& requests) {
  return {.html = requests.calls == 0 ? ""
                                      : fmt::format("{} \u00d7 {}<small>{}</small>", grouped(requests.calls),
                                                    human_size(requests.typical()), requests.pattern()),
          .value = static_cast<double>(requests.calls)};
}
HtmlCell bytes_cell(const ViewRequests& requests) {
  return {.html = requests.calls == 0 ? "" : human_size(requests.bytes),
          .value = static_cast<double>(requests.bytes)};
}
HtmlCell count_cell(std::uint64_t count) {
  return {.html = count == 0 ? "" : grouped(count), .value = static_cast<double>(count)};
}

// What files and processes have in common.
std::vector<HtmlCell> row_cells(const ViewRow& row, std::uint64_t whole, std::string name_html) {
  const double share = share_of(row.nanoseconds, whole);
  return {{.html = std::move(name_html), .style = "file"},
          {.html = fmt::format("{}<small>{}</small><span class=\"bar\" style=\"width:{:.1f}%\"></span>",
                               duration_of(row.nanoseconds), percent(share), 100 * std::min(share, 1.0)),
           .value = static_cast<double>(row.nanoseconds)},
          requests_cell(row.read),
          bytes_cell(row.read),
          requests_cell(row.write),
          bytes_cell(row.write),
          count_cell(row.opens),
          count_cell(row.syncs),
          count_cell(row.failures),
          count_cell(row.process != 0 ? row.threads : row.files)};
}

std::string rows_table(const TraceView& view, const std::vector<ViewRow>& all, const ViewRow& others,
                       std::string_view one, std::string_view many) {
  const std::array<HtmlColumn, 10> columns = {{{one},
                                               {"time", true},
                                               {"reads", true},
                                               {"read", true},
                                               {"writes", true},
                                               {"written", true},
                                               {"opens", true},
                                               {"syncs", true},
                                               {"failed", true},
                                               {one == "file" ? "files" : "threads", true}}};
  std::vector<std::vector<HtmlCell>> rows;
  for (const ViewRow& row : all) {
    rows.push_back(row_cells(row, view.all.nanoseconds,
                             html_path(row.process != 0 ? process_name(row) : row.name, "span")));
  }
  const std::vector<HtmlCell> last =
      others.calls == 0 ? std::vector<HtmlCell>()
                        : row_cells(others, view.all.nanoseconds, fmt::format("other {}", many));
  return html_table(many, columns, rows, last);
}

std::string foot_of(const ReportInput& input) {
  return fmt::format(
      "<footer>\n<p>{}Made by sluice {}. A trace has the calls on regular files that open, read, write, "
      "seek, sync, resize and close; "
      "not names that are only looked up, and not what is done through a mapping.</p>\n</footer>\n",
      input.source.empty() ? "" : fmt::format("From the trace {}. ", escape_xml(input.source)),
      SLUICE_VERSION);
}

}  // namespace

std::string report_page(const ReportInput& input) {
  const TraceView& view = input.view;
  const std::string command = command_of(*view.about);
  // The policy is for the browser to hold us to it: nothing is fetched from anywhere.
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Sluice: "
      "{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      escape_xml(command.empty() ? "report" : command), report_style);
  out += head_of(input) + "<main>\n" + tiles_of(view);
  if (input.tune) {
    out += tune_sections(*input.tune);
  }
  Timeline timeline(view);
  out += time_section(view);
  out += html_section("timeline", "When", finding_of_timeline(view),
                      "Each bar is as high as the square root of the time in calls. Point at it, or use Tab "
                      "and the arrow keys, for the numbers.",
                      timeline.html());
  out += where_section(view);
  out += sizes_section(view);
  out += html_section("files", "Files", finding_of_files(view),
                      "Requests, their typical size and pattern. Files whose names differ in numbers alone "
                      "are one row where they are many.",
                      rows_table(view, view.files, view.other_files, "file", "files"));
  out += html_section("processes", "Processes", finding_of_processes(view), "",
                      rows_table(view, view.processes, view.other_processes, "process", "processes"));
  out += "</main>\n" + foot_of(input) + "<div id=\"tip\" role=\"tooltip\" hidden></div>\n";
  // Numbers alone: nothing in it can end the element.
  out += fmt::format(
      "<script type=\"application/json\" id=\"cells\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      timeline.json(), report_script);
  return out;
}

}  // namespace sluice
