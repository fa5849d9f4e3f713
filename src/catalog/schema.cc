#include "catalog/schema.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/text.h"
#include "catalog/location.h"

namespace sluice {
namespace {

// Ids, names and paths are bytes, hence BLOB; seen is in seconds since 1970; promised is an unsigned 64-bit
// count kept in a signed column bit by bit. files.place has no foreign key: a row that guards data must be
// recordable also when the place it names is not described (yet, or any more). places keeps its rowid because
// traits are too long for an index page. promises holds the sum of promised for each place, in halves because
// SQLite adds only signed numbers; triggers keep it, so that it is also right after a change by hand.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE places (
  id BLOB NOT NULL PRIMARY KEY,
  name BLOB NOT NULL,
  path BLOB NOT NULL,
  traits TEXT NOT NULL,
  seen INTEGER NOT NULL
) STRICT;

CREATE TABLE files (
  path BLOB NOT NULL PRIMARY KEY,
  intent TEXT NOT NULL,
  place BLOB NOT NULL,
  promised INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE promises (
  place BLOB NOT NULL PRIMARY KEY,
  high INTEGER NOT NULL,
  low INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER files_inserted AFTER INSERT ON files WHEN NEW.promised <> 0 BEGIN
  INSERT INTO promises VALUES (NEW.place, (NEW.promised >> 32) & 4294967295, NEW.promised & 4294967295)
    ON CONFLICT (place) DO UPDATE SET high = high + excluded.high, low = low + excluded.low;
END;

CREATE TRIGGER files_deleted AFTER DELETE ON files WHEN OLD.promised <> 0 BEGIN
  UPDATE promises SET high = high - ((OLD.promised >> 32) & 4294967295), low = low - (OLD.promised & 4294967295)
    WHERE place = OLD.place;
END;

CREATE TRIGGER files_updated AFTER UPDATE OF place, promised ON files BEGIN
  UPDATE promises SET high = high - ((OLD.promised >> 32) & 4294967295), low = low - (OLD.promised & 4294967295)
    WHERE place = OLD.place;
  INSERT INTO promises VALUES (NEW.place, (NEW.promised >> 32) & 4294967295, NEW.promised & 4294967295)
    ON CONFLICT (place) DO UPDATE SET high = high + excluded.high, low = low + excluded.low;
END;

CREATE VIEW readable_places AS
  SELECT CAST(id AS TEXT) AS id, CAST(name AS TEXT) AS name, CAST(path AS TEXT) AS path, traits,
         datetime(seen, 'unixepoch') AS seen
  FROM places;

CREATE VIEW readable_files AS
  SELECT CAST(path AS TEXT) AS path, intent, CAST(place AS TEXT) AS place, printf('%u', promised) AS promised
  FROM files;
)sql";

// Bodies are long, hence a rowid: the index on place is then small enough to be read as a list of places.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE profiles (
  place BLOB NOT NULL PRIMARY KEY,
  taken INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE VIEW readable_profiles AS
  SELECT CAST(place AS TEXT) AS place, datetime(taken, 'unixepoch') AS taken, body
  FROM profiles;
)sql";

constexpr const char* kVersion3 = R"sql(
CREATE TABLE placements (
  path BLOB NOT NULL PRIMARY KEY,
  target BLOB NOT NULL,
  place BLOB NOT NULL,
  intent TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  since INTEGER NOT NULL,
  size INTEGER NOT NULL,
  checksum TEXT NOT NULL,
  aside BLOB NOT NULL,
  facts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE VIEW readable_placements AS
  SELECT CAST(path AS TEXT) AS path, CAST(target AS TEXT) AS target, CAST(place AS TEXT) AS place, intent, kind,
         state, datetime(since, 'unixepoch') AS since, printf('%u', size) AS size, checksum,
         CAST(aside AS TEXT) AS aside, facts
  FROM placements;
)sql";

// Times are whole nanoseconds. The number that rises is what says which rows are the latest, whatever the
// clock says.
constexpr const char* kVersion4 = R"sql(
CREATE TABLE outcomes (
  number INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  taken INTEGER NOT NULL,
  program BLOB NOT NULL,
  place BLOB NOT NULL,
  operation TEXT NOT NULL,
  mode TEXT NOT NULL,
  pattern TEXT NOT NULL,
  request INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  modelled INTEGER NOT NULL,
  predicted INTEGER NOT NULL,
  measured INTEGER NOT NULL
) STRICT;

CREATE VIEW readable_outcomes AS
  SELECT run, datetime(taken, 'unixepoch') AS taken, CAST(program AS TEXT) AS program,
         CAST(place AS TEXT) AS place, operation, mode, pattern, printf('%u', request) AS request,
         printf('%u', bytes) AS bytes, modelled / 1e9 AS modelled, predicted / 1e9 AS predicted,
         measured / 1e9 AS measured
  FROM outcomes;
)sql";

