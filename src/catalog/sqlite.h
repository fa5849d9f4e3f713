// The catalog in an SQLite file. open_catalog() is what others use; this header is for it and for the tests.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"

namespace sluice {

struct SqliteOptions {
  bool network = false;      // rollback journal instead of WAL
  Duration patience{10, 0};  // how long a call waits for other processes
};

// Opens the catalog file `path`: absolute and free of symbolic links, in an existing folder. Otherwise as
// open_catalog().
Result<std::unique_ptr<Catalog>> open_sqlite(const std::string& path, Catalog::Mode mode,
                                             const SqliteOptions& options = {});

}  // namespace sluice
