// A trace in forms that other programs read. A form gets the events one by one, in the order in which they
// began, and gives text back. From one thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "trace/text.h"

namespace sluice {

class TraceExporter {
 public:
  TraceExporter() = default;
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;
  virtual ~TraceExporter() = default;

  virtual std::string head() { return ""; }
  virtual std::string line(const TraceEvent& event, const EventTexts& texts) = 0;
  virtual std::string tail() { return ""; }
};

using MakeExporter = std::unique_ptr<TraceExporter> (*)();
std::unique_ptr<TraceExporter> make_csv();
std::unique_ptr<TraceExporter> make_json_lines();
std::unique_ptr<TraceExporter> make_json_list();  // what --json prints
std::unique_ptr<TraceExporter> make_chrome();
std::unique_ptr<TraceExporter> make_iolog();
std::unique_ptr<TraceExporter> make_fio_job();
std::unique_ptr<TraceExporter> make_romio();

struct ExportFormat {
  std::string_view name;
  std::string_view help;
  MakeExporter make;
};

// A new one is a file here, a line above and a row.
inline constexpr std::array export_formats = {
    ExportFormat{"csv", "a table with a line of titles", make_csv},
    ExportFormat{"json", "an object a line", make_json_lines},
    ExportFormat{"chrome", "what Perfetto and chrome://tracing open", make_chrome},
    ExportFormat{"fio", "an iolog of version 2, for fio's read_iolog=", make_iolog},
    ExportFormat{"fio-job", "a job file for fio that does a workload like it", make_fio_job},
    ExportFormat{"romio", "hints for MPI-IO programs, for ROMIO_HINTS", make_romio},
};

// REQUIRES: it is one of the names.
std::unique_ptr<TraceExporter> make_exporter(std::string_view name);

}  // namespace sluice