constexpr std::array kMigrations = {kVersion1, kVersion2, kVersion3, kVersion4};

struct Header {
  std::int64_t application = 0;
  std::int64_t version = 0;
  std::int64_t objects = 0;
};

// REQUIRES: a transaction, or the three may come from different moments.
Result<Header> read_header(Database& database) {
  SLUICE_TRY(const std::int64_t application, database.number("PRAGMA application_id"));
  SLUICE_TRY(const std::int64_t version, database.number("PRAGMA user_version"));
  SLUICE_TRY(const std::int64_t objects, database.number("SELECT count(*) FROM sqlite_schema"));
  return Header{.application = application, .version = version, .objects = objects};
}

Result<Kind> judge(const Database& database, const Header& header, std::size_t newest) {
  const std::string path = quote(database.path());
  if (header.application != kApplicationId) {
    if (header.application == 0 && header.version == 0 && header.objects == 0) {
      return Kind::empty;
    }
    return fail(fmt::format("{} is an SQLite database of another program, not a Sluice catalog", path),
                "it was left as it is; give another path in SLUICE_CATALOG");
  }
  if (header.version < 1) {
    return fail(fmt::format("catalog {} is damaged: it has schema version {}", path, header.version),
                "it was left as it is; move it away, and a new one will be made");
  }
  if (header.version > static_cast<std::int64_t>(newest)) {
    return fail(
        fmt::format("catalog {} was made by a newer Sluice: it has schema version {}, and this program "
                    "knows up to {}",
                    path, header.version, newest),
        "use that Sluice, or give another path in SLUICE_CATALOG");
  }
  return header.version == static_cast<std::int64_t>(newest) ? Kind::current : Kind::older;
}

}  // namespace

std::span<const char* const> migrations() {
  return kMigrations;
}

Result<Kind> identify(Database& database, std::span<const char* const> steps) {
  SLUICE_TRY(Transaction transaction, Transaction::begin(database, "BEGIN"));
  SLUICE_TRY(const Header header, read_header(database));
  SLUICE_CHECK(transaction.commit());
  return judge(database, header, steps.size());
}

Status migrate(Database& database, std::span<const char* const> steps) {
  SLUICE_TRY(Transaction transaction, Transaction::begin(database, "BEGIN EXCLUSIVE"));
  SLUICE_TRY(const Header header, read_header(database));
  SLUICE_TRY(const Kind kind, judge(database, header, steps.size()));
  if (kind == Kind::current) {
    return {};  // another process did it meanwhile; nothing to roll back
  }
  if (kind == Kind::empty) {
    // No row can be written before this commits, so no row depends on a file name that a power cut undoes.
    SLUICE_CHECK(sync_folders_of(database.path()));
    SLUICE_CHECK(database.run(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str()));
  }
  for (auto version = static_cast<std::size_t>(header.version); version < steps.size(); ++version) {
    SLUICE_CHECK(database.run(steps[version]));
    SLUICE_CHECK(database.run(fmt::format("PRAGMA user_version = {}", version + 1).c_str()));
  }
  return transaction.commit();
}

Status check_tables(Database& database) {
  constexpr std::array tables = {"places", "files", "promises", "profiles", "placements", "outcomes"};
  SLUICE_TRY(const std::int64_t found,
             database.number(
                 fmt::format("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('{}')",
                             fmt::join(tables, "', '"))
                     .c_str()));
  for (std::size_t i = 0; found < static_cast<std::int64_t>(tables.size()) && i < tables.size(); ++i) {
    SLUICE_CHECK(database.run(fmt::format("SELECT 1 FROM {} LIMIT 1", tables[i]).c_str()));
  }
  return {};
}

}  // namespace sluice
