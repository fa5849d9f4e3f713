// For servers that the kernel may have to write through to get memory.
#pragma once

#include <string>
#include <vector>

namespace sluice::service {

// Nothing in this process waits for memory from now on: what it has and will have is locked, allocations on
// its behalf do no I/O, and it is not the one that is killed when memory is short. Tells what could not be
// done about it.
std::vector<std::string> never_wait_for_memory();

}  // namespace sluice::service
