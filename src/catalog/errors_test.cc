// Each way in which a catalog can be out of order, for real: a clear error, no lost row, no damaged file.
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/files.h"
#include "base/test_root.h"
#include "catalog/test_support.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
constexpr auto kRead = Catalog::Mode::read;
constexpr auto kWrite = Catalog::Mode::write;

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no " << word << " in: " << text;
  }
}

// A catalog with one row, closed.
std::string sample(const std::string& path, bool network = false) {
  const auto catalog = test::open(path, kWrite, {.network = network});
  EXPECT_TRUE(catalog && catalog->put_file(test::file_row("/a")));
  return path;
}

void expect_sample(const std::string& path) {
  const auto catalog = test::open(path, kRead);
  ASSERT_NE(catalog, nullptr);
  EXPECT_EQ(catalog->files().value(), std::vector{test::file_row("/a")});
}

TEST(CatalogErrors, Busy) {
  const test::TemporaryFolder folder;
  for (const bool network : {false, true}) {
    const std::string path = sample(folder / (network ? "n.db" : "l.db"), network);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t holder = test::start_child([&] {
      sqlite3* handle = nullptr;
      EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(handle, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
      EXPECT_EQ(::write(ready[1], "x", 1), 1);
      pause();
      return 0;
    });
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const SqliteOptions options = {.network = network, .patience = Duration(0, 50'000'000)};
    if (network) {  // a rollback journal shuts readers out too
      expect_words(test::open_error(path, kRead, options),
                   {"cannot read catalog", path, "another process", "50ms"});
      expect_words(test::open_error(path, kWrite, options), {path, "another process"});
    } else {
      EXPECT_EQ(test::open(path, kRead, options)->files().value().size(), 1U);
      const auto catalog = test::open(path, kWrite, options);
      const Status status = catalog->put_file(test::file_row("/b"));
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().number, EBUSY);
      expect_words(status.error().text(),
                   {"cannot write catalog", path, "another process", "50ms", "nothing was changed"});
    }
    kill(holder, SIGKILL);
    test::wait_for(holder);
    ::close(ready[0]);
    ::close(ready[1]);
    expect_sample(path);
    EXPECT_TRUE(test::open(path, kWrite, options)->put_file(test::file_row("/b")));
  }
}

TEST(CatalogErrors, AWaitIsAsLongAsAsked) {
  const test::TemporaryFolder folder;
  const auto first = test::open(folder / "c.db");
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "c.db").c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto catalog = test::open(folder / "c.db", kWrite, {.patience = Duration(0, 300'000'000)});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(catalog->put_file(test::file_row("/a")));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::milliseconds(300));
  sqlite3_close(handle);
  EXPECT_TRUE(catalog->put_file(test::file_row("/a")));
}

// Checks both modes on a sample that this user may read but not change.
void expect_read_only(const std::string& path, int number, const std::string& reason) {
  const auto catalog = open_sqlite(path, kWrite);
  EXPECT_FALSE(catalog);
  if (!catalog) {
    EXPECT_EQ(catalog.error().number, number) << catalog.error().text();
    expect_words(catalog.error().text(), {"cannot write catalog", path, reason, "SLUICE_CATALOG"});
  }
  expect_sample(path);
}

class CatalogPermissions : public testing::TestWithParam<bool> {
 protected:
  // Runs `body` as an ordinary user who owns the folder and the sample.
  template <class Body>
  void as_user(Body&& body) {
    const std::string path = sample(folder_ / "c.db", GetParam());
    if (has_rights_of_root()) {
      ASSERT_EQ(chown(folder_.path().c_str(), 65534, 65534), 0);
      ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    }
    EXPECT_EQ(test::in_child([&] {
                test::drop_root();
                body(path);
                return 0;
              }),
              0);
    ASSERT_EQ(chmod(folder_.path().c_str(), 0700), 0);
  }
  test::TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Journals, CatalogPermissions, testing::Bool(),
                         [](const auto& row) { return row.param ? "Rollback" : "Wal"; });

TEST_P(CatalogPermissions, ReadOnlyFile) {
  as_user([](const std::string& path) {
    EXPECT_EQ(chmod(path.c_str(), 0400), 0);
    expect_read_only(path, EACCES, "the file is read-only");
  });
}

TEST_P(CatalogPermissions, ReadOnlyFolder) {
  as_user([&](const std::string& path) {
    EXPECT_EQ(chmod(folder_.path().c_str(), 0500), 0);
    expect_read_only(path, EACCES, "folder '" + folder_.path() + "' is read-only");
  });
}

TEST_P(CatalogPermissions, ReadOnlyFileAndFolder) {
  as_user([&](const std::string& path) {
    EXPECT_EQ(chmod(path.c_str(), 0400), 0);
    EXPECT_EQ(chmod(folder_.path().c_str(), 0500), 0);
    expect_read_only(path, EACCES, "read-only");
  });
}

