// fio's iolog. It knows files by name, each of which has to be added once; paths with blanks cannot be said.
#include <fmt/format.h>

#include <set>

#include "trace/export/export.h"
#include "trace/text.h"

namespace sluice {
namespace {

class Iolog : public TraceExporter {
 public:
  std::string head() override { return "fio version 2 iolog\n"; }
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    const std::string& path = texts.path;
    const std::int64_t offset = positions_.offset_of(event);
    const bool moves = event.operation == TraceEvent::read || event.operation == TraceEvent::write;
    if (event.operation == TraceEvent::started || event.is_about_names() || path.empty() ||
        path.find_first_of(" \t\n") != std::string::npos) {
      return "";
    }
    std::string out;
    if (all_.insert(path).second) {
      out += fmt::format("{} add\n{} open\n", path, path);
    }
    if (moves && event.result > 0) {
      out += fmt::format("{} {} {} {}\n", path, event.operation == TraceEvent::read ? "read" : "write",
                         offset, event.result);
    } else if (event.operation == TraceEvent::sync) {
      out += fmt::format("{} {} 0 0\n", path, event.flags == 0 ? "sync" : "datasync");
    }
    return out;
  }
  std::string tail() override {
    std::string out;
    for (const std::string& path : all_) {
      out += fmt::format("{} close\n", path);
    }
    return out;
  }

 private:
  std::set<std::string> all_;
  TracePositions positions_;
};

}  // namespace

std::unique_ptr<TraceExporter> make_iolog() {
  return std::make_unique<Iolog>();
}

}  // namespace sluice
