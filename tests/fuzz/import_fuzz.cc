// Lines of other programs' traces: whatever they are, they give events or are said to be unreadable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "base/text.h"
#include "trace/import/import.h"

namespace {

class Nowhere : public sluice::ImportSink {
 public:
  std::uint32_t number_of(std::string_view path) override {
    return numbers_.try_emplace(std::string(path), static_cast<std::uint32_t>(numbers_.size() + 1))
        .first->second;
  }
  sluice::Status add(const sluice::TraceEvent& event) override {
    // What the other parts rely on.
    if (event.begin < 0 || event.duration < 0 || event.path > numbers_.size() ||
        (event.operation == sluice::TraceEvent::open && event.path == 0)) {
      std::abort();
    }
    return ++events_ < most ? sluice::Status() : sluice::fail(ENOSPC, "enough");
  }

 private:
  static constexpr int most = 100'000;
  int events_ = 0;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const sluice::ImportFormat* format : sluice::import_formats()) {
    Nowhere sink;
    const auto importer = format->make(sink, "/start");
    bool good = true;
    for (const std::string_view line : sluice::split(text, '\n')) {
      static_cast<void>(format->is_like(line));
      good = good && importer->take(line).has_value();
    }
    if (good) {
      [[maybe_unused]] const auto ended = importer->end();
    }
  }
  return 0;
}