TEST_P(CatalogPermissions, UnreadableFile) {
  as_user([](const std::string& path) {
    EXPECT_EQ(chmod(path.c_str(), 0), 0);
    for (const auto mode : {kRead, kWrite}) {
      expect_words(test::open_error(path, mode), {path, "Permission denied"});
    }
  });
}

// Read without locks, so a change by someone who may write must not be mistaken for data.
TEST_P(CatalogPermissions, AChangeWhileReadingAReadOnlyFolderIsNoticed) {
  as_user([&](const std::string& path) {
    EXPECT_EQ(chmod(folder_.path().c_str(), 0500), 0);
    const auto reader = test::open(path, kRead);
    EXPECT_TRUE(reader->find_file("/a").value());
    EXPECT_EQ(chmod(folder_.path().c_str(), 0700), 0);
    EXPECT_EQ(
        test::in_child([&] {
          EXPECT_TRUE(test::open(path, kWrite, {.network = GetParam()})->put_file(test::file_row("/b")));
          return 0;
        }),
        0);
    EXPECT_EQ(chmod(folder_.path().c_str(), 0500), 0);
    const auto row = reader->find_file("/b");
    EXPECT_TRUE(row ? row->has_value()
                    : row.error().text().find("changed by its owner") != std::string::npos);
  });
}

