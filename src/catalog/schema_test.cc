#include "catalog/schema.h"

#include <array>

#include "base/files.h"
#include "catalog/test_support.h"

namespace sluice {
namespace {

constexpr auto kRead = Catalog::Mode::read;
constexpr auto kWrite = Catalog::Mode::write;
constexpr Duration kPatience{10, 0};

// A catalog as version 1 wrote it. Frozen: it is what users have. Never change it, whatever the schema
// becomes.
constexpr const char* kFrozenVersion1 = R"sql(
PRAGMA application_id = 1397511497;
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
INSERT INTO places VALUES (x'6e766d65', x'66617374', x'2f6d6e742fff', '{"kind":"nvme"}', 1700000000);
INSERT INTO files VALUES (x'2f612f0a', 'sequential write', x'6e766d65', -1);
INSERT INTO files VALUES (x'2f62', '', x'', 0);
PRAGMA user_version = 1;
)sql";

const PlaceRow kFrozenPlace = {
    .id = "nvme", .name = "fast", .path = "/mnt/\xff", .traits = R"({"kind":"nvme"})", .seen = 1'700'000'000};
const std::vector<FileRow> kFrozenFiles = {
    {.path = "/a/\n", .intent = "sequential write", .place = "nvme", .promised = ~std::uint64_t{0}},
    {.path = "/b", .intent = "", .place = "", .promised = 0}};

std::string schema_text(const std::string& path) {
  return test::raw_sql(path, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name");
}

TEST(CatalogSchema, VersionOneIsStillRead) {
  const test::TemporaryFolder folder;
  for (const char* journal : {"PRAGMA journal_mode = wal;", "PRAGMA journal_mode = delete;"}) {
    const std::string path = folder / journal;
    test::raw_sql(path, std::string(journal) + kFrozenVersion1);
    auto catalog = test::open(path, kWrite);
    EXPECT_EQ(catalog->places().value(), std::vector{kFrozenPlace});
    EXPECT_EQ(catalog->files().value(), kFrozenFiles);
    catalog = test::open(path, kRead);
    EXPECT_EQ(catalog->files().value(), kFrozenFiles);
    EXPECT_EQ(test::raw_sql(path, "PRAGMA user_version"), std::to_string(migrations().size()) + "\n");
  }
}

// What version 2 adds to it. Frozen likewise.
constexpr const char* kFrozenVersion2 = R"sql(
CREATE TABLE profiles (
  place BLOB NOT NULL PRIMARY KEY,
  taken INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE VIEW readable_profiles AS
  SELECT CAST(place AS TEXT) AS place, datetime(taken, 'unixepoch') AS taken, body
  FROM profiles;
INSERT INTO profiles VALUES (x'6e766d65', 1700000001, '{"kept":1}');
PRAGMA user_version = 2;
)sql";

TEST(CatalogSchema, VersionOneGetsProfiles) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", kFrozenVersion1);
  const auto catalog = test::open(folder / "c.db", kWrite);
  EXPECT_TRUE(catalog->profiles().value().empty());
  const ProfileRow row{.place = "nvme", .taken = 5, .body = "{}"};
  ASSERT_TRUE(catalog->put_profile(row));
  EXPECT_EQ(catalog->find_profile("nvme").value(), row);
  EXPECT_EQ(catalog->files().value(), kFrozenFiles);
}

TEST(CatalogSchema, VersionTwoIsStillRead) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", std::string(kFrozenVersion1) + kFrozenVersion2);
  const auto catalog = test::open(folder / "c.db", kWrite);
  EXPECT_EQ(catalog->find_profile("nvme").value(),
            (ProfileRow{.place = "nvme", .taken = 1'700'000'001, .body = R"({"kept":1})"}));
  EXPECT_EQ(catalog->places().value(), std::vector{kFrozenPlace});
}

// What version 3 adds to it. Frozen likewise.
constexpr const char* kFrozenVersion3 = R"sql(
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
INSERT INTO placements VALUES (x'2f612f0a', x'2f6d6e742fff', x'6e766d65', 'temp', 'file', 'placed', 1700000002, -1,
                               'xxh3:00', x'', '{}');
PRAGMA user_version = 3;
)sql";

const PlacementRow kFrozenPlacement = {.path = "/a/\n",
                                       .target = "/mnt/\xff",
                                       .place = "nvme",
                                       .intent = "temp",
                                       .kind = "file",
                                       .state = "placed",
                                       .since = 1'700'000'002,
                                       .size = ~std::uint64_t{0},
                                       .checksum = "xxh3:00",
                                       .aside = "",
                                       .facts = "{}"};

TEST(CatalogSchema, VersionTwoGetsPlacements) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", std::string(kFrozenVersion1) + kFrozenVersion2);
  const auto catalog = test::open(folder / "c.db", kWrite);
  EXPECT_TRUE(catalog->placements().value().empty());
  ASSERT_TRUE(catalog->add_placement(kFrozenPlacement, 7));
  EXPECT_EQ(catalog->find_placement("/a/\n").value(), kFrozenPlacement);
  EXPECT_EQ(catalog->places().value(), std::vector{kFrozenPlace});
}

TEST(CatalogSchema, VersionThreeIsStillRead) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", std::string(kFrozenVersion1) + kFrozenVersion2 + kFrozenVersion3);
  const auto catalog = test::open(folder / "c.db", kWrite);
  EXPECT_EQ(catalog->placements().value(), std::vector{kFrozenPlacement});
  EXPECT_EQ(catalog->files().value(), kFrozenFiles);
}

// What version 4 adds to it. Frozen likewise.
constexpr const char* kFrozenVersion4 = R"sql(
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
INSERT INTO outcomes VALUES (9, 5, 1700000003, x'6464', x'6e766d65', 'write', 'direct', 'random', 4096, -1, 1, 2, 3);
PRAGMA user_version = 4;
)sql";

