// What an SQLite result code means for the user of a catalog: the cause, and what to do about it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

struct sqlite3;

namespace sluice {

// `code` is what a call on `handle` (may be null when opening failed) just returned.
Error sqlite_error(sqlite3* handle, int code, const std::string& path, bool writing, Duration patience);

// Why this user cannot change the catalog's file or its folder, or nothing when he can.
Status check_writable(const std::string& path);

}  // namespace sluice
