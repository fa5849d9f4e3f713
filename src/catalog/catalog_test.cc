// What is put comes back, whatever the bytes.
#include "catalog/catalog.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "catalog/test_support.h"

namespace sluice {
namespace {

constexpr auto kRead = Catalog::Mode::read;
constexpr auto kWrite = Catalog::Mode::write;

PlaceRow place(const std::string& id, std::int64_t seen = 1) {
  return {.id = id, .name = "n-" + id, .path = "/mnt/" + id, .traits = R"({"a":1})", .seen = seen};
}

// The same tests with each journal.
class CatalogRows : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Catalog> open(Catalog::Mode mode = kWrite) {
    return test::open(folder_ / "c.db", mode, {.network = GetParam()});
  }
  test::TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Journals, CatalogRows, testing::Bool(),
                         [](const auto& row) { return row.param ? "Rollback" : "Wal"; });

TEST_P(CatalogRows, NothingIsThereAtFirst) {
  const auto catalog = open();
  EXPECT_EQ(catalog->find_place("x").value(), std::nullopt);
  EXPECT_EQ(catalog->find_file("/x").value(), std::nullopt);
  EXPECT_TRUE(catalog->places().value().empty());
  EXPECT_TRUE(catalog->files().value().empty());
  EXPECT_EQ(catalog->promised("x").value(), 0U);
  EXPECT_TRUE(catalog->remove_file("/x"));
  EXPECT_TRUE(catalog->put_places({}));
  EXPECT_EQ(catalog->find_profile("x").value(), std::nullopt);
  EXPECT_TRUE(catalog->profiles().value().empty());
}

TEST_P(CatalogRows, TheLastProfileOfAPlaceComesBack) {
  auto catalog = open();
  const ProfileRow first{.place = "b\n\xff", .taken = 1, .body = "{}"};
  const ProfileRow second{.place = first.place, .taken = 2, .body = std::string(100'000, 'x')};
  ASSERT_TRUE(catalog->put_profile(first));
  ASSERT_TRUE(catalog->put_profile({.place = "a", .taken = 3, .body = ""}));
  ASSERT_TRUE(catalog->put_profile(second));
  catalog.reset();
  catalog = open(kRead);
  EXPECT_EQ(catalog->find_profile(second.place).value(), second);
  EXPECT_EQ(catalog->profiles().value(), (std::vector<std::string>{"a", second.place}));
  EXPECT_EQ(test::raw_sql(folder_ / "c.db", "SELECT taken FROM readable_profiles WHERE place = 'a'"),
            "1970-01-01 00:00:03\n");
}

OutcomeRow outcome(const std::string& place, std::int64_t measured, const std::string& mode = "direct") {
  return {.run = 0,
          .taken = 1000 + measured,
          .program = "p\n\xff",
          .place = place,
          .operation = "write",
          .mode = mode,
          .pattern = "random",
          .request = 4096,
          .bytes = ~std::uint64_t{0},
          .modelled = 1,
          .predicted = 2,
          .measured = measured};
}

std::vector<std::pair<std::int64_t, std::int64_t>> runs_and_times(Catalog& catalog) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  const std::vector<OutcomeRow> rows = catalog.outcomes().value();
  for (const OutcomeRow& row : rows) {
    out.emplace_back(row.run, row.measured);
  }
  return out;
}

TEST_P(CatalogRows, OutcomesComeBackWithTheNumberOfTheirRun) {
  auto catalog = open();
  ASSERT_TRUE(catalog->add_outcomes({outcome("b\n\xff", 1), outcome("a", 2)}, 0));
  ASSERT_TRUE(catalog->add_outcomes({outcome("a", 3, "synced")}, 0));
  catalog.reset();
  catalog = open(kRead);
  const std::vector<OutcomeRow> all = catalog->outcomes().value();
  ASSERT_EQ(all.size(), 3U);
  OutcomeRow first = outcome("b\n\xff", 1);
  first.run = 1;
  EXPECT_EQ(all[0], first);
  EXPECT_EQ(runs_and_times(*catalog),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 2}, {2, 3}}));
  catalog = open();
  ASSERT_TRUE(catalog->forget_outcomes("a"));
  ASSERT_TRUE(catalog->forget_outcomes("nobody"));
  EXPECT_EQ(runs_and_times(*catalog), (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}}));
}

