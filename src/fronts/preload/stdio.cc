// libc's stdio makes its system calls itself, where no preloaded function is seen. Its tables of functions
// are changed instead, in those five places that read, write, seek, close and ask for a descriptor, and only
// where they hold what they should: another libc is left alone.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "fronts/preload/file.h"
#include "fronts/preload/stdio.h"
#include "pipeline/parts.h"

namespace sluice::preload {
namespace {

constexpr std::size_t slot_read = 14;
constexpr std::size_t slot_write = 15;
constexpr std::size_t slot_seek = 16;
constexpr std::size_t slot_close = 17;
constexpr std::size_t slot_stat = 18;
constexpr int error_seen = 0x20;  // a flag of FILE

using Read = ssize_t (*)(FILE*, void*, ssize_t);
using Write = ssize_t (*)(FILE*, const void*, ssize_t);
using Seek = off64_t (*)(FILE*, off64_t, int);
using Close = int (*)(FILE*);
using Stat = int (*)(FILE*, void*);

Read libc_read = nullptr;
Write libc_write = nullptr;
Seek libc_seek = nullptr;
Close libc_close = nullptr;
Stat libc_stat = nullptr;

ssize_t file_read(FILE* file, void* data, ssize_t length) {
  return !managed(file->_fileno, SLUICE_READ) ? libc_read(file, data, length)
                                              : ::read(file->_fileno, data, static_cast<size_t>(length));
}

// All of it, as libc does.
ssize_t file_write(FILE* file, const void* data, ssize_t length) {
  if (!managed(file->_fileno, SLUICE_WRITE)) {
    return libc_write(file, data, length);
  }
  ssize_t done = 0;
  while (done < length) {
    const ssize_t moved =
        ::write(file->_fileno, static_cast<const char*>(data) + done, static_cast<size_t>(length - done));
    if (moved < 0) {
      file->_flags |= error_seen;
      break;
    }
    done += moved;
  }
  if (file->_offset >= 0) {
    file->_offset += done;
  }
  return done;
}

off64_t file_seek(FILE* file, off64_t offset, int whence) {
  return !managed(file->_fileno, SLUICE_SEEK) ? libc_seek(file, offset, whence)
                                              : ::lseek(file->_fileno, offset, whence);
}

int file_close(FILE* file) {
  const int fd = file->_fileno;
  const bool ours = static_cast<unsigned>(fd) < most_descriptors && files[fd].load() != nullptr;
  if (!ours) {
    return libc_close(file);
  }
  // Closing a stream is no place at which a thread is cancelled; closing a descriptor is.
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  const int out = ::close(fd);
  pthread_setcancelstate(before, nullptr);
  return out;
}

int file_stat(FILE* file, void* out) {
  if (is_keeping() && ask(file->_fileno, SLUICE_SETTLE_KIND, out, sizeof(struct stat)) == 1) {
    return 0;
  }
  auto& found = *static_cast<struct stat*>(out);
  return look_at_whole([&] { return libc_stat(file, out); }, found.st_dev, found.st_ino, found.st_size,
                       found.st_mtim, found.st_ctim);
}

template <class Function>
Function symbol(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// A table of libc's that holds what it should; null where it does not.
void** table_of(const char* name) {
  auto** table = symbol<void**>(name);
  return table != nullptr && table[slot_read] == reinterpret_cast<void*>(libc_read) &&
                 table[slot_write] == reinterpret_cast<void*>(libc_write) &&
                 table[slot_seek] == reinterpret_cast<void*>(libc_seek) &&
                 table[slot_close] == reinterpret_cast<void*>(libc_close) &&
                 table[slot_stat] == reinterpret_cast<void*>(libc_stat)
             ? table
             : nullptr;
}

void change(void** table) {
  table[slot_read] = reinterpret_cast<void*>(file_read);
  table[slot_write] = reinterpret_cast<void*>(file_write);
  table[slot_seek] = reinterpret_cast<void*>(file_seek);
  table[slot_close] = reinterpret_cast<void*>(file_close);
  table[slot_stat] = reinterpret_cast<void*>(file_stat);
}

}  // namespace

bool see_stdio() {
  libc_read = symbol<Read>("_IO_file_read");
  libc_write = symbol<Write>("_IO_file_write");
  libc_seek = symbol<Seek>("_IO_file_seek");
  libc_close = symbol<Close>("_IO_file_close");
  libc_stat = symbol<Stat>("_IO_file_stat");
  if (libc_read == nullptr || libc_write == nullptr || libc_seek == nullptr || libc_close == nullptr ||
      libc_stat == nullptr) {
    return false;
  }
  void** narrow = table_of("_IO_file_jumps");
  void** wide = table_of("_IO_wfile_jumps");
  if (narrow == nullptr || wide == nullptr) {
    return false;
  }
  // They lie side by side: one call for both, as every process pays for it.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto [first, last] = std::minmax(narrow, wide);
  const auto begin = reinterpret_cast<std::uintptr_t>(first + slot_read) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(last + slot_stat + 1) + page - 1) & ~(page - 1);
  auto* memory = reinterpret_cast<void*>(begin);
  if (mprotect(memory, end - begin, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  change(narrow);
  change(wide);
  mprotect(memory, end - begin, PROT_READ);
  return true;
}

}  // namespace sluice::preload
