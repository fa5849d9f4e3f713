#include "catalog/database.h"

#include <sys/mman.h>

#include <thread>

#include "catalog/test_support.h"

namespace sluice {
namespace {

TEST(CatalogDatabase, AStatementThatCannotBePreparedIsAnErrorEachTime) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", "CREATE TABLE t (a)");
  Database database;
  ASSERT_TRUE(database.open(folder / "c.db", Database::Access::write, Duration(1, 0)));
  PreparedStatement statement{.sql = "INSERT INTO missing VALUES (?1)"};
  for (int i = 0; i < 2; ++i) {
    const Status used = Use(database, statement).bytes("value").finish();
    ASSERT_FALSE(used);
    EXPECT_NE(used.error().text().find("no such table: missing"), std::string::npos);
  }
}

TEST(CatalogDatabase, AValueTooLargeForSqliteIsAnError) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", "CREATE TABLE t (a)");
  Database database;
  ASSERT_TRUE(database.open(folder / "c.db", Database::Access::write, Duration(1, 0)));
  PreparedStatement statement{.sql = "INSERT INTO t VALUES (?1)"};
  // Reserved, not backed: SQLite must refuse before it reads.
  constexpr std::size_t kSize = std::size_t{3} << 30;
  void* region = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(region, MAP_FAILED);
  const std::string_view huge(static_cast<const char*>(region), kSize);
  EXPECT_EQ(Use(database, statement).bytes(huge).finish().error().number, EFBIG);
  EXPECT_EQ(Use(database, statement).text(huge).finish().error().number, EFBIG);
  munmap(region, kSize);
  EXPECT_EQ(database.number("SELECT count(*) FROM t").value(), 0);
}

TEST(CatalogDatabase, ATransactionThatIsDroppedIsRolledBack) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", "CREATE TABLE t (a)");
  Database database;
  ASSERT_TRUE(database.open(folder / "c.db", Database::Access::write, Duration(1, 0)));
  {
    const Transaction transaction = Transaction::begin(database, "BEGIN IMMEDIATE").value();
    ASSERT_TRUE(database.run("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(database.number("SELECT count(*) FROM t").value(), 0);
}

// SQLite itself does not wait in this case, though another process may just be doing the same.
TEST(CatalogDatabase, ANewJournalModeWaitsForOthers) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", "CREATE TABLE t (a)");
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "c.db").c_str(), &reader), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(reader, "BEGIN; SELECT * FROM t", nullptr, nullptr, nullptr), SQLITE_OK);
  Database database;
  ASSERT_TRUE(database.open(folder / "c.db", Database::Access::write, Duration(0, 20'000'000)));
  EXPECT_EQ(database.set_journal("wal").error().number, EBUSY);
  database.close();
  ASSERT_TRUE(database.open(folder / "c.db", Database::Access::write, Duration(10, 0)));
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    sqlite3_close(reader);
  });
  const Status changed = database.set_journal("wal");
  release.join();
  EXPECT_TRUE(changed);
  EXPECT_EQ(database.text("PRAGMA journal_mode").value(), "wal");
}

TEST(CatalogDatabase, AMissingFileIsNotCreated) {
  const test::TemporaryFolder folder;
  Database database;
  const Status status = database.open(folder / "c.db", Database::Access::write, Duration(1, 0));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().number, ENOENT) << status.error().text();
  EXPECT_FALSE(std::filesystem::exists(folder / "c.db"));
}

// A child that was forked in the middle of a change cannot close what it inherited without undoing the
// parent's work, and cannot lock anything while it is open.
TEST(CatalogDatabase, AForkInTheMiddleOfAChangeIsRefused) {
  const test::TemporaryFolder folder;
  test::raw_sql(folder / "c.db", "CREATE TABLE t (a)");
  Database database;
  ASSERT_TRUE(database.open(folder / "c.db", Database::Access::write, Duration(1, 0)));
  Transaction transaction = Transaction::begin(database, "BEGIN IMMEDIATE").value();
  ASSERT_TRUE(database.run("INSERT INTO t VALUES (1)"));
  EXPECT_EQ(test::in_child([&] {
              const std::string text = test::open_error(folder / "d.db", Catalog::Mode::write);
              EXPECT_NE(text.find("in the middle of a change"), std::string::npos) << text;
              return 0;
            }),
            0);
  ASSERT_TRUE(transaction.commit());
  EXPECT_EQ(database.number("SELECT count(*) FROM t").value(), 1);
}

}  // namespace
}  // namespace sluice