const OutcomeRow kFrozenOutcome = {.run = 5,
                                   .taken = 1'700'000'003,
                                   .program = "dd",
                                   .place = "nvme",
                                   .operation = "write",
                                   .mode = "direct",
                                   .pattern = "random",
                                   .request = 4096,
                                   .bytes = ~std::uint64_t{0},
                                   .modelled = 1,
                                   .predicted = 2,
                                   .measured = 3};

TEST(CatalogSchema, VersionThreeGetsOutcomes) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", std::string(kFrozenVersion1) + kFrozenVersion2 + kFrozenVersion3);
  const auto catalog = test::open(folder / "c.db", kWrite);
  EXPECT_TRUE(catalog->outcomes().value().empty());
  ASSERT_TRUE(catalog->add_outcomes({kFrozenOutcome}, 0));
  EXPECT_EQ(catalog->outcomes().value().at(0).run, 1);
  EXPECT_EQ(catalog->placements().value(), std::vector{kFrozenPlacement});
  EXPECT_EQ(catalog->places().value(), std::vector{kFrozenPlace});
}

TEST(CatalogSchema, VersionFourIsStillRead) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db",
                std::string(kFrozenVersion1) + kFrozenVersion2 + kFrozenVersion3 + kFrozenVersion4);
  const auto catalog = test::open(folder / "c.db", kWrite);
  EXPECT_EQ(catalog->outcomes().value(), std::vector{kFrozenOutcome});
  EXPECT_EQ(catalog->files().value(), kFrozenFiles);
}

TEST(CatalogSchema, TheMigrationsAreTheFrozenOnes) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "frozen.db", kFrozenVersion1);
  test::raw_sql(folder / "ours.db", migrations()[0]);
  EXPECT_EQ(schema_text(folder / "ours.db"), schema_text(folder / "frozen.db"));
  test::raw_sql(folder / "frozen.db", kFrozenVersion2);
  test::raw_sql(folder / "ours.db", migrations()[1]);
  EXPECT_EQ(schema_text(folder / "ours.db"), schema_text(folder / "frozen.db"));
  test::raw_sql(folder / "frozen.db", kFrozenVersion3);
  test::raw_sql(folder / "ours.db", migrations()[2]);
  EXPECT_EQ(schema_text(folder / "ours.db"), schema_text(folder / "frozen.db"));
  test::raw_sql(folder / "frozen.db", kFrozenVersion4);
  test::raw_sql(folder / "ours.db", migrations()[3]);
  EXPECT_EQ(schema_text(folder / "ours.db"), schema_text(folder / "frozen.db"));
}

class CatalogMigration : public testing::Test {
 protected:
  CatalogMigration() { test::raw_sql(path_, kFrozenVersion1); }

