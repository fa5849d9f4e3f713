#include "fronts/volume/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice::volume {
namespace {

// Where the block device begins on one of the volume's: 0 for the whole of it, more for a partition.
std::optional<std::uint64_t> start_on(dev_t device, const std::vector<std::string>& devices) {
  const std::string folder = fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
  const auto partition = read_file(folder + "/partition", 64);
  std::uint64_t start = 0;
  std::string whole = fmt::format("{}:{}", major(device), minor(device));
  if (partition) {
    const auto sectors = read_file(folder + "/start", 64);
    const auto parent = read_file(folder + "/../dev", 64);
    const auto count = sectors ? parse_count(trim(*sectors)) : Result<std::uint64_t>(fail("no start"));
    if (!count || !parent) {
      return std::nullopt;
    }
    start = *count * 512;
    whole = std::string(trim(*parent));
  }
  for (const std::string& path : devices) {
    struct stat found {};
    if (sys().stat(path.c_str(), &found) == 0 &&
        fmt::format("{}:{}", major(found.st_rdev), minor(found.st_rdev)) == whole) {
      return start;
    }
  }
  return std::nullopt;
}

// btrfs' addresses are logical: its chunk tree says what they are on a device.
struct BtrfsChunk {
  std::uint64_t logical = 0;
  std::uint64_t length = 0;
  std::uint64_t physical = 0;
};

Result<std::vector<BtrfsChunk>> btrfs_chunks(int fd, const std::string& path) {
  std::vector<BtrfsChunk> out;
  btrfs_ioctl_search_args search{};
  search.key.tree_id = BTRFS_CHUNK_TREE_OBJECTID;
  search.key.min_objectid = search.key.max_objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID;
  search.key.min_type = search.key.max_type = BTRFS_CHUNK_ITEM_KEY;
  search.key.max_offset = ~std::uint64_t{0};
  search.key.max_transid = ~std::uint64_t{0};
  while (true) {
    search.key.nr_items = 4096;
    if (ioctl(fd, BTRFS_IOC_TREE_SEARCH, &search) != 0) {
      return Errno().fail(fmt::format("cannot ask btrfs where {} is", quote(path))).advise("that takes root");
    }
    if (search.key.nr_items == 0) {
      return out;
    }
    const char* at = search.buf;
    for (unsigned i = 0; i < search.key.nr_items; ++i) {
      btrfs_ioctl_search_header head;
      std::memcpy(&head, at, sizeof head);
      at += sizeof head;
      btrfs_chunk chunk;
      std::memcpy(&chunk, at, std::min<std::size_t>(sizeof chunk, head.len));
      // Of data in several copies the first counts; stripes over devices are not ours.
      out.push_back({.logical = head.offset,
                     .length = le64toh(chunk.length),
                     .physical = le64toh(chunk.stripe.offset)});
      at += head.len;
      search.key.min_offset = head.offset + 1;
    }
  }
}

}  // namespace

Result<FileExtents> file_extents(const std::string& path, const std::vector<std::string>& devices) {
  const UniqueFd fd(sys().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0));
  struct stat found {};
  struct statfs system {};
  if (!fd || fstat(fd.get(), &found) != 0 || fstatfs(fd.get(), &system) != 0) {
    return Errno().fail(fmt::format("cannot open {}", quote(path)));
  }
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
    return bad_input(fmt::format("{} is no file", quote(path)));
  }
  const bool btrfs = system.f_type == BTRFS_SUPER_MAGIC;
  dev_t device = found.st_dev;
  std::vector<BtrfsChunk> chunks;
  if (btrfs) {  // its device number is its own
    btrfs_ioctl_dev_info_args info{};
    info.devid = 1;
    struct stat node {};
    if (ioctl(fd.get(), BTRFS_IOC_DEV_INFO, &info) != 0 ||
        sys().stat(reinterpret_cast<const char*>(info.path), &node) != 0) {
      return Errno().fail(fmt::format("cannot ask btrfs for its device under {}", quote(path)));
    }
    device = node.st_rdev;
    SLUICE_TRY(chunks, btrfs_chunks(fd.get(), path));
  }
  const auto start = start_on(device, devices);
  if (!start) {
    return bad_input(fmt::format("{} does not lie on the volume", quote(path)),
                     "is it below a mount point of the volume's block device?");
  }
  FileExtents out{.size = static_cast<std::uint64_t>(found.st_size), .extents = {}, .unplaced = 0};
  constexpr unsigned at_once = 512;
  std::vector<std::byte> memory(sizeof(fiemap) + at_once * sizeof(fiemap_extent));
  auto* const map = reinterpret_cast<fiemap*>(memory.data());
  for (std::uint64_t from = 0;;) {
    std::fill(memory.begin(), memory.end(), std::byte{});
    map->fm_start = from;
    map->fm_length = FIEMAP_MAX_OFFSET - from;
    map->fm_extent_count = at_once;
    if (ioctl(fd.get(), FS_IOC_FIEMAP, map) != 0) {
      return Errno().fail(fmt::format("cannot ask where {} is", quote(path)));
    }
    if (map->fm_mapped_extents == 0) {
      return out;
    }
    for (unsigned i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      from = extent.fe_logical + extent.fe_length;
      constexpr std::uint32_t without =
          FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_ENCODED;
      std::uint64_t physical = extent.fe_physical;
      bool known = (extent.fe_flags & without) == 0;
      if (btrfs && known) {
        const auto chunk = std::find_if(chunks.begin(), chunks.end(), [&](const BtrfsChunk& it) {
          return physical >= it.logical && physical < it.logical + it.length;
        });
        known = chunk != chunks.end();
        physical = known ? physical - chunk->logical + chunk->physical : 0;
      }
      if (known) {
        out.extents.push_back(
            {.logical = extent.fe_logical, .offset = *start + physical, .length = extent.fe_length});
      } else {
        out.unplaced += extent.fe_length;
      }
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) {
        return out;
      }
    }
  }
}

}  // namespace sluice::volume
