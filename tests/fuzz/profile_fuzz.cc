// What the catalog keeps of a profile: whatever the text, it is a profile whose forecasts are numbers, or
// refused.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "profile/profile_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = sluice::profile_from(sluice::Json::parse(text, nullptr, false));
  if (!profile) {
    return 0;
  }
  for (const sluice::Access& access : sluice::accesses) {
    for (const unsigned streams : {1U, 3U, 100U}) {
      for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{5000}, std::uint64_t{1} << 40}) {
        const sluice::Wish wish{.access = access, .size = bytes, .gap = bytes * 3, .streams = streams};
        const auto found = sluice::expect(*profile, wish);
        if (found && !(found->seconds > 0 && found->low <= found->seconds && found->seconds <= found->high)) {
          std::abort();
        }
        static_cast<void>(sluice::explain(*profile, wish));
      }
    }
  }
  return 0;
}
