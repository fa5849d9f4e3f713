// What the verbs that read traces share: which events, and where they go.
#pragma once

#include <functional>
#include <string>

#include "cli/verb.h"
#include "intent/glob.h"
#include "trace/text.h"

namespace sluice {

extern const Option option_point;
extern const Option option_operation;
extern const Option option_path_glob;
extern const Option option_process;
extern const Option option_from;
extern const Option option_to;

// The number of the point that is asked for; the first where none is.
Result<std::uint8_t> wanted_point(const Context& context, const TraceReader& trace);
std::string point_name(const TraceReader& trace, std::uint8_t point);
// Those of --files, absolute.
Result<std::vector<Glob>> wanted_files(const Context& context);
// A trace that is not whole is told of, on standard error.
void warn_of_trouble(const TraceReader& trace, const std::string& path);

// Where a page may be written that was made of `source`: not over it, and over another file only by force.
Status may_write(const std::string& path, bool force, const std::string& source);

// Calls `take` for each event that the options want, in the order in which they began, until that is false.
using TakeEvent = std::function<bool(const TraceEvent&, const std::string& path)>;
Status for_each_wanted(const Context& context, TraceReader& trace, TraceFiles& files, const TakeEvent& take);

// Standard output, for much of it. False where nothing more can be written there.
class Printer {
 public:
  Printer() = default;
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;
  ~Printer() { flush(); }
  bool print(const std::string& text);
  bool flush();
  // At the end: why not all of it could be written. Who reads no further is no error of ours.
  Status finish();

 private:
  std::string waiting_;
  Status so_far_;
};

}  // namespace sluice
