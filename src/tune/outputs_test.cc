#include "tune/outputs.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Outputs, AreRemovedByWordsThatTheShellTakesAsTheyAre) {
  const Outputs plain{.made = {"/data/a.dat", "/data/b.dat"}};
  EXPECT_EQ(plain.reset(), "rm -f /data/a.dat /data/b.dat");
  const Outputs odd{.made = {"/data/it's $HOME"}};
  EXPECT_EQ(odd.reset(), R"(rm -f '/data/it'\''s $HOME')");
  EXPECT_EQ(shell_word(plain.reset()), "'rm -f /data/a.dat /data/b.dat'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Outputs, OfWhichNotAllAreKnownAreLeftToTheUser) {
  const Outputs many{.made = {"/a", "/b", "/c", "/d"}, .all = false};
  EXPECT_EQ(many.reset(), "");
  EXPECT_EQ(many.names(), "/a, /b, /c and more");
}

}  // namespace
}  // namespace sluice
