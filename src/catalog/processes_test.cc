// Many processes on one catalog: what was acknowledged is there, also when writers are killed or fork.
#include <algorithm>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "catalog/test_support.h"

namespace sluice {
namespace {

constexpr auto kRead = Catalog::Mode::read;
constexpr auto kWrite = Catalog::Mode::write;

class CatalogProcesses : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] SqliteOptions options() const { return {.network = GetParam(), .patience = Duration(60, 0)}; }
  std::unique_ptr<Catalog> open(Catalog::Mode mode = kWrite) { return test::open(path_, mode, options()); }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "c.db";
};

INSTANTIATE_TEST_SUITE_P(Journals, CatalogProcesses, testing::Bool(),
                         [](const auto& row) { return row.param ? "Rollback" : "Wal"; });

std::string row_name(int writer, int i) {
  return "/" + std::to_string(writer) + "/" + std::to_string(i);
}

TEST_P(CatalogProcesses, EightWritersAndTwoReaders) {
  constexpr int kWriters = 8;
  // Rollback journals cost several syncs a row, so fewer rows.
  const int rows = (GetParam() ? 25 : 200) * test::soak();
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(test::start_child([&] {
      const auto catalog = open();
      for (int i = 0; catalog && i < rows; ++i) {
        const Status put = catalog->put_file(test::file_row(row_name(writer, i)));
        if (!put) {
          ADD_FAILURE() << put.error().text();
          return 1;
        }
      }
      return 0;
    }));
  }
  std::vector<pid_t> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.push_back(test::start_child([&] {
      std::uint64_t last = 0;
      while (last < static_cast<std::uint64_t>(kWriters * rows)) {
        const auto catalog = open(kRead);  // null until the first writer has created it
        for (int i = 0; catalog && i < 20; ++i) {
          const auto sum = catalog->promised("nvme");
          if (!sum || *sum < last) {
            ADD_FAILURE() << (sum ? "rows vanished" : sum.error().text());
            return 1;
          }
          last = *sum;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
      return 0;
    }));
  }
  bool good = true;
  for (const pid_t writer : writers) {
    const int status = test::wait_for(writer);
    EXPECT_EQ(status, 0);
    good = good && status == 0;
  }
  for (const pid_t reader : readers) {
    if (!good) {
      kill(reader, SIGKILL);
    }
    EXPECT_EQ(test::wait_for(reader), good ? 0 : 1000 + SIGKILL);
  }
  EXPECT_EQ(open(kRead)->files().value().size(), static_cast<std::size_t>(kWriters * rows));
  EXPECT_EQ(test::raw_sql(path_, "PRAGMA integrity_check"), "ok\n");
}

struct Acknowledged {
  int writer;
  int row;
};

// Promise 1: what was acknowledged survives kill -9.
TEST_P(CatalogProcesses, AcknowledgedRowsSurviveKill) {
  std::mt19937 random(4711);
  std::set<std::string> acknowledged;
  for (int round = 0; round < 8 * test::soak(); ++round) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    std::vector<pid_t> writers;
    for (int i = 0; i < 4; ++i) {
      const int writer = round * 4 + i;
      writers.push_back(test::start_child([&] {
        const auto catalog = open();
        for (int row = 0; catalog && catalog->put_file(test::file_row(row_name(writer, row))); ++row) {
          const Acknowledged note = {.writer = writer, .row = row};
          if (::write(pipes[1], &note, sizeof note) != sizeof note) {
            break;
          }
        }
        return 1;
      }));
    }
    ::close(pipes[1]);
    for (const pid_t writer : writers) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
      kill(writer, SIGKILL);
    }
    for (const pid_t writer : writers) {
      EXPECT_EQ(test::wait_for(writer), 1000 + SIGKILL);
    }
    Acknowledged note = {};
    while (::read(pipes[0], &note, sizeof note) == sizeof note) {
      acknowledged.insert(row_name(note.writer, note.row));
    }
    ::close(pipes[0]);
    if (round % 2 == 0) {
      continue;  // sometimes the next writers meet what the dead left
    }
    const auto catalog = open(kRead);
    std::set<std::string> present;
    if (catalog != nullptr) {
      const std::vector<FileRow> rows = catalog->files().value();
      for (const FileRow& row : rows) {
        present.insert(row.path);
      }
    }
    EXPECT_TRUE(std::includes(present.begin(), present.end(), acknowledged.begin(), acknowledged.end()));
    EXPECT_EQ(test::raw_sql(path_, "PRAGMA integrity_check"), "ok\n");
  }
  EXPECT_GT(acknowledged.size(), 10U);
}

TEST_P(CatalogProcesses, AnInheritedCatalogIsRefusedAndHarmless) {
  auto catalog = open();
  ASSERT_TRUE(catalog->put_file(test::file_row("/parent")));
  EXPECT_EQ(
      test::in_child([&] {
        for (const std::string& text :
             {catalog->put_file(test::file_row("/child")).error().text(), catalog->files().error().text(),
              catalog->find_file("/parent").error().text(), catalog->promised("nvme").error().text(),
              catalog->places().error().text(), catalog->find_place("x").error().text(),
              catalog->remove_file("/parent").error().text(), catalog->put_places({}).error().text()}) {
          EXPECT_NE(text.find("open it again after fork"), std::string::npos) << text;
        }
        catalog.reset();  // must not merge or remove the parent's -wal
        return 0;
      }),
      0);
  EXPECT_TRUE(catalog->put_file(test::file_row("/later")));
  catalog.reset();
  EXPECT_EQ(open()->files().value().size(), 2U);
}

// SQLite's record of locks is inherited, the locks are not: a child that opened the catalog again was
// unlocked, and its rows went to a -wal that the parent had removed.
TEST_P(CatalogProcesses, AChildThatOpensAgainHasLocksOfItsOwn) {
  auto catalog = open();
  ASSERT_TRUE(catalog->put_file(test::file_row("/parent")));
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = test::start_child([&] {
    const auto own = open();
    EXPECT_TRUE(own && own->put_file(test::file_row("/child")));
    EXPECT_EQ(::write(to_parent[1], "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(to_child[0], &byte, 1), 1);
    EXPECT_TRUE(own && own->put_file(test::file_row("/child2")));
    EXPECT_FALSE(catalog->files());
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  catalog.reset();
  ASSERT_EQ(::write(to_child[1], "x", 1), 1);
  EXPECT_EQ(test::wait_for(child), 0);
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) {
    ::close(fd);
  }
  EXPECT_EQ(open()->files().value().size(), 3U);
}

TEST_P(CatalogProcesses, SeveralObjectsInOneProcess) {
  auto first = open();
  auto second = open();
  ASSERT_TRUE(first->put_file(test::file_row("/1")));
  ASSERT_TRUE(second->put_file(test::file_row("/2")));
  first.reset();
  ASSERT_TRUE(second->put_file(test::file_row("/3")));
  EXPECT_EQ(open(kRead)->files().value().size(), 3U);
}

}  // namespace
}  // namespace sluice
