// What the storage tools print, held against words they might print instead.
#include <gtest/gtest.h>

#include "places/btrfs.h"
#include "places/filesystems.h"
#include "places/lvm.h"
#include "places/network.h"
#include "places/zfs.h"

namespace sluice {
namespace {

std::string text_of(const std::optional<Layout>& layout) {
  return layout ? print(*layout) : "none";
}

TEST(Tools, NonsenseGivesNothing) {
  for (const std::string& text :
       {std::string(), std::string("\n\n"), std::string("command not found"), std::string("{}"),
        std::string("[1]"),
        std::string("{\"report\":[1,{\"lv\":[1,{}]}],\"pools\":[1],\"osds\":{},\"filesystems\":[{}]}"),
        std::string("Type:\nNumber of Bricks:\nBrick\n"), std::string("mmlsfs::::::::::"),
        std::string(1000, '\xff'), std::string("pool: \n\tx\n\t  y\n\t    z\n"),
        std::string("stripe_count: x mirror_count: 99999999999999999999")}) {
    EXPECT_TRUE(parse_lvs(text).empty()) << text;
    EXPECT_EQ(text_of(parse_lfs(text, text).layout), "none") << text;
    EXPECT_EQ(text_of(parse_ceph(text, text, "").layout), "none") << text;
    EXPECT_EQ(text_of(parse_beegfs(text, text).layout), "none") << text;
    EXPECT_EQ(text_of(parse_gluster(text).layout), "none") << text;
    EXPECT_EQ(text_of(parse_mmlsfs(text).layout), "none") << text;
    parse_zpool_status(text);
  }
}

TEST(Tools, LvmSegmentsThatDiffer) {
  const LvmVolumes volumes = parse_lvs(R"({"report":[{"lv":[
      {"lv_dm_path":"/dev/mapper/vg-a","segtype":"striped","stripes":"2","stripe_size":"65536"},
      {"lv_dm_path":"/dev/mapper/vg-a","segtype":"linear","stripes":"1","stripe_size":"0"}]}]})");
  ASSERT_EQ(volumes.size(), 1U);
  EXPECT_TRUE(volumes.at("vg-a").mixed);
}

TEST(Tools, ZfsPoolsOfEveryShape) {
  const ZfsPools pools = parse_zpool_status(
      "  pool: flat\n state: ONLINE\nconfig:\n\n\tNAME        STATE\n\tflat        ONLINE\n\t  /dev/sda1  "
      "ONLINE\n"
      "\t  /dev/sdb1  ONLINE\n\tcache\n\t  /dev/sdc1  ONLINE\n\n"
      "  pool: wide\n state: ONLINE\nconfig:\n\n\tNAME        STATE\n\twide        ONLINE\n"
      "\t  raidz3-0  ONLINE\n\t    /dev/sda1  ONLINE\n\t    replacing-1  ONLINE\n\t      /dev/sdb1 ONLINE\n"
      "\t      /dev/sdx1 ONLINE\n\t    /dev/sdc1  ONLINE\n\t    /dev/sdd1  ONLINE\n\tspares\n\t  /dev/sde1 "
      "AVAIL\n\n"
      "  pool: odd\n state: ONLINE\nconfig:\n\n\todd ONLINE\n\t  draid2:4d:11c:1s-0 ONLINE\n\t    /dev/sda1 "
      "ONLINE\n");
  ASSERT_EQ(pools.size(), 3U);
  EXPECT_EQ(pools.at("flat").groups.size(), 2U);
  EXPECT_EQ(pools.at("wide").groups.at(0).disks.size(), 4U);
  EXPECT_FALSE(pools.at("odd").understood);
}

TEST(Tools, BtrfsProfiles) {
  EXPECT_EQ(text_of(btrfs_layout("single", 1)), "single");
  EXPECT_EQ(text_of(btrfs_layout("dup", 1)), "single");
  EXPECT_EQ(text_of(btrfs_layout("single", 3)), "raid0:3");
  EXPECT_EQ(text_of(btrfs_layout("raid1", 2)), "raid1:2");
  EXPECT_EQ(text_of(btrfs_layout("raid1", 3)), "raid0(replica:2,replica:2)") << "two copies on three devices";
  EXPECT_EQ(text_of(btrfs_layout("raid1c3", 3)), "raid1:3");
  EXPECT_EQ(text_of(btrfs_layout("raid1c4", 6)), "raid0(replica:4,replica:4)");
  EXPECT_EQ(text_of(btrfs_layout("raid10", 4)), "raid10:4");
  EXPECT_EQ(text_of(btrfs_layout("raid10", 5)), "raid0(replica:2,replica:2,replica:2)");
  EXPECT_EQ(text_of(btrfs_layout("raid5", 2)), "raid1:2");
  EXPECT_EQ(text_of(btrfs_layout("raid6", 3)), "mds:1+2");
  EXPECT_EQ(text_of(btrfs_layout("raid6", 5)), "raid6:5");
  EXPECT_EQ(text_of(btrfs_layout("", 2)), "none");
  EXPECT_EQ(text_of(btrfs_layout("raid1", 0)), "none");
}

TEST(Tools, WordsOfAMountAreNotTakenForOptions) {
  Mount mount;
  mount.type = "gpfs";
  mount.source = "-Y";
  EXPECT_TRUE(network_tools(mount).empty());
  mount.type = "fuse.glusterfs";
  mount.source = "server:/--xml";
  EXPECT_TRUE(network_tools(mount).empty());
  mount.source = "server";
  EXPECT_TRUE(network_tools(mount).empty());
}

TEST(Filesystems, Classes) {
  EXPECT_EQ(filesystem_facts("ext4", true).kind, FsClass::local);
  EXPECT_EQ(filesystem_facts("brandnewfs", true).kind, FsClass::local);
  EXPECT_EQ(filesystem_facts("brandnewfs", false).kind, FsClass::unknown);
  EXPECT_EQ(filesystem_facts("fuse.brandnew", false).kind, FsClass::network);
  EXPECT_FALSE(filesystem_facts("fuse.brandnew", false).listed);
  EXPECT_EQ(filesystem_facts("fuse.mergerfs", false).kind, FsClass::layered);
  EXPECT_EQ(filesystem_facts("virtiofs", false).kind, FsClass::host);
}

TEST(Filesystems, LargestFiles) {
  EXPECT_EQ(largest_file("ext4", 4096), 17592186040320U);
  EXPECT_EQ(largest_file("ext4", 1024), 4398046510080U);
  EXPECT_EQ(largest_file("ext3", 4096), 2ULL << 40);
  EXPECT_EQ(largest_file("vfat", 4096), 4294967295U);
  EXPECT_EQ(largest_file("f2fs", 4096), 4329690681344U);
  EXPECT_EQ(largest_file("xfs", 4096), 9223372036854775807U);
  EXPECT_EQ(largest_file("nfs4", 4096), std::nullopt);
  EXPECT_EQ(largest_file("ext4", 0), std::nullopt);
}

}  // namespace
}  // namespace sluice
