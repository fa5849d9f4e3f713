#include "lab/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice::lab {
namespace {

// A device in memory must not take the machine's last: below this share of it, writes find no room.
constexpr std::uint64_t spare_share = 32;
constexpr std::uint64_t look_every = std::uint64_t{16} << 20;

// "MemAvailable:   23352 kB" -> bytes
std::uint64_t meminfo(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  const auto words = split_blanks(text.substr(std::min(at, text.size())));
  const auto value = words.size() > 1 ? parse_count(words[1]) : Result<std::uint64_t>(0);
  return value.value_or(0) * 1024;
}

bool memory_is_short() {
  const auto text = read_file("/proc/meminfo", 65536);
  const std::uint64_t total = text ? meminfo(*text, "MemTotal:") : 0;
  return total > 0 && meminfo(*text, "MemAvailable:") < total / spare_share;
}

class MemoryStore final : public Store {
 public:
  MemoryStore(std::byte* memory, std::uint64_t size) : memory_(memory), size_(size) {}
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore() override { munmap(memory_, size_); }

  int read(std::uint64_t offset, Bytes out) override {
    std::memcpy(out.data(), memory_ + offset, out.size());
    return 0;
  }
  int write(std::uint64_t offset, ConstBytes data) override {
    since_look_ += data.size();
    if (since_look_ >= look_every) {
      since_look_ = memory_is_short() ? look_every : 0;
      if (since_look_ != 0) {
        return ENOSPC;
      }
    }
    std::memcpy(memory_ + offset, data.data(), data.size());
    return 0;
  }
  int discard(std::uint64_t offset, std::uint64_t length) override {
    // Locked pages are not given back; the server locks its memory as a whole (MCL_ONFAULT).
    munlock(memory_ + offset, length);
    const int status = madvise(memory_ + offset, length, MADV_DONTNEED);
    mlock2(memory_ + offset, length, MLOCK_ONFAULT);
    return status == 0 ? 0 : errno;
  }
  Result<std::unique_ptr<Store>> scratch() override { return memory_store(size_); }

 private:
  std::byte* memory_;
  std::uint64_t size_;
  std::uint64_t since_look_ = 0;  // bytes written since the machine's memory was last looked at
};

class FileStore final : public Store {
 public:
  FileStore(UniqueFd fd, std::string folder, std::uint64_t size)
      : fd_(std::move(fd)), folder_(std::move(folder)), size_(size) {}
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;
  ~FileStore() override { std::free(buffer_); }

  int read(std::uint64_t offset, Bytes out) override {
    return through_buffer(offset, out.size(), [&](std::uint64_t at, std::size_t done, std::size_t piece) {
      const ssize_t got = pread(fd_.get(), buffer_, piece, static_cast<off_t>(at));
      if (got >= 0) {
        std::memset(static_cast<std::byte*>(buffer_) + got, 0, piece - static_cast<std::size_t>(got));
        std::memcpy(out.data() + done, buffer_, piece);
      }
      return got < 0 ? errno : 0;
    });
  }
  int write(std::uint64_t offset, ConstBytes data) override {
    return through_buffer(offset, data.size(), [&](std::uint64_t at, std::size_t done, std::size_t piece) {
      std::memcpy(buffer_, data.data() + done, piece);
      const ssize_t put = pwrite(fd_.get(), buffer_, piece, static_cast<off_t>(at));
      // Less than asked for is what a full disk gives before it gives ENOSPC.
      return put < 0 ? errno : put == static_cast<ssize_t>(piece) ? 0 : ENOSPC;
    });
  }
  int discard(std::uint64_t offset, std::uint64_t length) override {
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return fallocate(fd_.get(), mode, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0 ? 0
                                                                                                   : errno;
  }
  Result<std::unique_ptr<Store>> scratch() override {
    UniqueFd fd(sys().open(folder_.c_str(), O_RDWR | O_TMPFILE | O_DIRECT | O_CLOEXEC, 0600));
    return make(std::move(fd), folder_, size_, "a nameless file in " + quote(folder_));
  }

  static Result<std::unique_ptr<Store>> make(UniqueFd fd, std::string folder, std::uint64_t size,
                                             const std::string& name) {
    struct stat found {};
    if (!fd || fstat(fd.get(), &found) != 0) {
      const bool refused = errno == EINVAL;
      return Errno()
          .fail(fmt::format("cannot open {}{}", name, refused ? " past the page cache" : ""))
          .advise(refused ? "its file system knows no O_DIRECT; --backing=memory needs none" : "");
    }
    if (!S_ISREG(found.st_mode)) {
      return bad_input(fmt::format("{} is no file", name));
    }
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(fmt::format("{} belongs to another device that is running", name), "choose another file");
    }
    if (static_cast<std::uint64_t>(found.st_size) > size) {
      return bad_input(fmt::format("{} has {} and the device would have only {}", name,
                                   print_size(static_cast<std::uint64_t>(found.st_size)), print_size(size)),
                       "give --size at least that");
    }
    if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
      return Errno().fail(fmt::format("cannot give {} a size of {}", name, print_size(size)));
    }
    auto out = std::make_unique<FileStore>(std::move(fd), std::move(folder), size);
    out->buffer_ = std::aligned_alloc(block_size, buffer_size);
    if (out->buffer_ == nullptr) {
      return fail(ENOMEM, "no memory for a device");
    }
    return out;
  }

 private:
  static constexpr std::size_t buffer_size = std::size_t{1} << 20;

  // O_DIRECT wants aligned memory, so everything goes through a buffer that is.
  template <class Piece>
  int through_buffer(std::uint64_t offset, std::size_t length, Piece piece) {
    for (std::size_t done = 0; done < length;) {
      const std::size_t size = std::min(length - done, buffer_size);
      const int error = piece(offset + done, done, size);
      if (error == EINTR) {
        continue;
      }
      if (error != 0) {
        return error;
      }
      done += size;
    }
    return 0;
  }

  UniqueFd fd_;
  std::string folder_;
  std::uint64_t size_;
  void* buffer_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Store>> memory_store(std::uint64_t size) {
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Errno().fail(fmt::format("cannot map {} of memory", print_size(size)));
  }
  return std::make_unique<MemoryStore>(static_cast<std::byte*>(memory), size);
}

Result<std::unique_ptr<Store>> file_store(const std::string& path, std::uint64_t size) {
  UniqueFd fd(sys().open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600));
  return FileStore::make(std::move(fd), folder_of(path), size, quote(path));
}

}  // namespace sluice::lab
