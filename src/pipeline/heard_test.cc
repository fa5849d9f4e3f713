#include "pipeline/heard.h"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <string>

namespace sluice {
namespace {

std::string text_of(std::uint32_t heard) {
  std::string out;
  for (const HeardWord& word : heard_words) {
    out += (heard & word.bit) != 0 ? std::string(word.text) + ";" : "";
  }
  return out;
}

TEST(Heard, TheLastOfAGroupCounts) {
  std::atomic<std::uint32_t> heard = 0;
  hear(heard, POSIX_FADV_SEQUENTIAL);
  hear(heard, POSIX_FADV_NOREUSE);
  EXPECT_EQ(text_of(heard), "sequential;reuse(once);");
  hear(heard, POSIX_FADV_RANDOM);
  hear(heard, POSIX_FADV_DONTNEED);
  hear(heard, POSIX_FADV_WILLNEED);
  EXPECT_EQ(text_of(heard), "random;reuse(seldom);prefetch;");
  hear(heard, POSIX_FADV_NORMAL);
  EXPECT_EQ(text_of(heard), "reuse(seldom);prefetch;");
}

TEST(Heard, LifetimeAndPriority) {
  std::atomic<std::uint32_t> heard = 0;
  hear(heard, SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_SHORT);
  hear(heard, SLUICE_ADVISE_PRIORITY | 1);
  EXPECT_EQ(text_of(heard), "stream(life-short);priority(foreground);");
  hear(heard, SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_EXTREME);
  hear(heard, SLUICE_ADVISE_PRIORITY | 3);
  EXPECT_EQ(text_of(heard), "stream(life-extreme);priority(background);");
  hear(heard, SLUICE_ADVISE_LIFETIME | RWH_WRITE_LIFE_NONE);
  hear(heard, SLUICE_ADVISE_PRIORITY | 2);
  hear(heard, 99);
  EXPECT_EQ(text_of(heard), "priority(foreground);");
}

TEST(Heard, RowsOfOneFileDoNotContradict) {
  std::atomic<std::uint32_t> before = 0;
  std::atomic<std::uint32_t> after = 0;
  hear(before, POSIX_FADV_SEQUENTIAL);
  hear(before, POSIX_FADV_NOREUSE);
  hear(after, POSIX_FADV_RANDOM);
  EXPECT_EQ(text_of(later(before, after)), "random;reuse(once);");
  EXPECT_EQ(later(before, 0), before);
}

}  // namespace
}  // namespace sluice
