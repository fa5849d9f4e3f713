// What strace writes in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// "ENOENT" -> ENOENT; EIO where there is none of that name.
int errno_of(std::string_view name);
// "O_RDONLY|O_CLOEXEC|0x10"; what is not known counts as nothing.
int open_flags_of(std::string_view words);
// FALLOC_FL_..., joined by "|".
int allocate_mode_of(std::string_view words);
// AT_..., RENAME_..., of calls that change names.
int name_flags_of(std::string_view words);
// POSIX_FADV_...; -1 where it is none.
int advice_of(std::string_view word);
// SEEK_...; -1 where it is none.
int whence_of(std::string_view word);
// \n, \", \177, \x7f.
std::string unescape_strace(std::string_view text);

}  // namespace sluice
