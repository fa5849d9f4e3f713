// What a page says in its headings: the finding, not the subject. Plain text, not escaped.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace sluice {

// "78 % of the I/O time goes to 3 files"
std::string finding_of_time(const TraceView& view);
// "80 % of the I/O time falls between 1.2 s and 3.4 s"
std::string finding_of_timeline(const TraceView& view);
// "Half of the writes are of 4.00 KiB or less"
std::string finding_of_sizes(const TraceView& view);
// "Reads are sequential; writes are random"
std::string finding_of_pattern(const TraceView& view);
// "3 files are only read, 12 only written"
std::string finding_of_files(const TraceView& view);
// "One of 12 processes does all of the I/O"
std::string finding_of_processes(const TraceView& view);
// "2.3 times as fast: 12.1 s before, 5.3 s after"
std::string finding_of_gain(const ReportTune& tune);
// What deserves a second look, a sentence each.
std::vector<std::string> remarks_on(const TraceView& view);

// A share for people: "78 %", "< 1 %".
std::string percent(double share);
// "12 345", with narrow blanks; "one", "two" are left to whoever calls.
std::string grouped(std::uint64_t count);
// "1 file", "3 files"
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace sluice
