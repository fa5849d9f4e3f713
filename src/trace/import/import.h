// Traces of other programs become traces of ours: strace's output, Darshan's text, DFTracer's.
//
// A format reads lines and tells events to a sink; the lines are streamed, so memory does not grow with the
// input. From one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"
#include "trace/event.h"

namespace sluice {

// Where what was read goes.
class ImportSink {
 public:
  ImportSink() = default;
  ImportSink(const ImportSink&) = delete;
  ImportSink& operator=(const ImportSink&) = delete;
  virtual ~ImportSink() = default;

  virtual std::uint32_t number_of(std::string_view path) = 0;
  virtual Status add(const TraceEvent& event) = 0;
  std::uint32_t new_file() { return ++files_; }

  JsonBox about;        // an object: what the input says of itself; no more is heard after the first event
  std::string warning;  // what a person has to know of the result; "" = nothing

 private:
  std::uint32_t files_ = 0;
};

class Importer {
 public:
  enum class Line { used, left_out, unreadable };

  Importer() = default;
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;
  virtual ~Importer() = default;

  // A line without its end. Only the sink makes errors.
  virtual Result<Line> take(std::string_view line) = 0;
  // There are no more.
  virtual Status end() { return {}; }
};

struct ImportFormat {
  std::string_view name;
  std::string_view help;
  // Whether a line can only be of this format.
  bool (*is_like)(std::string_view line);
  // `folder` is where the program was started. The sink outlives the importer.
  std::unique_ptr<Importer> (*make)(ImportSink& sink, const std::string& folder);
  // Events come in any order within a process, which has one thread; all files were open before.
  bool sorts = false;
};

// A new one is a file here and a row in import.cc.
std::span<const ImportFormat* const> import_formats();
extern const ImportFormat import_strace;
extern const ImportFormat import_darshan;
extern const ImportFormat import_dftracer;

struct Imported {
  std::string format;
  std::uint64_t lines = 0;
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;    // lines that are about something else
  std::uint64_t unreadable = 0;  // lines
  std::uint64_t first_unreadable = 0;
  std::string warning;
};

// Reads `input` ("-" is standard input) in the format of that name ("auto" looks), and makes the trace
// `output`, which must not be there. Where it fails there is none.
Result<Imported> import_trace(const std::string& input, std::string_view format, const std::string& folder,
                              const std::string& output);

}  // namespace sluice
