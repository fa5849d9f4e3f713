#include "places/mountinfo.h"

#include <gtest/gtest.h>

#include "places/mounts.h"

namespace sluice {
namespace {

TEST(Mountinfo, ReadsEveryField) {
  const MountInfo info = parse_mountinfo(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue\n");
  ASSERT_EQ(info.mounts.size(), 1U);
  const Mount expected{.id = 36,
                       .parent = 35,
                       .major = 98,
                       .minor = 0,
                       .root = "/mnt1",
                       .point = "/mnt2",
                       .options = "rw,noatime",
                       .type = "ext3",
                       .source = "/dev/root",
                       .super_options = "rw,errors=continue"};
  EXPECT_EQ(info.mounts[0], expected);
  EXPECT_EQ(info.mounts[0].option("errors"), "continue");
  EXPECT_EQ(info.mounts[0].option("error"), "");
  EXPECT_FALSE(info.mounts[0].read_only());
}

TEST(Mountinfo, UndoesOctalEscapes) {
  EXPECT_EQ(undo_octal(R"(a\040b\011c\012d\134e\043)"), "a b\tc\nd\\e#");
  EXPECT_EQ(undo_octal(R"(\377\400\08\1\)"),
            "\xff"
            R"(\400\08\1\)");
  EXPECT_EQ(undo_octal(R"(\134040)"), R"(\040)");  // undone once, not twice
}

TEST(Mountinfo, EmptySourceAndMissingOptions) {
  const MountInfo info =
      parse_mountinfo("1 2 0:3 / /a rw - tmpfs  rw,size=1k\n2 2 0:4 / /b rw - tmpfs none\n");
  ASSERT_EQ(info.mounts.size(), 2U);
  EXPECT_EQ(info.mounts[0].source, "");
  EXPECT_EQ(info.mounts[0].super_options, "rw,size=1k");
  EXPECT_EQ(info.mounts[1].super_options, "");
}

TEST(Mountinfo, SkipsMalformedLinesWithANote) {
  const MountInfo info = parse_mountinfo(
      "1 2 0:3 / /good rw - tmpfs none rw\n"
      "x 2 0:3 / /a rw - tmpfs none rw\n"
      "1 2 0-3 / /a rw - tmpfs none rw\n"
      "1 2 0:3 / /a rw tmpfs none rw\n"
      "1 2 0:3 / a rw - tmpfs none rw\n"
      "1 2 0:99999999999 / /a rw - tmpfs none rw\n"
      "1 2 0:3 / /a\\000b rw - tmpfs none rw\n"
      "-\n"
      "1 2 0:3 / /also rw - tmpfs none rw");
  EXPECT_EQ(info.mounts.size(), 2U);
  ASSERT_EQ(info.unread.size(), 7U);
  EXPECT_EQ(info.unread[0].substr(0, 32), "line 2 of mountinfo is malformed");
}

TEST(Mountinfo, TakesAnyBytes) {
  std::string text;
  for (int i = 0; i < 100000; ++i) {
    text += static_cast<char>((i * 7919) >> 3);
  }
  parse_mountinfo(text);
  for (std::size_t cut = 0; cut < 90; ++cut) {
    parse_mountinfo(
        std::string_view("1 2 0:3 / /a\\040 rw shared:1 - tmpfs none rw,upperdir=/x").substr(0, cut));
  }
}

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
