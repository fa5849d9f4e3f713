#include "places/filesystems.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sluice {
namespace {

struct Row {
  std::string_view type;
  FsClass kind;
};

// Sorted by type.
constexpr std::array rows = std::to_array<Row>({
    {"9p", FsClass::host},
    {"adfs", FsClass::local},
    {"affs", FsClass::local},
    {"afs", FsClass::network},
    {"anon_inodefs", FsClass::pseudo},
    {"apfs", FsClass::local},
    {"aufs", FsClass::layered},
    {"autofs", FsClass::automount},
    {"bcachefs", FsClass::local},
    {"bdev", FsClass::pseudo},
    {"beegfs", FsClass::network},
    {"befs", FsClass::local},
    {"bfs", FsClass::local},
    {"binder", FsClass::pseudo},
    {"binfmt_misc", FsClass::pseudo},
    {"bpf", FsClass::pseudo},
    {"btrfs", FsClass::local},
    {"ceph", FsClass::network},
    {"cgroup", FsClass::pseudo},
    {"cgroup2", FsClass::pseudo},
    {"cifs", FsClass::network},
    {"coda", FsClass::network},
    {"configfs", FsClass::pseudo},
    {"cpuset", FsClass::pseudo},
    {"cramfs", FsClass::image},
    {"debugfs", FsClass::pseudo},
    {"devpts", FsClass::pseudo},
    {"devtmpfs", FsClass::pseudo},
    {"ecryptfs", FsClass::layered},
    {"efivarfs", FsClass::pseudo},
    {"erofs", FsClass::image},
    {"exfat", FsClass::local},
    {"ext2", FsClass::local},
    {"ext3", FsClass::local},
    {"ext4", FsClass::local},
    {"f2fs", FsClass::local},
    {"fuse.archivemount", FsClass::image},
    {"fuse.beegfs", FsClass::network},
    {"fuse.bindfs", FsClass::layered},
    {"fuse.ceph", FsClass::network},
    {"fuse.ceph-fuse", FsClass::network},
    {"fuse.cryfs", FsClass::layered},
    {"fuse.davfs", FsClass::network},
    {"fuse.encfs", FsClass::layered},
    {"fuse.exfat", FsClass::local},
    {"fuse.ext2", FsClass::local},
    {"fuse.fuse-overlayfs", FsClass::layered},
    {"fuse.fuseiso", FsClass::image},
    {"fuse.fuse-ext2", FsClass::local},
    {"fuse.gcsfuse", FsClass::network},
    {"fuse.glusterfs", FsClass::network},
    {"fuse.gocryptfs", FsClass::layered},
    {"fuse.gvfsd-fuse", FsClass::pseudo},
    {"fuse.juicefs", FsClass::network},
    {"fuse.jmtpfs", FsClass::pseudo},
    {"fuse.lxcfs", FsClass::pseudo},
    {"fuse.mergerfs", FsClass::layered},
    {"fuse.mhddfs", FsClass::layered},
    {"fuse.moosefs", FsClass::network},
    {"fuse.ntfs", FsClass::local},
    {"fuse.ntfs-3g", FsClass::local},
    {"fuse.portal", FsClass::pseudo},
    {"fuse.rclone", FsClass::network},
    {"fuse.s3fs", FsClass::network},
    {"fuse.snapfuse", FsClass::image},
    {"fuse.squashfuse", FsClass::image},
    {"fuse.squashfuse_ll", FsClass::image},
    {"fuse.sshfs", FsClass::network},
    {"fuse.unionfs", FsClass::layered},
    {"fuse.unionfs-fuse", FsClass::layered},
    {"fuse.vmware-vmblock", FsClass::pseudo},
    {"fuse.xwallyd", FsClass::pseudo},
    {"fuse.zfs-fuse", FsClass::local},
    {"fuseblk", FsClass::local},
    {"fusectl", FsClass::pseudo},
    {"gfs2", FsClass::network},
    {"glusterfs", FsClass::network},
    {"gpfs", FsClass::network},
    {"hfs", FsClass::local},
    {"hfsplus", FsClass::local},
    {"hpfs", FsClass::local},
    {"hugetlbfs", FsClass::pseudo},
    {"iso9660", FsClass::image},
    {"jffs2", FsClass::local},
    {"jfs", FsClass::local},
    {"kafs", FsClass::network},
    {"lustre", FsClass::network},
    {"minix", FsClass::local},
    {"mqueue", FsClass::pseudo},
    {"msdos", FsClass::local},
    {"ncpfs", FsClass::network},
    {"nfs", FsClass::network},
    {"nfs4", FsClass::network},
    {"nfsd", FsClass::pseudo},
    {"nilfs2", FsClass::local},
    {"nsfs", FsClass::pseudo},
    {"ntfs", FsClass::local},
    {"ntfs3", FsClass::local},
    {"ocfs2", FsClass::network},
    {"omfs", FsClass::local},
    {"orangefs", FsClass::network},
    {"overlay", FsClass::layered},
    {"panfs", FsClass::network},
    {"pipefs", FsClass::pseudo},
    {"prl_fs", FsClass::host},
    {"proc", FsClass::pseudo},
    {"pstore", FsClass::pseudo},
    {"pvfs2", FsClass::network},
    {"ramfs", FsClass::memory},
    {"reiserfs", FsClass::local},
    {"resctrl", FsClass::pseudo},
    {"romfs", FsClass::image},
    {"rootfs", FsClass::memory},
    {"rpc_pipefs", FsClass::pseudo},
    {"securityfs", FsClass::pseudo},
    {"selinuxfs", FsClass::pseudo},
    {"shiftfs", FsClass::layered},
    {"smackfs", FsClass::pseudo},
    {"smb3", FsClass::network},
    {"smbfs", FsClass::network},
    {"sockfs", FsClass::pseudo},
    {"squashfs", FsClass::image},
    {"sysfs", FsClass::pseudo},
    {"sysv", FsClass::local},
    {"tmpfs", FsClass::memory},
    {"tracefs", FsClass::pseudo},
    {"ubifs", FsClass::local},
    {"udf", FsClass::local},
    {"ufs", FsClass::local},
    {"umsdos", FsClass::local},
    {"usbfs", FsClass::pseudo},
    {"vboxsf", FsClass::host},
    {"vfat", FsClass::local},
    {"virtiofs", FsClass::host},
    {"vmhgfs", FsClass::host},
    {"wekafs", FsClass::network},
    {"xenfs", FsClass::pseudo},
    {"xfs", FsClass::local},
    {"zfs", FsClass::local},
    {"zonefs", FsClass::local},
});

constexpr std::uint64_t kilo = 1024;
constexpr std::uint64_t giga = kilo * kilo * kilo;
constexpr std::uint64_t tera = kilo * giga;
// The kernel's own limit for a file offset.
constexpr std::uint64_t largest_offset = std::numeric_limits<std::int64_t>::max();

}  // namespace