TEST_P(CatalogRows, OnlyTheLatestOutcomesAreKept) {
  const auto catalog = open();
  std::vector<OutcomeRow> many(70, outcome("a", 1));
  many.push_back(outcome("b", 2));
  many.push_back(outcome("a", 3, "synced"));
  ASSERT_TRUE(catalog->add_outcomes(many, 0));
  EXPECT_EQ(catalog->outcomes().value().size(), 66U);
  ASSERT_TRUE(catalog->add_outcomes({outcome("a", 4)}, 0));
  const std::vector<OutcomeRow> left = catalog->outcomes().value();
  EXPECT_EQ(left.size(), 66U);
  EXPECT_EQ(std::count_if(left.begin(), left.end(), [](const OutcomeRow& row) { return row.measured == 4; }),
            1);
  // Those that are too old go, whoever they belong to.
  ASSERT_TRUE(catalog->add_outcomes({outcome("a", 5)}, 1003));
  EXPECT_EQ(runs_and_times(*catalog), (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 4}, {3, 5}}));
  // A place of its own each: there is an end as well.
  many.clear();
  for (int i = 0; i < 2100; ++i) {
    many.push_back(outcome("p" + std::to_string(i), 6));
  }
  ASSERT_TRUE(catalog->add_outcomes(many, 0));
  EXPECT_EQ(catalog->outcomes().value().size(), 2048U);
}

PlacementRow placement(const std::string& path) {
  return {.path = path,
          .target = "/fast/\xff",
          .place = "nvme",
          .intent = "temp",
          .kind = "new",
          .state = "placing",
          .since = 5,
          .size = ~std::uint64_t{0},
          .checksum = "",
          .aside = ".a\n",
          .facts = "{}"};
}

TEST_P(CatalogRows, APlacementHasItsPromise) {
  auto catalog = open();
  PlacementRow row = placement("/a\n\xff");
  ASSERT_TRUE(catalog->add_placement(row, 100));
  ASSERT_TRUE(catalog->add_placement(placement("/b"), 10));
  EXPECT_EQ(catalog->promised("nvme").value(), 110U);
  EXPECT_EQ(catalog->find_file(row.path).value(),
            (FileRow{.path = row.path, .intent = "temp", .place = "nvme", .promised = 100}));
  row.state = "placed";
  ASSERT_TRUE(catalog->put_placement(row, std::nullopt));
  EXPECT_EQ(catalog->promised("nvme").value(), 110U);
  ASSERT_TRUE(catalog->put_placement(row, 1));
  EXPECT_EQ(catalog->promised("nvme").value(), 11U);
  catalog.reset();
  catalog = open(kRead);
  EXPECT_EQ(catalog->find_placement(row.path).value(), row);
  EXPECT_EQ(catalog->placements().value(), (std::vector{row, placement("/b")}));
  catalog = open();
  ASSERT_TRUE(catalog->remove_placement(row.path));
  ASSERT_TRUE(catalog->remove_placement(row.path));
  EXPECT_EQ(catalog->find_placement(row.path).value(), std::nullopt);
  EXPECT_EQ(catalog->find_file(row.path).value(), std::nullopt);
  EXPECT_EQ(catalog->promised("nvme").value(), 10U);
}

TEST_P(CatalogRows, APathIsPlacedOnce) {
  const auto catalog = open();
  ASSERT_TRUE(catalog->add_placement(placement("/a"), 100));
  PlacementRow other = placement("/a");
  other.target = "/other";
  const Status again = catalog->add_placement(other, 1);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().number, EEXIST);
  EXPECT_EQ(catalog->find_placement("/a").value(), placement("/a"));
  EXPECT_EQ(catalog->promised("nvme").value(), 100U);
}

TEST_P(CatalogRows, APlacementGetsAnotherPathWithItsPromise) {
  const auto catalog = open();
  ASSERT_TRUE(catalog->add_placement(placement("/a"), 100));
  ASSERT_TRUE(catalog->add_placement(placement("/b"), 10));
  ASSERT_TRUE(catalog->put_file({.path = "/c", .intent = "", .place = "", .promised = 0}));
  EXPECT_EQ(catalog->rename_placement("/a", "/b").error().number, EEXIST);
  EXPECT_EQ(catalog->rename_placement("/d", "/e").error().number, ENOENT);
  ASSERT_TRUE(catalog->rename_placement("/a", "/c"));
  EXPECT_EQ(catalog->placements().value(), (std::vector{placement("/b"), placement("/c")}));
  EXPECT_EQ(catalog->find_file("/c").value()->promised, 100U);
  EXPECT_EQ(catalog->find_file("/a").value(), std::nullopt);
  EXPECT_EQ(catalog->promised(placement("/a").place).value(), 110U);
}

TEST_P(CatalogRows, OneAtATimeWorksOnAPlacement) {
  const auto catalog = open();
  const auto other = open();
  auto lock = catalog->lock_placement("/a");
  ASSERT_TRUE(lock);
  for (const auto& one : {catalog.get(), other.get()}) {
    const auto second = one->lock_placement("/a");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().number, EAGAIN);
  }
  EXPECT_TRUE(other->lock_placement("/b"));
  lock->reset();
  EXPECT_TRUE(other->lock_placement("/a"));
}

