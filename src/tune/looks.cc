#include "tune/looks.h"

#include <algorithm>
#include <array>

namespace sluice {

bool Looks::is_last(const Gain& gain) const {
  if (gain.pairs >= most()) {
    return true;
  }
  if (!std::binary_search(at.begin(), at.end(), gain.pairs)) {
    return false;
  }
  constexpr double known =
      1.25;                      // between the ends: then it is known how much it is, and not only that it is
  constexpr double worth = 1.1;  // less cannot be told from another hour
  return (gain.is_better() && gain.high < known * gain.low) || gain.high < worth;
}

std::string range_text(const std::string& least, const std::string& most) {
  return least == most ? most : least + " to " + most;
}

Looks looks_for(unsigned repeat, double seconds) {
  if (repeat > 0) {
    return {.at = {repeat}, .miss = stated_miss};
  }
  // As many of either order.
  constexpr std::array<std::size_t, 4> all = {6, 8, 12, 16};
  Looks out;
  for (const std::size_t pairs : all) {
    if (static_cast<double>(pairs) * seconds <= patience_seconds) {
      out.at.push_back(pairs);
    }
  }
  if (out.at.empty()) {
    out.at.push_back(4);  // of what takes long, little is noise
  }
  out.miss = stated_miss / static_cast<double>(out.at.size());
  return out;
}

}  // namespace sluice
