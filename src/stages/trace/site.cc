#include "stages/trace/site.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace sluice {
namespace {

constexpr int most_frames = 48;

struct Search {
  std::span<char> room;
  std::size_t length = 0;
  int frames = 0;
};

bool is_passed_over(std::string_view module) {
  constexpr std::array<std::string_view, 5> names = {"libsluice-preload.so", "libc.so.", "libstdc++.so.",
                                                     "libc++.so.", "ld-linux"};
  const std::string_view name = module.substr(module.rfind('/') + 1);
  return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return name.starts_with(one); });
}

// The path of a module, absolute: the loader has no name for the program, and that of a library may be as
// somebody wrote it. How many bytes it has; 0 where there is no room for it.
std::size_t print_module(std::string_view name, std::span<char> room) {
  std::size_t at = 0;
  if (name.empty()) {
    const long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", room.data(), room.size());
    return length <= 0 || static_cast<std::size_t>(length) == room.size() ? 0
                                                                          : static_cast<std::size_t>(length);
  }
  if (!name.starts_with('/')) {
    const long length = syscall(SYS_getcwd, room.data(), room.size());  // with its zero
    if (length <= 0) {
      return 0;
    }
    at = static_cast<std::size_t>(length);
    room[at - 1] = '/';
  }
  if (name.size() > room.size() - at) {
    return 0;
  }
  name.copy(room.data() + at, name.size());
  return at + name.size();
}

void print_site(Search& search, std::string_view module, std::uintptr_t offset) {
  constexpr std::string_view sign = "+0x";
  constexpr std::size_t longest_offset = sign.size() + 2 * sizeof offset;
  const std::span<char> room = search.room;
  const std::size_t length = print_module(module, room.first(room.size() - longest_offset));
  if (length == 0) {
    return;
  }
  sign.copy(room.data() + length, sign.size());
  char* to = room.data() + length + sign.size();
  // Not std::to_chars: its table would be a symbol that the library shows.
  int digits = 1;
  while (digits < 16 && offset >> (4 * digits) != 0) {
    ++digits;
  }
  while (digits > 0) {
    *to++ = "0123456789abcdef"[offset >> (4 * --digits) & 15];
  }
  search.length = static_cast<std::size_t>(to - room.data());
}

_Unwind_Reason_Code look(_Unwind_Context* context, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  dl_find_object found{};
  // Not dladdr: that takes the loader's lock, and looks at every symbol of the module.
  if (++search.frames > most_frames || _dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
    return _URC_END_OF_STACK;
  }
  const std::string_view module = found.dlfo_link_map->l_name;
  if (is_passed_over(module)) {
    return _URC_NO_REASON;
  }
  print_site(search, module, address - reinterpret_cast<std::uintptr_t>(found.dlfo_map_start));
  return _URC_END_OF_STACK;
}

}  // namespace

std::string_view find_site(std::span<char> room) {
  const int saved = errno;
  Search search{.room = room};
  _Unwind_Backtrace(look, &search);
  errno = saved;
  return {room.data(), search.length};
}

}  // namespace sluice
