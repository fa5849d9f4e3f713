// A checksum of what a file holds, whatever holes it has.
#pragma once

#include <string>

#include "base/result.h"
#include "move/home.h"

namespace sluice {

// "xxh3:" and 32 digits: XXH3 of 128 bits over the size, and the offset and bytes of every block of 64 KiB
// that is not all zero. ECANCELED where `go_on` says so.
Result<std::string> checksum_of(int fd, const GoOn& go_on);

}  // namespace sluice
