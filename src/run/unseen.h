// Which of a program's calls on files passed no stage, and why.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "run/file_calls.h"
#include "run/image.h"
#include "run/mappings.h"

namespace sluice {

// What becomes of a call. All from `fixed` on were not seen.
enum class Fate {
  seen,
  own,       // libc or its loader reads something for itself: nobody's concern
  fixed,     // linked statically
  go,        // Go has no libc
  secure,    // setuid: nothing is preloaded
  foreign,   // of another architecture
  unloaded,  // started without the library
  inlined,   // without libc's function for it
  ring,      // io_uring
  batch,     // io_submit
  mapped,    // memory
  splice,
  flags,  // preadv2() and pwritev2() with some
  libc,   // libc by itself: aio, tmpfile
};
inline constexpr std::size_t fates = static_cast<std::size_t>(Fate::libc) + 1;

// A word for JSON, what a table says, and what to do.
struct FateText {
  std::string_view word;
  std::string_view why;
  std::string_view instead;
};
const FateText& text_of(Fate fate);

struct SeenCall {
  CallKind kind = CallKind::read;
  Whose whose = Whose::libc;  // the code that made it
  bool marked = false;        // a stage said that it comes
  bool flagged = false;       // it has flags that no stage knows
  bool preloaded = true;      // the library is there
  bool opened_by_libc = false;
};
Fate fate_of(const Image& image, const SeenCall& call);

// Of one executable, whoever ran it.
struct Tally {
  std::array<std::uint64_t, fates> calls = {};
  std::map<std::string, std::uint64_t, std::less<>> files;  // that were not seen, how often

  [[nodiscard]] std::uint64_t seen() const { return calls[static_cast<std::size_t>(Fate::seen)]; }
  [[nodiscard]] std::uint64_t unseen() const;
};

inline bool is_unseen(Fate fate) {
  return fate >= Fate::fixed;
}

}  // namespace sluice
