// Whole files and folders, through the system-call table. Paths are bytes and may be of any length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// The file's bytes; more than `limit` of them is an error (EFBIG).
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{64} << 20);
// Replaces the file or leaves it as it was, also after a power cut: temporary file beside it, fsync, rename,
// fsync of the folder. A link is followed; a device or pipe is written to.
Status write_file(const std::string& path, std::string_view data);
// Names in a folder without . and .., sorted.
Result<std::vector<std::string>> list_folder(const std::string& path);
Result<std::string> read_link(const std::string& path);
// Creates the folder and those above it that are missing, with mode 0700.
Status make_folders(const std::string& path);

// Text only; nothing is looked up. "/a/./b/../c" -> "/a/c"; a relative path is put under `folder`.
std::string absolute(std::string_view path, std::string_view folder);
// "/a/b" -> "/a", "/a" -> "/", "a" -> "."
std::string folder_of(std::string_view path);
std::string current_folder();
// $NAME, or "" when it is not set.
std::string environment(const char* name);

}  // namespace sluice
