// Who opens a file: the first function on the stack that is none of libc, the C++ library, the loader or
// ours, so that fopen and std::ofstream are told by who uses them.
#pragma once

#include <span>
#include <string_view>

namespace sluice {

// "MODULE+0xOFFSET" of where its call returns to, from where the module is loaded, in `room`; "" where nobody
// can tell. Allocates nothing and takes no lock.
std::string_view find_site(std::span<char> room);

}  // namespace sluice
