// Whose word counts. What lies at a path is this user's or root's word only where nobody else can change it
// or put something else in its place.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice {

// The absolute path without symbolic links, followed by hand; what does not exist is kept as it is. EPERM at
// a link that belongs to neither this user nor root, wherever in the path it is: whoever planted it would
// choose what we work on.
Result<std::string> follow_links(const std::string& path);

// The same, and EPERM unless it and each folder on the way belongs to this user or root and can be written by
// nobody else; with the sticky bit others may write to a folder. A descriptor that we were given (/dev/fd/3)
// is the word of whoever started us, and /dev/null says nothing.
Result<std::string> check_trusted(const std::string& path);

// Its bytes. EPERM also for what is no plain file: a pipe would keep us waiting. It is not opened then.
Result<std::string> read_trusted(const std::string& path);

// Whether this process has more rights than who started it (a set-uid program): then neither the environment
// nor the current folder counts.
bool is_privileged_by_program();

}  // namespace sluice