TEST_P(CatalogRows, PlacesComeBackSortedAndReplaced) {
  auto catalog = open();
  ASSERT_TRUE(catalog->put_places({place("b"), place("a")}));
  ASSERT_TRUE(catalog->put_places({place("b", 2)}));
  ASSERT_TRUE(catalog->put_places({place("b", 2)}));
  const std::vector<PlaceRow> expected = {place("a"), place("b", 2)};
  EXPECT_EQ(catalog->places().value(), expected);
  EXPECT_EQ(catalog->find_place("b").value(), place("b", 2));
  catalog.reset();
  EXPECT_EQ(open(kRead)->places().value(), expected);
}

TEST_P(CatalogRows, EveryByteComesBack) {
  std::string bytes = "/";
  for (int byte = 1; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  const std::string with_nul("a\0b", 3);
  const std::string odd = "\xff\xfe'\"\n%_";
  const std::string longest = "/" + std::string(4095, 'x');
  const auto catalog = open();
  const std::vector<FileRow> rows = {
      {.path = bytes, .intent = odd, .place = odd, .promised = 5},
      {.path = longest, .intent = with_nul, .place = "", .promised = 0},
      {.path = "", .intent = "", .place = "", .promised = 1},
      {.path = "/caf\xc3\xa9", .intent = "", .place = with_nul, .promised = 2},
  };
  for (const FileRow& row : rows) {
    ASSERT_TRUE(catalog->put_file(row));
    EXPECT_EQ(catalog->find_file(row.path).value(), row);
  }
  EXPECT_EQ(catalog->files().value().size(), rows.size());
  EXPECT_EQ(catalog->promised(odd).value(), 5U);
  EXPECT_EQ(catalog->promised(with_nul).value(), 2U);
  const PlaceRow strange = {.id = bytes, .name = odd, .path = longest, .traits = with_nul, .seen = -1};
  ASSERT_TRUE(catalog->put_places({strange, place("")}));
  EXPECT_EQ(catalog->find_place(bytes).value(), strange);
  EXPECT_EQ(catalog->find_place("").value(), place(""));
}

TEST_P(CatalogRows, TextAndBytesOfTheSameKeyAreTheSameRow) {
  auto catalog = open();
  ASSERT_TRUE(catalog->put_file(test::file_row("/a")));
  EXPECT_EQ(catalog->find_file("/A").value(), std::nullopt);
  EXPECT_EQ(catalog->find_file("/a ").value(), std::nullopt);
  EXPECT_EQ(catalog->find_file(std::string_view("/a\0", 3)).value(), std::nullopt);
}

TEST_P(CatalogRows, ANulInAPathIsRefused) {
  const Status status = open()->put_file(test::file_row(std::string("/a\0b", 4)));
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().usage);
}

TEST_P(CatalogRows, LargeValuesComeBack) {
  const auto catalog = open();
  PlaceRow row = place("big", std::numeric_limits<std::int64_t>::min());
  row.traits.assign(std::size_t{8} << 20, 't');
  ASSERT_TRUE(catalog->put_places({row}));
  EXPECT_EQ(catalog->find_place("big").value(), row);
}

TEST_P(CatalogRows, PromisesAreUnsignedAndTheirSumIsCapped) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  const auto catalog = open();
  ASSERT_TRUE(catalog->put_file(test::file_row("/a", kLargest - 3)));
  EXPECT_EQ(catalog->find_file("/a").value()->promised, kLargest - 3);
  ASSERT_TRUE(catalog->put_file(test::file_row("/b", 3)));
  EXPECT_EQ(catalog->promised("nvme").value(), kLargest);
  ASSERT_TRUE(catalog->put_file(test::file_row("/c", 1)));
  EXPECT_EQ(catalog->promised("nvme").value(), kLargest);
  ASSERT_TRUE(catalog->remove_file("/a"));
  EXPECT_EQ(catalog->promised("nvme").value(), 4U);
  ASSERT_TRUE(catalog->put_file(test::file_row("/c", std::uint64_t{1} << 63)));
  EXPECT_EQ(catalog->promised("nvme").value(), (std::uint64_t{1} << 63) + 3);
  EXPECT_EQ(catalog->promised("other").value(), 0U);
}

