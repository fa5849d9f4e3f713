// Rules in TOML and hints in JSON: whatever the bytes, the answer is rules or an error of usage.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "intent/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sluice::Rules rules;
  for (const sluice::Status& status :
       {rules.parse_toml_rules(text, "/folder/rules.toml"), rules.parse_hints(text, "/folder/hints.json")}) {
    if (!status && !status.error().usage) {
      std::abort();
    }
  }
  static_cast<void>(rules.matching("/folder/out/step_1.dat"));
  return 0;
}
