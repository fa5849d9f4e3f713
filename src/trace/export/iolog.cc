// fio's iolog. It knows files by name, each of which has to be added once. fio writes to what it names, so
// none of them is a file of the trace: they are names in the folder where fio is started.
#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "trace/export/export.h"

namespace sluice {
namespace {

class Iolog : public TraceExporter {
 public:
  std::string head() override { return "fio version 2 iolog\n"; }
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    const std::int64_t offset = positions_.offset_of(event);
    const bool moves = event.operation == TraceEvent::read || event.operation == TraceEvent::write;
    if (event.operation == TraceEvent::started || event.is_about_names() || texts.path.empty() ||
        event.result < 0) {
      return "";
    }
    const auto [found, is_new] = names_.try_emplace(texts.path);
    if (is_new) {
      found->second = name_for(texts.path);
    }
    const std::string& name = found->second;
    std::string out = is_new ? fmt::format("{} add\n{} open\n", name, name) : "";
    if (moves && event.result > 0) {
      out += fmt::format("{} {} {} {}\n", name, event.operation == TraceEvent::read ? "read" : "write",
                         offset, event.result);
    } else if (event.operation == TraceEvent::sync) {
      out += fmt::format("{} {} 0 0\n", name, event.flags == 0 ? "sync" : "datasync");
    }
    return out;
  }
  std::string tail() override {
    std::string out;
    for (const std::string& name : taken_) {
      out += fmt::format("{} close\n", name);
    }
    return out;
  }

 private:
  // "/data/a b" -> "data+a_b"; two that become alike get a number.
  std::string name_for(const std::string& path) {
    constexpr std::size_t longest = 200;
    std::string base;
    for (const char letter : path.substr(path.find_first_not_of('/') == std::string::npos ? 0 : 1)) {
      const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                         (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '-';
      base += letter == '/' ? '+' : plain ? letter : '_';
    }
    base = base.substr(base.size() > longest ? base.size() - longest : 0);
    std::string out = base;
    for (unsigned i = 2; !taken_.insert(out).second; ++i) {
      out = fmt::format("{}~{}", base, i);
    }
    return out;
  }

  std::unordered_map<std::string, std::string> names_;  // by path
  std::set<std::string> taken_;
  TracePositions positions_;
};

}  // namespace

std::unique_ptr<TraceExporter> make_iolog() {
  return std::make_unique<Iolog>();
}

}  // namespace sluice
