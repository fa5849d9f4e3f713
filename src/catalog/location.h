// Where the catalog's file is: the default path, symbolic links, folders, and whether the file system is a
// network one. Nothing here opens an existing database file: see create_file().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"

namespace sluice {

// Whether a file system with this statfs f_type may be shared between machines, so that WAL's shared memory
// cannot be trusted on it. FUSE counts: what is behind it cannot be told.
bool is_network_file_system(std::uint32_t f_type);

// "/a/catalog.db", "n7" -> "/a/catalog-n7.db"
std::string per_host_path(std::string_view path, std::string_view host);

// follow_links() of base/trust.h, with what to do about it.
Result<std::string> resolve_links(const std::string& path);

struct CatalogFile {
  std::string path;  // absolute, without symbolic links
  bool network = false;
};

// The file for a location (a path, not empty). EPERM where another user can write it, its folder, or put
// another in its place: what a catalog says is done. Mode::write creates its folders; Mode::read gives
// nothing when a folder is missing.
Result<std::optional<CatalogFile>> locate_catalog(const std::string& location, Catalog::Mode mode);

// Creates an empty file with mode 0600 unless there is one. An existing file is not opened: closing a
// descriptor drops every POSIX lock that this process holds on the file, also those of an open catalog.
Status create_file(const std::string& path);

// Makes the names of the file and of the folders above it durable, as far as this user may.
Status sync_folders_of(const std::string& path);

}  // namespace sluice
