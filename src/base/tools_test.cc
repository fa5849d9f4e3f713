#include "base/tools.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Tools, SayWhichPackageToInstall) {
  EXPECT_EQ(install_advice("mkfs.btrfs"), "install the package btrfs-progs");
  EXPECT_EQ(install_advice("lfs"), "");              // Debian has none
  EXPECT_EQ(install_advice("/opt/sluice/bin"), "");  // no tool of the system
  EXPECT_EQ(not_installed("tc").text(), "tc is not installed; install the package iproute2");
}

TEST(Tools, CommandsBeginWithTheProgram) {
  const std::vector<std::string> listing = {"lvs", "-a"};
  EXPECT_EQ(Command("lvs", {"-a"}).words(), listing);
  const std::vector<std::string> ours = {"/x/sluice", "undo"};
  EXPECT_EQ(Command::at("/x/sluice", {"undo"}).words(), ours);
}

}  // namespace
}  // namespace sluice
