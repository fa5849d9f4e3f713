#include "move/checksum.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t block = 65536;

struct Free {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

bool is_zero(const std::vector<char>& bytes, std::size_t length) {
  return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length),
                     [](char byte) { return byte == 0; });
}

Result<std::size_t> read_block(int fd, std::vector<char>& into, off_t at) {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t got = pread(fd, into.data() + have, into.size() - have, at + static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Errno().fail("cannot read it again");
    }
    if (got == 0) {
      break;
    }
    have += static_cast<std::size_t>(got);
  }
  return have;
}

}  // namespace

Result<std::string> checksum_of(int fd, const GoOn& go_on) {
  struct stat found {};
  if (fstat(fd, &found) != 0) {
    return Errno().fail("cannot look at the file");
  }
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  if (state == nullptr || XXH3_128bits_reset(state.get()) != XXH_OK) {
    return fail(ENOMEM, "cannot make a checksum");
  }
  XXH3_128bits_update(state.get(), &found.st_size, sizeof found.st_size);
  std::vector<char> bytes(block);
  for (off_t at = 0; at < found.st_size;) {
    const off_t data = lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
      break;  // a hole to the end
    }
    at = data < 0 ? at : data - data % static_cast<off_t>(block);
    if (!go_on(0)) {
      return fail(ECANCELED, "stopped");
    }
    SLUICE_TRY(const std::size_t length, read_block(fd, bytes, at));
    if (length == 0) {
      break;
    }
    if (!is_zero(bytes, length)) {
      XXH3_128bits_update(state.get(), &at, sizeof at);
      XXH3_128bits_update(state.get(), bytes.data(), length);
    }
    at += static_cast<off_t>(block);
  }
  const XXH128_hash_t sum = XXH3_128bits_digest(state.get());
  return fmt::format("xxh3:{:016x}{:016x}", sum.high64, sum.low64);
}

}  // namespace sluice