TEST_P(CatalogPermissions, ReadOnlyFileSystem) {
  const std::string& place = folder_.path();
  const int status = test::in_child([&] {
    if (!test::mount_memory(place, "size=4m")) {
      return test::kSkipped;
    }
    const std::string path = sample(place + "/c.db", GetParam());
    // A -wal with rows that no other process has merged.
    const auto catalog = test::open(place + "/w.db");
    EXPECT_TRUE(catalog->put_file(test::file_row("/a")));
    for (const char* end : {"", "-wal", "-shm"}) {
      fs::copy_file(place + "/w.db" + end, place + "/with_shm.db" + end);
    }
    for (const char* end : {"", "-wal"}) {
      fs::copy_file(place + "/w.db" + end, place + "/without_shm.db" + end);
    }
    fs::create_directory(place + "/empty");
    EXPECT_EQ(mount("none", place.c_str(), nullptr, MS_BIND, nullptr), -1);
    EXPECT_EQ(mount(place.c_str(), place.c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_EQ(mount("none", place.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
    expect_read_only(path, EROFS, "Read-only file system");
    expect_sample(place + "/with_shm.db");
    expect_words(test::open_error(place + "/without_shm.db", kRead),
                 {"without_shm.db-wal", "copy the catalog"});
    expect_words(test::open_error(place + "/empty/c.db", kWrite), {"Read-only file system"});
    EXPECT_EQ(test::open(place + "/empty/c.db", kRead), nullptr);
    const auto deeper = open_catalog(place + "/empty/x/c.db", kWrite);
    EXPECT_FALSE(deeper);
    return 0;
  });
  if (status == test::kSkipped) {
    GTEST_SKIP() << "no permission to mount a file system";
  }
  EXPECT_EQ(status, 0);
}

TEST_P(CatalogPermissions, FullDisk) {
  const std::string& place = folder_.path();
  const int status = test::in_child([&] {
    if (!test::mount_memory(place, "size=256k")) {
      return test::kSkipped;
    }
    const std::string path = place + "/c.db";
    auto catalog = test::open(path, kWrite, {.network = GetParam()});
    std::vector<FileRow> acknowledged;
    for (int i = 100; i < 999; ++i) {
      FileRow row = test::file_row("/" + std::to_string(i));
      row.intent.assign(2000, 'i');
      const Status put = catalog->put_file(row);
      if (!put) {
        EXPECT_EQ(put.error().number, ENOSPC) << put.error().text();
        expect_words(put.error().text(), {"cannot write catalog", path, "No space left", "free space"});
        break;
      }
      acknowledged.push_back(row);
    }
    EXPECT_GT(acknowledged.size(), 10U);
    EXPECT_LT(acknowledged.size(), 899U);
    EXPECT_EQ(catalog->files().value(), acknowledged);
    catalog.reset();
    EXPECT_EQ(test::raw_sql(path, "PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(mount("none", place.c_str(), nullptr, MS_REMOUNT, "size=4m"), 0);
    catalog = test::open(path, kWrite, {.network = GetParam()});
    EXPECT_EQ(catalog->files().value(), acknowledged);
    EXPECT_TRUE(catalog->put_file(test::file_row("/new")));
    return 0;
  });
  if (status == test::kSkipped) {
    GTEST_SKIP() << "no permission to mount a file system";
  }
  EXPECT_EQ(status, 0);
}

TEST_P(CatalogPermissions, AFullDiskHasRoomForNoCatalog) {
  const std::string& place = folder_.path();
  const int status = test::in_child([&] {
    if (!test::mount_memory(place, "size=256k")) {
      return test::kSkipped;
    }
    test::write_text(place + "/ballast", std::string(256 << 10, 'b'));
    const std::string path = place + "/c.db";
    expect_words(test::open_error(path, kWrite, {.network = GetParam()}), {path, "No space left"});
    fs::remove(place + "/ballast");
    EXPECT_TRUE(test::open(path, kWrite, {.network = GetParam()})->put_file(test::file_row("/a")));
    return 0;
  });
  if (status == test::kSkipped) {
    GTEST_SKIP() << "no permission to mount a file system";
  }
  EXPECT_EQ(status, 0);
}

TEST(CatalogErrors, Damaged) {
  const test::TemporaryFolder folder;
  const std::string sound = sample(folder / "sound.db");
  {
    const auto catalog = test::open(sound);
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(
          catalog->put_places({{.id = std::to_string(i), .name = "", .path = "", .traits = "", .seen = 0}}));
    }
  }
  const std::string bytes = read_file(sound).value();
  const std::string noise(bytes.size(), '\xa5');
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"garbage", noise},
      {"short", "hello"},
      {"text", std::string(5000, 't')},
      {"truncated_header", bytes.substr(0, 60)},
      {"truncated_page", bytes.substr(0, 2000)},
      {"truncated_pages", bytes.substr(0, 4096)},
      {"header_only_is_right", bytes.substr(0, 100) + noise.substr(100)},
      {"no_header", std::string(100, '\0') + bytes.substr(100)},
  };
  for (const auto& [name, content] : kinds) {
    const std::string path = folder / name;
    test::write_text(path, content);
    for (const auto mode : {kRead, kWrite}) {
      expect_words(test::open_error(path, mode), {"damaged", path, "move the file away"});
    }
    EXPECT_EQ(read_file(path).value(), content) << name;
  }
}

TEST(CatalogErrors, DamagedFurtherIn) {
  const test::TemporaryFolder folder;
  const std::string path = sample(folder / "c.db");
  std::string bytes = read_file(path).value();
  bytes.replace(4096, bytes.size() - 4096, bytes.size() - 4096, '\xa5');  // all pages but the schema's
  test::write_text(path, bytes);
  const auto catalog = test::open(path);
  const auto row = catalog->find_file("/a");
  ASSERT_FALSE(row);
  expect_words(row.error().text(), {"damaged", path});
  EXPECT_FALSE(catalog->put_file(test::file_row("/b")));
  EXPECT_FALSE(catalog->promised("nvme"));
}

// SQLite takes an empty file for a new database and throws its -wal away.
TEST(CatalogErrors, RowsInAWalWhoseFileIsLostAreKept) {
  const test::TemporaryFolder folder;
  const auto catalog = test::open(folder / "c.db");
  ASSERT_TRUE(catalog->put_file(test::file_row("/a")));
  fs::copy_file(folder / "c.db-wal", folder / "lost.db-wal");
  fs::copy_file(folder / "c.db-wal", folder / "emptied.db-wal");
  test::write_text(folder / "emptied.db", "");
  const auto size = fs::file_size(folder / "c.db-wal");
  for (const std::string name : {"lost.db", "emptied.db"}) {
    for (const auto mode : {kRead, kWrite}) {
      expect_words(test::open_error(folder / name, mode), {"damaged", folder / name, "-wal"});
    }
    EXPECT_EQ(fs::file_size(folder / (name + "-wal")), size);
  }
}

TEST(CatalogErrors, WhatWouldGoToADeletedFileIsRefused) {
  const test::TemporaryFolder folder;
  for (const bool network : {false, true}) {
    const std::string path = sample(folder / (network ? "n.db" : "l.db"), network);
    const auto catalog = test::open(path, kWrite, {.network = network});
    fs::rename(path, path + ".old");
    const Status status = catalog->put_file(test::file_row("/b"));
    ASSERT_FALSE(status);
    expect_words(status.error().text(), {path, "moved or deleted"});
    fs::rename(path + ".old", path);
    EXPECT_TRUE(catalog->put_file(test::file_row("/b")));
  }
}

TEST(CatalogErrors, ImmutableFile) {
  const test::TemporaryFolder folder;
  const std::string path = sample(folder / "c.db");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 ||
      (flags |= FS_IMMUTABLE_FL, ioctl(fd, FS_IOC_SETFLAGS, &flags)) != 0) {
    ::close(fd);
    GTEST_SKIP() << "cannot make a file immutable here";
  }
  expect_read_only(path, EPERM, "the file is read-only");
  flags &= ~FS_IMMUTABLE_FL;
  EXPECT_EQ(ioctl(fd, FS_IOC_SETFLAGS, &flags), 0);
  ::close(fd);
}

}  // namespace
}  // namespace sluice
