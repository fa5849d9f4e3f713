#include "places/mounts.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Mounts mounts_of(std::string_view text) {
  return Mounts(parse_mountinfo(text).mounts);
}

constexpr std::string_view stacked =
    "0 0 0:1 / / rw - rootfs none rw\n"
    "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "2 1 8:2 / /a rw - ext4 /dev/sda2 rw\n"
    "3 2 8:3 / /a/deep rw - ext4 /dev/sda3 rw\n"
    "4 2 8:4 / /a rw - ext4 /dev/sda4 rw\n"  // on top of 2
    "5 1 8:5 / /b/c rw - ext4 /dev/sda5 rw\n"
    "6 1 8:6 / /b rw - ext4 /dev/sda6 rw\n"  // later, over the way to 5
    "7 5 8:7 / /b/c/d rw - ext4 /dev/sda7 rw\n"
    "8 6 8:8 / /b/c rw - ext4 /dev/sda8 rw\n";

TEST(Mounts, KnowsWhichAreHidden) {
  const Mounts mounts = mounts_of(stacked);
  std::string hidden;
  for (const Mount& mount : mounts.all()) {
    hidden += mounts.hidden(mount) ? std::to_string(mount.id) : "";
  }
  EXPECT_EQ(hidden, "02357");
}

TEST(Mounts, FindsTheHolderOfAPath) {
  const Mounts mounts = mounts_of(stacked);
  EXPECT_EQ(mounts.holder("/a/deep/file")->id, 4U);
  EXPECT_EQ(mounts.holder("/ab")->source, "/dev/sda1");
  EXPECT_EQ(mounts.holder("/b/c")->id, 8U);
  EXPECT_EQ(mounts.holder("/b/x")->id, 6U);
  EXPECT_EQ(mounts.holder("relative"), nullptr);
  EXPECT_EQ(mounts.holder(""), nullptr);
}

TEST(Mounts, EndsOnTablesThatGoInCircles) {
  const Mounts mounts = mounts_of(
      "1 2 0:1 / /a rw - tmpfs a rw\n2 1 0:2 / /b rw - tmpfs b rw\n3 3 0:3 / /c rw - tmpfs c rw\n"
      "1 1 0:4 / /a rw - tmpfs again rw\n");
  EXPECT_EQ(mounts.all().size(), 4U);
}

TEST(Mounts, LiesInIsByComponents) {
  EXPECT_TRUE(lies_in("/a/b", "/a"));
  EXPECT_TRUE(lies_in("/a", "/a"));
  EXPECT_TRUE(lies_in("/a", "/"));
  EXPECT_FALSE(lies_in("/ab", "/a"));
  EXPECT_FALSE(lies_in("/", "/a"));
}

}  // namespace
}  // namespace sluice
