// The forms that have every call.
#include "trace/export/export.h"

namespace sluice {
namespace {

class Csv : public TraceExporter {
 public:
  std::string head() override { return csv_head(); }
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    return csv_line(event, texts);
  }
};

class JsonLines : public TraceExporter {
 public:
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    return json_line(event, texts) + "\n";
  }
};

using PrintLine = std::string (*)(const TraceEvent&, const EventTexts&);

// An object with one list.
class List : public TraceExporter {
 public:
  List(const std::string& name, PrintLine print) : head_("{\"" + name + "\": [\n"), print_(print) {}
  std::string head() override { return head_; }
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    const std::string before = any_ ? ",\n" : "";
    any_ = true;
    return before + print_(event, texts);
  }
  std::string tail() override { return "\n]}\n"; }

 private:
  std::string head_;
  PrintLine print_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<TraceExporter> make_csv() {
  return std::make_unique<Csv>();
}

std::unique_ptr<TraceExporter> make_json_lines() {
  return std::make_unique<JsonLines>();
}

std::unique_ptr<TraceExporter> make_json_list() {
  return std::make_unique<List>("events", json_line);
}

std::unique_ptr<TraceExporter> make_chrome() {
  return std::make_unique<List>("traceEvents", chrome_line);
}

std::unique_ptr<TraceExporter> make_exporter(std::string_view name) {
  for (const ExportFormat& format : export_formats) {
    if (format.name == name) {
      return format.make();
    }
  }
  return make_csv();
}

}  // namespace sluice
