// Whole files and folders, through the system-call table. Paths are bytes and may be of any length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// The file's bytes; more than `limit` of them is an error (EFBIG).
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{64} << 20);
// All of it, where the descriptor is; the path is for messages.
Status write_all(int fd, std::string_view data, const std::string& path);
// Replaces the file or leaves it as it was, also after a power cut: temporary file beside it, fsync, rename,
// fsync of the folder. A link is followed; a device or pipe is written to.
Status write_file(const std::string& path, std::string_view data);
// Makes the file; one that is there already is EEXIST, and one that cannot be written whole is not left.
Status create_file(const std::string& path, std::string_view data);
// Names in a folder without . and .., sorted.
Result<std::vector<std::string>> list_folder(const std::string& path);
Result<std::string> read_link(const std::string& path);
// Where the program that runs is, to start it again.
Result<std::string> own_program();
// Creates the folder and those above it that are missing, with mode 0700.
Status make_folders(const std::string& path);

// "/a/./b/../c" -> "/a/c", or, where b is a link, c beside what it leads to, as the kernel has it: a link is
// looked up only before "..". A relative path is put under `folder`.
std::string absolute(std::string_view path, std::string_view folder);
// "/a/b" -> "/a", "/a" -> "/", "a" -> "."
std::string folder_of(std::string_view path);
std::string current_folder();
// $NAME, or "" when it is not set, and in a set-uid program, where it is the word of whoever started that.
std::string environment(const char* name);

}  // namespace sluice
