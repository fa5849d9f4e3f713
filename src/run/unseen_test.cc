#include "run/unseen.h"

#include <gtest/gtest.h>

#include "run/doctor.h"

namespace sluice {
namespace {

const Image usual{.path = "/usr/bin/cp", .interpreted = true};

TEST(Unseen, WhatAStageMarkedWasSeen) {
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::write, .marked = true}), Fate::seen);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::write}), Fate::libc);
  // A mark is of the libc function that it precedes, not of what a signal's handler does meanwhile.
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::write, .whose = Whose::program, .marked = true}),
            Fate::inlined);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::open, .whose = Whose::plain_call, .marked = true}), Fate::seen);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::open, .whose = Whose::plain_call}), Fate::inlined);
}

TEST(Unseen, WhatLibcAndItsLoaderReadIsTheirOwn) {
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::read, .whose = Whose::loader, .preloaded = false}), Fate::own);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::open}), Fate::own);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::read, .opened_by_libc = true}), Fate::own);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::read}), Fate::libc);
  EXPECT_EQ(fate_of(usual, {.kind = CallKind::write, .opened_by_libc = true}), Fate::libc);
}

TEST(Unseen, TheExecutableIsTheReasonBeforeItsCode) {
  const SeenCall call{.kind = CallKind::write, .whose = Whose::program, .preloaded = false};
  EXPECT_EQ(fate_of({.path = "x", .interpreted = false}, call), Fate::fixed);
  EXPECT_EQ(fate_of({.path = "x", .interpreted = false, .go = true}, call), Fate::go);
  EXPECT_EQ(fate_of({.path = "x", .interpreted = true, .secure = true}, call), Fate::secure);
  EXPECT_EQ(fate_of(usual, call), Fate::unloaded);
  EXPECT_EQ(fate_of({.path = "x", .interpreted = true, .go = true},
                    {.kind = CallKind::write, .whose = Whose::program}),
            Fate::go);
}

TEST(Mappings, AnAddressIsWhoseCodeIsThere) {
  const Mappings maps(
      "00400000-00401000 r-xp 00000000 fe:00 11 /usr/bin/x y\n"
      "00500000-00501000 rw-p 00001000 fe:00 11 /usr/bin/x y\n"
      "7f0000000000-7f0000100000 r-xp 00028000 fe:00 12   /lib/x86_64-linux-gnu/libc.so.6\n"
      "7f0000200000-7f0000210000 r--p 00000000 fe:00 13   /opt/lib/libsluice-preload.so\n"
      "7f0000300000-7f0000310000 r-xp 00001000 fe:00 14   /lib64/ld-linux-x86-64.so.2 (deleted)\n"
      "7fff00000000-7fff00001000 r-xp 00000000 00:00 0    [vdso]\n");
  EXPECT_EQ(maps.whose(0x400800), Whose::program);
  EXPECT_EQ(maps.whose(0x7f0000000010), Whose::libc);
  EXPECT_EQ(maps.whose(0x7f0000300010), Whose::loader);
  EXPECT_EQ(maps.whose(0x7fff00000010), Whose::program);
  EXPECT_TRUE(maps.has_preloaded());
  EXPECT_FALSE(maps.knows(0x500800));
  EXPECT_FALSE(maps.knows(0x10));
  EXPECT_FALSE(Mappings("nonsense\n1-2 r\n\n").knows(1));
}

TEST(Image, ThisProgramIsDynamicAndNotGo) {
  const Image image = image_of(std::string(SLUICE_PROGRAM));
  EXPECT_TRUE(image.interpreted);
  EXPECT_FALSE(image.go || image.foreign);
  EXPECT_TRUE(image_of("/no/such/file").interpreted);
}

TEST(Doctor, SaysInOneSentenceThatAllWasSeen) {
  std::map<std::string, Tally, std::less<>> tallies;
  EXPECT_EQ(diagnosis_text({.tallies = tallies}, {}), "sluice: no calls on files were made\n");
  tallies["/usr/bin/cp"].calls[static_cast<std::size_t>(Fate::seen)] = 1;
  tallies["/usr/bin/idle"] = {};
  EXPECT_EQ(diagnosis_text({.tallies = tallies}, {}),
            "sluice: 1 call of 1 program on files: all were seen\n");
  tallies["/usr/bin/old"].calls[static_cast<std::size_t>(Fate::foreign)] = 3;
  EXPECT_NE(diagnosis_text({.tallies = tallies}, {})
                .find("/usr/bin/old     0       all  32-bit, or another architecture"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice
