#include "base/mountinfo.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice
