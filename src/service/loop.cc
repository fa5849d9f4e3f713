#include "service/loop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace sluice::service {
namespace {

constexpr unsigned loop_major = 7;

// In a container /dev may lack the node of a device that the kernel has.
UniqueFd open_loop(const std::string& path, int number) {
  UniqueFd out(sys().open(path.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!out && errno == ENOENT &&
      mknod(path.c_str(), S_IFBLK | 0600, makedev(loop_major, static_cast<unsigned>(number))) == 0) {
    out = UniqueFd(sys().open(path.c_str(), O_RDWR | O_CLOEXEC, 0));
  }
  return out;
}

// Whether the loop device's file lies below the folder. Of a file whose server has ended in peace the kernel
// knows the path no more; then the name counts that whoever attached it gave, of which it keeps 63 bytes.
bool lies_below(const std::string& path, const std::string& folder) {
  const std::string prefix = folder + "/";
  const auto file = read_file("/sys/block/" + path.substr(path.rfind('/') + 1) + "/loop/backing_file", 16384);
  if (!file || trim(*file) != "/") {
    return file && file->starts_with(prefix);
  }
  const UniqueFd fd(sys().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0));
  loop_info64 info{};
  if (!fd || sys().ioctl(fd.get(), LOOP_GET_STATUS64, &info) != 0) {
    return false;
  }
  const char* name = reinterpret_cast<const char*>(info.lo_file_name);
  const std::string_view given(name, strnlen(name, sizeof info.lo_file_name));
  return given.starts_with(prefix);
}

}  // namespace

Result<LoopDevice> attach_loop(const std::string& file, bool autoclear, unsigned sector) {
  const UniqueFd control(sys().open("/dev/loop-control", O_RDWR | O_CLOEXEC, 0));
  if (!control) {
    return Errno()
        .fail("cannot open /dev/loop-control")
        .advise("loop devices need root and a kernel with them");
  }
  const UniqueFd backing(sys().open(file.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!backing) {
    return Errno().fail(fmt::format("cannot open {}", quote(file)));
  }
  // Somebody else may take the free one between our asking and our taking it.
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    const int number = sys().ioctl(control.get(), LOOP_CTL_GET_FREE, nullptr);
    if (number < 0) {
      return Errno().fail("there is no free loop device");
    }
    LoopDevice out{.path = fmt::format("/dev/loop{}", number), .fd = {}};
    out.fd = open_loop(out.path, number);
    if (!out.fd) {
      return Errno().fail(fmt::format("cannot open {}", out.path));
    }
    loop_config config{};
    config.block_size = sector;
    config.fd = static_cast<__u32>(backing.get());
    config.info.lo_flags = LO_FLAGS_DIRECT_IO;
    config.info.lo_flags |= autoclear ? unsigned{LO_FLAGS_AUTOCLEAR} : 0U;
    const std::size_t length = std::min(file.size(), sizeof config.info.lo_file_name - 1);
    std::memcpy(config.info.lo_file_name, file.data(), length);
    if (sys().ioctl(out.fd.get(), LOOP_CONFIGURE, &config) == 0) {
      // What Linux reads ahead from a disk, whatever this kernel would from a loop device; the next file that
      // is attached there gets the kernel's own again.
      constexpr unsigned long sectors = 256;
      sys().ioctl(out.fd.get(), BLKRASET, reinterpret_cast<void*>(sectors));
      return out;
    }
    if (errno != EBUSY) {
      return Errno().fail(fmt::format("cannot attach {} to {}", quote(file), out.path));
    }
  }
  return fail("there is no free loop device", "others take them as fast as they come");
}

Status detach_loop(const std::string& path, const std::string& folder) {
  const UniqueFd fd(sys().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0));
  if (!fd) {
    return Errno().fail(fmt::format("cannot open {}", path));
  }
  // While we have it open it cannot become another's.
  if (lies_below(path, folder) && sys().ioctl(fd.get(), LOOP_CLR_FD, nullptr) != 0 && errno != ENXIO) {
    return Errno().fail(fmt::format("cannot detach {}", path));
  }
  return {};
}

std::vector<std::string> loops_below(const std::string& folder) {
  std::vector<std::string> out;
  const auto names = list_folder("/sys/block");
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (name.starts_with("loop") && lies_below("/dev/" + name, folder)) {
      out.push_back("/dev/" + name);
    }
  }
  return out;
}

}  // namespace sluice::service