  Status migrate_with(const char* next) {
    Database database;
    SLUICE_CHECK(database.open(path_, Database::Access::write, kPatience));
    const std::array steps = {migrations()[0], next};
    return migrate(database, steps);
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "c.db";
};

TEST_F(CatalogMigration, AnOlderCatalogIsBroughtUpToDate) {
  ASSERT_TRUE(migrate_with("ALTER TABLE files ADD COLUMN note TEXT NOT NULL DEFAULT 'none'"));
  EXPECT_EQ(test::raw_sql(path_, "SELECT note FROM files"), "none\nnone\n");
  EXPECT_EQ(test::raw_sql(path_, "PRAGMA user_version"), "2\n");
  ASSERT_TRUE(migrate_with("never run again"));
}

TEST_F(CatalogMigration, AMigrationThatFailsChangesNothing) {
  EXPECT_FALSE(migrate_with("DELETE FROM files; this is not SQL"));
  EXPECT_EQ(test::raw_sql(path_, "PRAGMA user_version"), "1\n");
  EXPECT_EQ(test::open(path_)->files().value(), kFrozenFiles);
}

TEST_F(CatalogMigration, ReadingTellsOlderFromCurrent) {
  Database database;
  ASSERT_TRUE(database.open(path_, Database::Access::read, kPatience));
  EXPECT_EQ(identify(database).value(), Kind::older);
  EXPECT_EQ(identify(database, migrations().first(1)).value(), Kind::current);
}

TEST_F(CatalogMigration, AWriterThatIsOvertakenStops) {
  const auto catalog = test::open(path_);
  test::raw_sql(path_, "PRAGMA user_version = 77");
  const Status status = catalog->put_file(test::file_row("/new"));
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("newer Sluice"), std::string::npos) << status.error().text();
  EXPECT_EQ(test::raw_sql(path_, "SELECT count(*) FROM files"), "2\n");
}

TEST_F(CatalogMigration, ANewerCatalogIsRefusedInBothModes) {
  test::raw_sql(path_, "PRAGMA user_version = 77");
  for (const auto mode : {kRead, kWrite}) {
    const std::string text = test::open_error(path_, mode);
    EXPECT_NE(text.find("newer Sluice"), std::string::npos) << text;
    EXPECT_NE(text.find("77"), std::string::npos) << text;
    EXPECT_NE(text.find(path_), std::string::npos) << text;
  }
  EXPECT_EQ(test::raw_sql(path_, "SELECT count(*) FROM files"), "2\n");
}

TEST_F(CatalogMigration, ACatalogWithoutItsTablesIsDamaged) {
  test::raw_sql(path_, "DROP VIEW readable_files; DROP TABLE files");
  for (const auto mode : {kWrite, kRead}) {  // reading alone would find an older one
    EXPECT_NE(test::open_error(path_, mode).find("damaged (no such table: files)"), std::string::npos);
  }
}

TEST(CatalogForeign, OtherDatabasesAreLeftAlone) {
  const test::TemporaryFolder folder;
  const char* const kinds[] = {"CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)",
                               "PRAGMA user_version = 1",
                               "PRAGMA application_id = 7; PRAGMA user_version = 1",
                               "PRAGMA journal_mode = wal; CREATE TABLE theirs (a)"};
  for (const char* sql : kinds) {
    const std::string path = folder / "theirs.db";
    test::raw_sql(path, sql);
    const std::string before = read_file(path).value();
    for (const auto mode : {kRead, kWrite}) {
      const std::string text = test::open_error(path, mode);
      EXPECT_NE(text.find("another program"), std::string::npos) << text;
      EXPECT_NE(text.find(path), std::string::npos) << text;
    }
    EXPECT_EQ(read_file(path).value(), before) << sql;
    for (const char* end : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path + end);
    }
  }
}

TEST(CatalogCreation, ManyProcessesMayCreateItAtOnce) {
  for (int round = 0; round < 10 * test::soak(); ++round) {
    const test::TemporaryFolder folder;
    const bool network = round % 2 == 1;
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(test::start_child([&] {
        ::close(gate[1]);
        char byte = 0;
        EXPECT_EQ(::read(gate[0], &byte, 1), 0);  // all start when the parent closes its end
        const auto catalog = test::open(folder / "c.db", i % 3 == 2 ? kRead : kWrite, {.network = network});
        if (i % 3 != 2) {
          EXPECT_TRUE(catalog && catalog->put_file(test::file_row("/" + std::to_string(i))));
        }
        return 0;
      }));
    }
    ::close(gate[0]);
    ::close(gate[1]);
    for (const pid_t child : children) {
      EXPECT_EQ(test::wait_for(child), 0);
    }
    EXPECT_EQ(test::open(folder / "c.db", kRead)->files().value().size(), 4U);
  }
}

}  // namespace
}  // namespace sluice