TEST_P(CatalogRows, SumsFollowEveryChange) {
  const auto catalog = open();
  std::mt19937_64 random(7);
  std::map<std::string, FileRow> files;
  for (int i = 0; i < 80 * test::soak(); ++i) {
    FileRow row = test::file_row("/" + std::to_string(random() % 20), random() >> (random() % 64));
    row.place = std::string(1, static_cast<char>('a' + random() % 3));
    if (random() % 4 == 0) {
      ASSERT_TRUE(catalog->remove_file(row.path));
      files.erase(row.path);
    } else {
      row.promised = random() % 5 == 0 ? 0 : row.promised / 32;  // the sum of all fits
      ASSERT_TRUE(catalog->put_file(row));
      files[row.path] = row;
    }
    std::map<std::string, std::uint64_t> sums = {{"a", 0}, {"b", 0}, {"c", 0}};
    for (const auto& [path, file] : files) {
      sums[file.place] += file.promised;
    }
    for (const auto& [id, sum] : sums) {
      ASSERT_EQ(catalog->promised(id).value(), sum);
    }
  }
}

TEST_P(CatalogRows, ARowThatFailsTakesTheOthersWithIt) {
  const auto catalog = open();
  ASSERT_TRUE(catalog->put_places({place("a")}));
  test::raw_sql(
      folder_ / "c.db",
      "CREATE TRIGGER t BEFORE INSERT ON places WHEN NEW.id = x'62' BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_FALSE(catalog->put_places({place("a", 9), place("b"), place("c")}));
  EXPECT_EQ(catalog->places().value(), std::vector{place("a")});
  EXPECT_TRUE(catalog->put_places({place("c")}));
}

TEST_P(CatalogRows, TheJournalIsTheOneThatTheFileSystemBears) {
  const auto catalog = open();
  EXPECT_EQ(test::raw_sql(folder_ / "c.db", "PRAGMA journal_mode"), GetParam() ? "delete\n" : "wal\n");
}

TEST_P(CatalogRows, ReadingChangesNoRow) {
  ASSERT_TRUE(open()->put_file(test::file_row("/a")));
  const auto catalog = open(kRead);
  for (const Status& status : {catalog->put_file(test::file_row("/b")), catalog->remove_file("/a"),
                               catalog->put_places({place("a")}), catalog->put_profile({})}) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().text().find("opened for reading"), std::string::npos);
  }
  EXPECT_EQ(catalog->files().value(), std::vector{test::file_row("/a")});
}

TEST_P(CatalogRows, AReaderSeesWhatIsWrittenLater) {
  const auto writer = open();
  const auto reader = open(kRead);
  ASSERT_TRUE(writer->put_file(test::file_row("/a")));
  EXPECT_TRUE(reader->find_file("/a").value());
}

TEST_P(CatalogRows, ReadingDoesNotCreate) {
  EXPECT_EQ(open(kRead), nullptr);
  test::write_text(folder_ / "c.db", "");
  EXPECT_EQ(open(kRead), nullptr);  // somebody is just creating it
  EXPECT_EQ(std::filesystem::file_size(folder_ / "c.db"), 0U);
}

TEST_P(CatalogRows, ClosedCatalogsAreOneFile) {
  ASSERT_TRUE(open()->put_file(test::file_row("/a")));
  ASSERT_TRUE(open(kRead)->files());
  const auto entries = std::filesystem::directory_iterator(folder_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_P(CatalogRows, TheDescriptionNamesTheFile) {
  EXPECT_EQ(open()->description(), "SQLite catalog '" + (folder_ / "c.db") + "'");
}

TEST_P(CatalogRows, SqliteAloneReadsIt) {
  const auto catalog = open();
  ASSERT_TRUE(catalog->put_file(test::file_row("/a", std::numeric_limits<std::uint64_t>::max())));
  ASSERT_TRUE(catalog->put_places({place("nvme", 86'400)}));
  EXPECT_EQ(
      test::raw_sql(folder_ / "c.db",
                    "SELECT path || ' ' || intent || ' ' || place || ' ' || promised FROM readable_files"),
      "/a sequential write nvme 18446744073709551615\n");
  EXPECT_EQ(test::raw_sql(folder_ / "c.db",
                          "SELECT id || ' ' || name || ' ' || path || ' ' || seen FROM readable_places"),
            "nvme n-nvme /mnt/nvme 1970-01-02 00:00:00\n");
}

TEST(CatalogPlan, EveryLookUpUsesAnIndex) {
  const test::TemporaryFolder folder;
  test::open(folder / "c.db").reset();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "c.db").c_str(), &handle), SQLITE_OK);
  for (const char* sql : {"SELECT * FROM places WHERE id = ?1", "SELECT * FROM files WHERE path = ?1",
                          "SELECT high, low FROM promises WHERE place = ?1"}) {
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(handle, (std::string("EXPLAIN QUERY PLAN ") + sql).c_str(), -1, &statement,
                                 nullptr),
              SQLITE_OK);
    ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::string plan(static_cast<const char*>(sqlite3_column_blob(statement, 3)));
    EXPECT_TRUE(plan.starts_with("SEARCH")) << plan;
    sqlite3_finalize(statement);
  }
  sqlite3_close(handle);
}

}  // namespace
}  // namespace sluice
