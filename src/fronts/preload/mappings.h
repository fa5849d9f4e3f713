// Which memory is mapped from files whose stages hear hints: madvise() knows addresses alone. So many are
// remembered of a process, and of one that is changed in part nothing.
//
// Any thread, also signal handlers: nothing here allocates or locks.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace sluice::preload {

// A descriptor was mapped there.
void remember_mapping(const void* at, std::size_t length, int fd, off_t offset);
// Something else is there, or nothing.
void forget_mappings(const void* at, std::size_t length);
// A hint about memory: stages hear it while the file has its descriptor; its row in any case.
void advise_mappings(const void* at, std::size_t length, int flags);

}  // namespace sluice::preload
