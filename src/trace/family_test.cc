#include "trace/family.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Family, NumbersBecomeStars) {
  EXPECT_EQ(family_of("/out/step_0042.dat"), "/out/step_*.dat");
  EXPECT_EQ(family_of("/a1b22/c"), "/a*b*/c");
  EXPECT_EQ(family_of("/plain/name.txt"), "/plain/name.txt");
  EXPECT_EQ(family_of(".git/objects/3f/9a0c11deadbeef"), ".git/objects/*f/*");
  EXPECT_EQ(family_of("/defaced/x"), "/defaced/x");  // a word, not a number
  EXPECT_EQ(family_of(std::string("/\xff\0"
                                  "7",
                                  4)),
            std::string("/\xff\0*", 4));
  EXPECT_EQ(family_of(""), "");
}

}  // namespace
}  // namespace sluice