FsFacts filesystem_facts(std::string_view type, bool block_device) {
  const auto* row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.type == type; });
  if (row != rows.end()) {
    return {.kind = row->kind, .listed = true};
  }
  if (type == "fuse" || type.starts_with("fuse.")) {
    return {.kind = FsClass::network, .listed = false};
  }
  return {.kind = block_device ? FsClass::local : FsClass::unknown, .listed = false};
}

std::optional<std::uint64_t> largest_file(std::string_view type, std::uint64_t block) {
  if (type == "ext4" && block != 0) {
    return 0xFFFFFFFFULL * block;  // logical block numbers have 32 bits
  }
  if ((type == "ext2" || type == "ext3") && block != 0) {
    // Three levels of indirect blocks, and a 32-bit count of 512-byte sectors.
    return block <= kilo ? 16 * giga : block <= 2 * kilo ? 256 * giga : 2 * tera;
  }
  if (type == "vfat" || type == "msdos") {
    return 4 * giga - 1;
  }
  if ((type == "ntfs" || type == "ntfs3" || type == "fuse.ntfs" || type == "fuse.ntfs-3g") && block != 0) {
    return (kilo * kilo * kilo * 4) * block - 64 * kilo;  // cluster numbers have 32 bits
  }
  if (type == "f2fs") {
    // 873 + 2 * 1018 + 2 * 1018^2 + 1018^3 blocks of 4 KiB: the pointers of an inode with inline attributes.
    constexpr std::uint64_t pointers = 1018;
    return (873 + 2 * pointers + 2 * pointers * pointers + pointers * pointers * pointers) * 4 * kilo;
  }
  if (type == "hfs") {
    return 2 * giga - 1;
  }
  if (type == "jfs") {
    return 4 * kilo * tera;
  }
  static constexpr std::array<std::string_view, 11> unlimited = {
      "xfs", "btrfs", "tmpfs", "ramfs", "exfat", "zfs", "hfsplus", "bcachefs", "nilfs2", "udf", "gfs2"};
  if (std::find(unlimited.begin(), unlimited.end(), type) != unlimited.end()) {
    return largest_offset;
  }
  return std::nullopt;
}

}  // namespace sluice
