// Files that are in the memory of the run alone (pipeline/pending.h): whoever looks for one by its name makes
// it a file first. As long as there is none, a look at a counter is all that costs.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "pipeline/pending.h"

namespace sluice::preload {

// For who cannot go on after an error: errno is that number, where it is not 0.
inline bool fails(int error) {
  errno = error != 0 ? error : errno;
  return error != 0;
}

// Whether there may be any in this run.
bool may_keep_small();
// The one that a path names, where it does. 0, or errno where it is still in memory, although its folder is
// there.
int put_down_name(int folder, const char* path);
// The same for who only wants to know what is said of it: true where that is told already. `anyhow` where it
// cannot be put down.
bool describe_name(int folder, const char* path, struct stat& out, bool anyhow = false);
// All of them, before something that looks at a whole folder, or in ways that are not seen.
void put_down_all();
// The same before a folder is removed or replaced: ENOTEMPTY where one of its files is still in memory.
int put_down_all_in(int folder, const char* path);
// The same of a file that is about to be removed: true where it is gone already.
bool drop_name(int folder, const char* path);
// Whether an open fails where there is something of that name.
inline bool makes_alone(int flags) {
  return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}
// For who makes a name: as long as it lives, nobody begins to keep a file of that name in memory.
class NameHold {
 public:
  enum class Makes : std::uint8_t {
    alone,     // only where there is nothing: it is taken as it is
    anyway,    // the kernel says what is to be done with what is there
    or_opens,  // what is there is opened
  };
  // Nothing where the path is null.
  NameHold(int folder, const char* path, Makes makes);
  // For an open with these flags, where that makes a file.
  static NameHold for_open(int folder, const char* path, int flags);
  // Whether there is a file of that name in memory, which stays there.
  [[nodiscard]] bool is_taken() const { return error_ != 0; }
  // The same for who cannot go on then: errno says why, or is that number.
  [[nodiscard]] bool refuses(int number = 0) const {
    return fails(is_taken() && number != 0 ? number : error_);
  }

 private:
  std::optional<NameLock> lock_;
  int error_ = 0;
};
// What a link leads to, for an open that would make it. Through one to a file that comes home just now the
// kernel would make another one elsewhere. ENOENT where nothing is there, or that cannot be.
int open_through(int folder, const char* path, int flags);
// As openat(), of whatever is at that path.
int open_native(int folder, const char* path, int flags, mode_t mode);

}  // namespace sluice::preload
