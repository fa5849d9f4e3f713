// What lies beside a file: itself under another name, and bytes that could not be put into it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace sluice {

// What a file or a folder is called now, or what it was.
std::string name_of(int fd, const std::string& before);

// The nearest folder above that there is.
std::string nearest_folder(const std::string& path);

// The first path in a folder that is what is looked for, or "".
Result<std::string> find_in(const std::string& folder, const std::function<bool(const std::string&)>& is);

// What a file beside another is called, where so many of that name are there already.
std::string beside_name(const std::string& path, int again);

// A new file beside a path, or above where its folder is gone, with what `fill` writes to it, synced; its
// name. It must be on that device (0 = any): what is at a path may be the folder that another file system was
// mounted on. Where something fails nothing is left.
Result<std::string> put_beside(const std::string& path, std::uint64_t device,
                               const std::function<Status(int)>& fill);

}  // namespace sluice
