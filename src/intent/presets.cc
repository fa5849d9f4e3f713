#include "intent/presets.h"

#include <array>
#include <vector>

#include "base/text.h"
#include "intent/parse.h"

namespace sluice {
namespace {

// The paper's characters. Its small, medium, and large requests are a page, 64 KiB and 16 MiB here, medium to
// large is 1 MiB. docs/intent.md says why each word is there.
constexpr std::array table = {
    Preset{"hot", "persist random size-per-IO(4K) reuse(often)", "data in use all the time"},
    Preset{"warm", "persist size-per-IO(64K) reuse(seldom)", "data in use now and then"},
    Preset{"cold", "persist archive size-per-IO(16M)", "data kept for good and rarely looked at"},
    Preset{"journal", "persist sequential write size-per-IO(4K) sync", "a database's log of changes"},
    Preset{"rollback-log", "persist sequential write size-per-IO(1M)",
           "what a transaction must be able to undo"},
    Preset{"tables", "persist random readwrite size-per-IO(8K)", "a database's tables, changed in place"},
    Preset{"versioned-store", "persist sequential write size-per-IO(1M)",
           "a store that appends new versions and never overwrites"},
};

}  // namespace

std::span<const Preset> presets() {
  return table;
}

const Intent* find_preset(std::string_view name) {
  const std::string wanted = lower(name);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == wanted) {
      // Parsing asks for presets too, but for none of these names: no word is one.
      static const std::vector<Intent> intents = [] {
        std::vector<Intent> out;
        for (const Preset& preset : table) {
          out.push_back(parse_intent(preset.words).value_or(Intent()));
        }
        return out;
      }();
      return &intents[i];
    }
  }
  return nullptr;
}

}  // namespace sluice
