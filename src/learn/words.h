// Which words of the intent language are true of what was observed. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/learn.h"
#include "learn/observe.h"

namespace sluice {

// Cuts between words; bench/learn finds them from programs whose intent is known.
namespace cut {
inline constexpr double one_operation = 0.75;  // share of the bytes
inline constexpr double synced = 0.5;          // share of the writes
inline constexpr double once = 1.4;            // times that what was read was read
inline constexpr double often = 3;
inline constexpr double alike_sizes = 0.6;  // share of the requests near the typical size
inline constexpr double interleaved = 0.2;  // share of the requests that follow one on another file
inline constexpr double doubt = 0.5;        // what is less sure is only proposed
}  // namespace cut

// How a file is used, as far as one can be sure of it alone; what is not known agrees with everything.
struct Behaviour {
  std::string operation;  // "" = not known
  std::string pattern;
  std::optional<bool> sync;
  std::optional<bool> persist;  // whether it was synced at all
  std::string reuse;
  std::uint64_t request = 0;  // 0 = not known

  [[nodiscard]] bool agrees(const Behaviour& other) const;
};
Behaviour behaviour_of(const ObservedFile& observed);

LearnedMeasures measures_of(const ObservedFile& observed);
LearnedRequests requests_of(const ObservedFile& observed, bool write);
// All but those that need other families: group and stream. What the files do not have in common is left out.
std::vector<LearnedWord> words_of(const ObservedFile& observed, const std::vector<Behaviour>& files);

// The share that one may count on, having seen `part` of `all` (Wilson's lower bound, 95 %).
double sure_share(double part, double all);

}  // namespace sluice
