// Opening: from the location that a user gives to a catalog that is known to be sound, ours and up to date.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/sys.h"
#include "base/text.h"
#include "catalog/location.h"
#include "catalog/schema.h"
#include "catalog/sqlite.h"
#include "catalog/sqlite_catalog.h"
#include "catalog/sqlite_error.h"

namespace sluice {
namespace {

// Whether there is a file to open. A folder, a device, a pipe: an error.
Result<bool> has_file(const std::string& path) {
  // First -wal, then the file: a catalog gets its first page before it gets a -wal, so a -wal with rows and a
  // file without any is a lost file, and SQLite would throw the rows in the -wal away.
  struct stat wal = {};
  const bool rows_in_wal = sys().stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0;
  struct stat about = {};
  const bool found = sys().stat(path.c_str(), &about) == 0;
  if (!found && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot look at catalog {}", quote(path)));
  }
  if (found && !S_ISREG(about.st_mode)) {
    return fail(S_ISDIR(about.st_mode) ? EISDIR : EINVAL,
                fmt::format("cannot open catalog {}, it is not a regular file", quote(path)))
        .advise("give the path of a file in SLUICE_CATALOG");
  }
  if (rows_in_wal && (!found || about.st_size == 0)) {
    return fail(
        fmt::format("catalog {} is damaged (the file is {}, but {} holds data)", quote(path),
                    found ? "empty" : "gone", quote(path + "-wal")),
        "nothing was changed; restore the file, or move the -wal away too, and a new one will be made");
  }
  return found;
}

// Opens for reading where SQLite cannot have its files beside the catalog: a read-only medium or folder.
Status open_immutable(Database& database, const std::string& path, Duration patience, Error first) {
  if (check_writable(path)) {
    return first;  // not for want of permission
  }
  struct stat wal = {};
  if (sys().stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0) {
    return fail(fmt::format("cannot read catalog {}, newer rows are in {} and cannot be merged here",
                            quote(path), quote(path + "-wal")),
                "copy the catalog and its -wal to a writable folder and give that path in SLUICE_CATALOG");
  }
  database.close();
  return database.open(path, Database::Access::immutable, patience);
}

Result<std::unique_ptr<Catalog>> open_for_reading(const std::string& path, const SqliteOptions& options) {
  auto catalog = std::make_unique<SqliteCatalog>();
  Database& database = catalog->database();
  SLUICE_CHECK(database.open(path, Database::Access::read, options.patience));
  Result<Kind> kind = identify(database);
  if (!kind && (kind.error().number == EACCES || kind.error().number == EROFS ||
                kind.error().number == EPERM || kind.error().number == ENOENT)) {
    SLUICE_CHECK(open_immutable(database, path, options.patience, std::move(kind).error()));
    SLUICE_CHECK(catalog->watch_file());
    kind = identify(database);
  }
  if (!kind) {
    return std::move(kind).error();
  }
  if (*kind == Kind::empty) {
    return std::unique_ptr<Catalog>();
  }
  if (*kind == Kind::older) {
    return fail(fmt::format("catalog {} was made by an older Sluice and is not brought up to date by reading",
                            quote(path)),
                "run a command that writes to it, such as 'sluice places', once");
  }
  database.merge_on_close(true);
  SLUICE_CHECK(check_tables(database));
  return std::unique_ptr<Catalog>(std::move(catalog));
}

Result<std::unique_ptr<Catalog>> open_for_writing(const std::string& path, const SqliteOptions& options) {
  SLUICE_CHECK(check_writable(path));
  SLUICE_CHECK(create_file(path));
  auto catalog = std::make_unique<SqliteCatalog>();
  Database& database = catalog->database();
  SLUICE_CHECK(database.open(path, Database::Access::write, options.patience));
  if (database.is_read_only()) {
    SLUICE_CHECK(check_writable(path));
    return fail(EROFS, fmt::format("cannot write catalog {}", quote(path)));
  }
  // With a rollback journal only EXTRA also syncs the folder after the commit, without which a power cut can
  // undo it. With WAL it is the same as FULL.
  SLUICE_CHECK(database.run("PRAGMA synchronous = EXTRA"));
  // Not one byte is written before the file is known to be ours.
  SLUICE_TRY(const Kind kind, identify(database));
  if (kind != Kind::current) {
    SLUICE_CHECK(migrate(database));
  }
  SLUICE_CHECK(database.set_journal(options.network ? "delete" : "wal"));
  database.merge_on_close(true);
  SLUICE_CHECK(check_tables(database));
  return std::unique_ptr<Catalog>(std::move(catalog));
}

}  // namespace

Result<std::unique_ptr<Catalog>> open_sqlite(const std::string& path, Catalog::Mode mode,
                                             const SqliteOptions& options) {
  SLUICE_TRY(const bool found, has_file(path));
  if (mode == Catalog::Mode::write) {
    return open_for_writing(path, options);
  }
  return found ? open_for_reading(path, options) : std::unique_ptr<Catalog>();
}

Result<std::unique_ptr<Catalog>> open_catalog(const std::string& location, Catalog::Mode mode,
                                              Duration patience) {
  const std::string start = lower(location.substr(0, 16));
  if (start.starts_with("postgres://") || start.starts_with("postgresql://")) {
    // Without the rest of the URL, which may hold a password.
    return bad_input("a catalog in PostgreSQL is not supported yet", "give a path");
  }
  std::string path = location;
  if (path.empty()) {
    SLUICE_TRY(path, default_catalog_path());
  }
  SLUICE_TRY(const std::optional<CatalogFile> file, locate_catalog(path, mode));
  if (!file) {
    return std::unique_ptr<Catalog>();
  }
  return open_sqlite(file->path, mode, {.network = file->network, .patience = patience});
}

}  // namespace sluice
