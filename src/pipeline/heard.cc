#include "pipeline/heard.h"

#include <fcntl.h>

namespace sluice {
namespace {

constexpr std::uint32_t bit(std::string_view text) {
  for (const HeardWord& word : heard_words) {
    if (word.text == text) {
      return word.bit;
    }
  }
  return 0;
}

// A hint takes what was said before of its group back, also where it has no word itself.
struct Meaning {
  int hint;
  std::uint32_t group;
  std::uint32_t word;
};
constexpr std::array<Meaning, 15> meanings = {{
    {.hint = POSIX_FADV_NORMAL, .group = heard_pattern, .word = 0},
    {.hint = POSIX_FADV_RANDOM, .group = heard_pattern, .word = bit("random")},
    {.hint = POSIX_FADV_SEQUENTIAL, .group = heard_pattern, .word = bit("sequential")},
    {.hint = POSIX_FADV_NOREUSE, .group = heard_reuse, .word = bit("reuse(once)")},
    {.hint = POSIX_FADV_DONTNEED, .group = heard_reuse, .word = bit("reuse(seldom)")},
    {.hint = POSIX_FADV_WILLNEED, .group = heard_prefetch, .word = bit("prefetch")},
    {.hint = SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_NOT_SET, .group = heard_lifetime, .word = 0},
    {.hint = SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_NONE, .group = heard_lifetime, .word = 0},
    {.hint = SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_SHORT,
     .group = heard_lifetime,
     .word = bit("stream(life-short)")},
    {.hint = SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_MEDIUM,
     .group = heard_lifetime,
     .word = bit("stream(life-medium)")},
    {.hint = SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_LONG,
     .group = heard_lifetime,
     .word = bit("stream(life-long)")},
    {.hint = SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_EXTREME,
     .group = heard_lifetime,
     .word = bit("stream(life-extreme)")},
    {.hint = SLUICE_ADVISE_PRIORITY | 1, .group = heard_priority, .word = bit("priority(foreground)")},
    {.hint = SLUICE_ADVISE_PRIORITY | 2, .group = heard_priority, .word = bit("priority(foreground)")},
    {.hint = SLUICE_ADVISE_PRIORITY | 3, .group = heard_priority, .word = bit("priority(background)")},
}};

}  // namespace

void hear(std::atomic<std::uint32_t>& heard, int flags) {
  for (const Meaning& meaning : meanings) {
    if (meaning.hint == flags) {
      std::uint32_t before = heard.load(std::memory_order_relaxed);
      while (!heard.compare_exchange_weak(before, (before & ~meaning.group) | meaning.word)) {
      }
    }
  }
}

std::uint32_t later(std::uint32_t before, std::uint32_t after) {
  for (const HeardWord& word : heard_words) {
    before &= (after & word.bit) != 0 ? ~word.group : ~std::uint32_t{0};
  }
  return before | after;
}

}  // namespace sluice
