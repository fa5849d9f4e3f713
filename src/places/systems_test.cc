// The discovery held to the systems of other machines under tests/fixtures/systems.
#include <gtest/gtest.h>

#include "base/text.h"
#include "places/discover.h"

namespace sluice {
namespace {

Discovery look_at(const std::string& name, std::string_view config = "") {
  const std::string folder = std::string(SLUICE_SOURCE_DIR) + "/tests/fixtures/systems/" + name;
  DiscoverOptions options;
  options.system = folder;
  Result<Discovery> found = discover(*Config::parse(config, "test.toml"), options);
  EXPECT_TRUE(found) << (found ? "" : found.error().text());
  return found.value_or(Discovery{});
}

// Deliberately wrong where the place is missing, so that the test that asks for it fails.
Place place_at(const Discovery& found, std::string_view mount) {
  for (const Place& place : found.places) {
    if (place.mount == mount) {
      return place;
    }
  }
  ADD_FAILURE() << "no place at " << mount;
  return {};
}

std::string because(const Discovery& found, std::string_view mount) {
  for (const Skipped& skipped : found.skipped) {
    if (skipped.mount == mount) {
      return skipped.because;
    }
  }
  return "not skipped";
}

std::string layout_at(const Discovery& found, std::string_view mount) {
  const Place place = place_at(found, mount);
  return place.layout ? print(*place.layout) : "unknown";
}

TEST(Systems, NfsClient) {
  const Discovery found = look_at("nfs-client");
  EXPECT_EQ(found.places.size(), 8U);
  const Place home = place_at(found, "/home");
  EXPECT_EQ(home.name, "home");
  EXPECT_EQ(home.path, "/home/ada");  // the export itself belongs to root
  EXPECT_TRUE(home.writable);
  EXPECT_EQ(home.id, "nfs:filer.example.org:/export/home");
  EXPECT_TRUE(*home.global);
  EXPECT_EQ(home.global.source, Source::system);
  EXPECT_FALSE(*home.is_volatile);
  EXPECT_EQ(*home.media, Media::network);
  EXPECT_EQ(home.device->kind, DeviceKind::complex);
  EXPECT_EQ(*home.capacity, 4096000ULL << 20);
  EXPECT_EQ(*home.free, 20ULL << 30) << "the quota is tighter than the free space";
  EXPECT_EQ(*home.quota, 100ULL << 30);
  EXPECT_EQ(home.free.detail, "quota of user 1000");
  EXPECT_EQ(*home.block, 4096U);
  EXPECT_NE(home.block.detail.find("transfer size"), std::string::npos);
  EXPECT_FALSE(home.max_file);

  const Place old = place_at(found, "/old");
  EXPECT_EQ(old.reach, Reach::unreachable);
  EXPECT_EQ(old.reach_note, "no answer within 700ms");
  EXPECT_FALSE(old.capacity);
  EXPECT_TRUE(*old.global);
  EXPECT_EQ(place_at(found, "/secret").reach, Reach::denied);
  EXPECT_EQ(place_at(found, "/stale").reach_note, "Stale file handle");
  const Place data = place_at(found, "/data");
  EXPECT_TRUE(data.read_only);
  EXPECT_FALSE(data.writable);
  EXPECT_EQ(because(found, "/net"), "automount point, not touched");
  EXPECT_EQ(because(found, "/run"), "belongs to the system (/run)");

  const Place root = place_at(found, "/");
  EXPECT_EQ(root.name, "root");
  EXPECT_EQ(root.path, "/var/tmp");
  EXPECT_EQ(root.id, "6d2e3a6e-58b8-4d2f-9a51-4c2a6bb3d7a1");
  EXPECT_EQ(*root.media, Media::ssd);
  EXPECT_EQ(*root.max_file, 17592186040320U);
  EXPECT_FALSE(*root.global);
  EXPECT_EQ(root.device->kind, DeviceKind::partition);
  EXPECT_EQ(root.device->below.at(0).model, "INTEL SSDSC2BB12");
  EXPECT_EQ(root.device->below.at(0).scheduler, "mq-deadline");
  EXPECT_EQ(root.device->physical_block, 4096U);
}

TEST(Systems, PlacesComeInTheOrderOfTheirMountPoints) {
  std::string before;
  for (const Place& place : look_at("nfs-client").places) {
    EXPECT_LT(before, place.mount);
    before = place.mount;
  }
}

TEST(Systems, MdRaid5) {
  const Place data = place_at(look_at("md-raid5"), "/srv/data");
  EXPECT_EQ(print(*data.layout), "raid5:3");
  EXPECT_EQ(data.layout.source, Source::system);
  EXPECT_EQ(*data.media, Media::hdd);
  EXPECT_EQ(data.device->stripe, 524288U);
  EXPECT_EQ(data.device->below.size(), 3U) << "the spare is no member";
  EXPECT_EQ(data.device->below[0].name, "sda1");
  EXPECT_EQ(data.device->below[0].below.at(0).name, "sda");
  EXPECT_EQ(data.device->note, "");
  EXPECT_EQ(*data.max_file, 0x7FFFFFFFFFFFFFFFU);

  const Place degraded = place_at(look_at("md-raid5-degraded"), "/srv/data");
  EXPECT_EQ(print(*degraded.layout), "raid5:3");
  EXPECT_EQ(degraded.device->note, "degraded: 1 of 3 disks missing");
  EXPECT_TRUE(degraded.device->degraded);
  EXPECT_EQ(degraded.device->below.size(), 2U);
}

TEST(Systems, Lvm) {
  const Discovery found = look_at("lvm-stripe");
  EXPECT_EQ(layout_at(found, "/fast"), "raid0:2");
  EXPECT_EQ(place_at(found, "/fast").device->stripe, 65536U);
  EXPECT_EQ(layout_at(found, "/plain"), "single");
  EXPECT_EQ(place_at(found, "/plain").device->kind, DeviceKind::partition);
  EXPECT_EQ(layout_at(found, "/safe"), "raid5:3");
  EXPECT_EQ(place_at(found, "/safe").device->below.size(), 3U) << "metadata volumes are no members";
  EXPECT_EQ(*place_at(found, "/").media, Media::nvme);
}

TEST(Systems, Lustre) {
  const Discovery found = look_at("lustre-client");
  const Place work = place_at(found, "/lustre/work");
  EXPECT_FALSE(work.layout) << "one copy on targets of which nothing is known";
  EXPECT_EQ(work.device->below.size(), 12U);
  EXPECT_EQ(work.device->below[11].name, "work-OST000b");
  EXPECT_EQ(work.device->note, "12 targets, files striped over 4");
  EXPECT_EQ(work.device->stripe, 1U << 20);
  EXPECT_TRUE(*work.global);
  EXPECT_EQ(layout_at(found, "/lustre/safe"), "replica:2");
  EXPECT_EQ(place_at(found, "/lustre/quiet").reach, Reach::reachable);
  const Place root = place_at(found, "/");
  EXPECT_EQ(*root.media, Media::unknown) << "rotational of a virtual disk says nothing";
  EXPECT_EQ(root.media.source, Source::fallback);
  EXPECT_NE(root.media.detail.find("virtual disk"), std::string::npos);
}

TEST(Systems, Btrfs) {
  const Discovery found = look_at("btrfs-raid1");
  const Place root = place_at(found, "/");
  EXPECT_EQ(print(*root.layout), "raid1:2");
  EXPECT_EQ(root.device->below.size(), 2U);
  EXPECT_EQ(root.id, "2f1b0f44-6ad0-4a69-9d1f-0b5d9c3b8f10:/@");
  EXPECT_EQ(place_at(found, "/home").id, "2f1b0f44-6ad0-4a69-9d1f-0b5d9c3b8f10:/@home");
  EXPECT_EQ(because(found, "/srv/project"), "the same file system as '/home'");
  const Place backup = place_at(found, "/mnt/backup");
  EXPECT_EQ(backup.id, "9a7c1c5e-1f2b-4c3d-8e9f-a0b1c2d3e4f5") << "found by its device";
  EXPECT_EQ(backup.device->note, "data profile raid1, degraded: 1 of 2 devices missing");
}

TEST(Systems, Zfs) {
  const Discovery found = look_at("zfs-mirror");
  EXPECT_EQ(layout_at(found, "/tank"), "raid0(raid1:2,raid1:2)");
  EXPECT_EQ(layout_at(found, "/tank/home"), "raid0(raid1:2,raid1:2)");
  EXPECT_EQ(place_at(found, "/tank").device->below.size(), 4U) << "the log device holds no data";
  EXPECT_EQ(place_at(found, "/tank").device->note, "degraded: pool state DEGRADED");
  EXPECT_EQ(layout_at(found, "/pool2"), "raid5:3");
  EXPECT_EQ(*place_at(found, "/pool2").media, Media::hdd);
  EXPECT_EQ(layout_at(found, "/lost"), "unknown");
}

TEST(Systems, Gluster) {
  const Discovery found = look_at("gluster-replica");
  EXPECT_EQ(layout_at(found, "/home"), "replica:3");
  EXPECT_EQ(place_at(found, "/home").device->below.size(), 6U);
  EXPECT_EQ(layout_at(found, "/cold"), "mds:4+2");
  EXPECT_EQ(layout_at(found, "/arb"), "replica:2") << "an arbiter holds no data";
  EXPECT_EQ(layout_at(found, "/wide"), "unknown");
  EXPECT_NE(place_at(found, "/home").layout.detail.find("gluster"), std::string::npos);
}

TEST(Systems, Ceph) {
  const Discovery found = look_at("ceph");
  EXPECT_EQ(layout_at(found, "/work"), "replica:3");
  EXPECT_EQ(*place_at(found, "/work").max_file, 1ULL << 40);
  EXPECT_EQ(layout_at(found, "/cold"), "mds:4+2");
  EXPECT_EQ(*place_at(found, "/cold").max_file, 4ULL << 40);
  EXPECT_EQ(layout_at(found, "/other"), "unknown") << "which of the two file systems it is cannot be told";
  const Place image = place_at(found, "/image");
  EXPECT_EQ(*image.media, Media::network);
  EXPECT_FALSE(*image.global) << "ext4 on a network device is for one machine";
  EXPECT_FALSE(image.layout);
}

TEST(Systems, Beegfs) {
  const Discovery found = look_at("beegfs");
  EXPECT_EQ(layout_at(found, "/mnt/beegfs"), "replica:2");
  EXPECT_EQ(place_at(found, "/mnt/beegfs").device->stripe, 512U << 10);
  EXPECT_EQ(layout_at(found, "/mnt/plain"), "unknown");
  EXPECT_EQ(place_at(found, "/mnt/plain").device->below.size(), 6U);
  EXPECT_NE(place_at(found, "/mnt/plain").id, place_at(found, "/mnt/beegfs").id);
}

TEST(Systems, Gpfs) {
  const Discovery found = look_at("gpfs");
  EXPECT_EQ(layout_at(found, "/gpfs/home"), "replica:2");
  EXPECT_EQ(place_at(found, "/gpfs/home").device->below.size(), 4U);
  EXPECT_EQ(layout_at(found, "/gpfs/scratch"), "unknown");
}

TEST(Systems, Laptop) {
  const Discovery found = look_at("laptop");
  const Place root = place_at(found, "/");
  EXPECT_EQ(*root.media, Media::nvme);
  EXPECT_EQ(print(*root.layout), "single");
  // volume, encryption, partition, disk
  EXPECT_EQ(root.device->below.at(0).below.at(0).below.at(0).name, "nvme0n1");

  EXPECT_EQ(because(found, "/snap/core20/1"), "squashfs is a read-only image");
  EXPECT_EQ(because(found, "/boot/efi"), "belongs to the system (/boot)");
  EXPECT_EQ(because(found, "/var/lib/docker/overlay2/4c1d/merged"),
            "belongs to the system (/var/lib/docker)");
  EXPECT_EQ(because(found, "/run/user/1000"), "not skipped");
  EXPECT_EQ(because(found, "/run/user/1001"), "belongs to the system (/run)");
  EXPECT_EQ(because(found, "/run/user/1000/doc"), "fuse.portal holds no data");
  EXPECT_EQ(because(found, "/run/docker/netns/4c1d"), "nsfs holds no data");
  EXPECT_EQ(because(found, "/mnt/www"), "the same file system as '/'");
  EXPECT_EQ(because(found, "/etc/hosts.real"), "a file is mounted here, not a folder");
  EXPECT_EQ(because(found, "/mnt/covered"), "hidden by a later mount");
  EXPECT_EQ(because(found, "/mnt/thing"), "reports no capacity");
  EXPECT_EQ(place_at(found, "/mnt/covered").origin, "second");

  EXPECT_EQ(*place_at(found, "/mnt/layer").media, Media::nvme) << "an overlay writes to its upper folder";
  EXPECT_FALSE(*place_at(found, "/mnt/layer").is_volatile);
  EXPECT_EQ(*place_at(found, "/mnt/layer").max_file, 17592186040320U);
  EXPECT_TRUE(*place_at(found, "/mnt/shaky").is_volatile);
  EXPECT_TRUE(*place_at(found, "/mnt/ramdisk").is_volatile) << "a loop device over a file in memory";
  EXPECT_FALSE(*place_at(found, "/mnt/image").is_volatile);
  EXPECT_EQ(*place_at(found, "/mnt/image").max_file, 16ULL << 30);
  EXPECT_TRUE(*place_at(found, "/mnt/zram").is_volatile);
  EXPECT_EQ(*place_at(found, "/home/ada/vault").media, Media::nvme);
  EXPECT_FALSE(*place_at(found, "/home/ada/vault").global);
  const Place stick = place_at(found, "/run/media/ada/STICK");
  EXPECT_EQ(*stick.media, Media::unknown) << "a stick that says it rotates";
  EXPECT_EQ(*stick.block, 131072U);
}

TEST(Systems, EveryTraitSaysWhereItCameFrom) {
  for (const char* name : {"nfs-client", "md-raid5", "laptop", "ceph", "zfs-mirror"}) {
    for (const Place& place : look_at(name).places) {
      for (const TraitRow& row : trait_rows(place)) {
        EXPECT_TRUE(row.value.empty() || !row.detail.empty())
            << name << " " << place.mount << " " << row.name;
      }
    }
  }
}

TEST(Systems, MissingSystemIsAnError) {
  DiscoverOptions options;
  options.system = "/no/such/folder";
  const auto found = discover(*Config::parse("", "x"), options);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().text().find("/no/such/folder/proc/self/mountinfo"), std::string::npos);
}

}  // namespace
}  // namespace sluice
