// What is in a folder, without allocation.
#pragma once

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sluice {

// One entry after another, until `goes_on` says false. True where all of them were seen.
template <class GoesOn>
bool each_entry(int folder, GoesOn goes_on) {
  alignas(std::uint64_t) char entries[2048];
  long size = -1;
  while (folder >= 0 && (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < size;) {
      const auto& entry = *reinterpret_cast<const dirent64*>(entries + at);
      at += entry.d_reclen;
      if (!goes_on(entry)) {
        return false;
      }
    }
  }
  return size == 0;
}

}  // namespace sluice
