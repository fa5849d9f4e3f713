// How a call that passes stages is known to whoever traces the program: a seek of a descriptor that nobody
// has comes before it and after it. The kernel refuses it, and nothing else happens.
#pragma once

namespace sluice {

inline constexpr int mark_descriptor = -0x51c1ce;
inline constexpr long mark_begin = 1;  // the offset that it asks for
inline constexpr long mark_end = 0;

}  // namespace sluice
