#include "places/naming.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Naming, MakesNamesOfMountPoints) {
  EXPECT_EQ(name_of("/"), "root");
  EXPECT_EQ(name_of("/mnt/nvme 1"), "mnt-nvme-1");
  EXPECT_EQ(name_of("/a//b--c/"), "a-b-c");
  EXPECT_EQ(name_of("/.hidden"), "hidden");
  EXPECT_EQ(name_of("/x.y_z"), "x.y_z");
  EXPECT_EQ(name_of("/caf\xc3\xa9\n"), "caf");
}

TEST(Naming, EveryNameIsAName) {
  for (const std::string& point : {std::string("/\xff\xfe"), std::string("/---"), std::string("/..."),
                                   "/" + std::string(4095, 'x'), std::string("/a\tb\nc"), std::string("/")}) {
    EXPECT_TRUE(is_place_name(name_of(point))) << name_of(point);
    EXPECT_LE(name_of(point).size(), 48U);
  }
}

TEST(Naming, LongNamesStayApart) {
  const std::string start = "/" + std::string(100, 'x');
  EXPECT_NE(name_of(start + "1"), name_of(start + "2"));
}

TEST(Naming, HandsOutEveryNameOnce) {
  UniqueNames names;
  EXPECT_EQ(names.take("mnt"), "mnt");
  EXPECT_EQ(names.take("mnt-3"), "mnt-3");
  EXPECT_EQ(names.take("mnt"), "mnt-2");
  EXPECT_EQ(names.take("mnt"), "mnt-4");
}

TEST(Naming, RefusesNamesThatCouldBeSomethingElse) {
  for (const char* name : {"", "-x", ".x", "a/b", "a b", "a\n"}) {
    EXPECT_FALSE(is_place_name(name)) << name;
  }
}

TEST(Naming, IdentitiesAreStable) {
  Mount mount{.id = 1,
              .parent = 2,
              .major = 0,
              .minor = 3,
              .root = "/",
              .point = "/data",
              .options = {},
              .type = "nfs4",
              .source = "server:/export",
              .super_options = {}};
  EXPECT_EQ(identity_of(mount, "", true), "nfs:server:/export");
  EXPECT_EQ(identity_of(mount, "", false), "nfs4:/data");
  EXPECT_EQ(identity_of(mount, "1234", false), "1234");
  mount.root = "/part";
  EXPECT_EQ(identity_of(mount, "1234", false), "1234:/part");
}

}  // namespace
}  // namespace sluice
