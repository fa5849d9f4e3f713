// Every I/O of SQLite is made to fail in turn, by a layer over its file system interface (VFS). After each
// failure the file, opened with a layer that passes everything on, is sound and holds the rows of before or
// after the failed call.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/sys.h"
#include "catalog/test_support.h"

namespace sluice {
namespace {

constexpr auto kWrite = Catalog::Mode::write;

struct Plan {
  int fail_at = 0;       // which counted call fails, from 1; 0 = none
  bool stay = false;     // all later ones fail too, as if the process had died there
  int code = SQLITE_OK;  // with what
  int calls = 0;
};

// There is one VFS per process, so what it does is global. Single-threaded.
Plan plan;
sqlite3_vfs* real_vfs = nullptr;

bool fails() {
  ++plan.calls;
  return plan.fail_at != 0 && (plan.stay ? plan.calls >= plan.fail_at : plan.calls == plan.fail_at);
}

struct File {
  sqlite3_file base;
  sqlite3_file* real;  // right behind this struct, in memory that SQLite gave
};

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<File*>(file)->real;
}

int file_close(sqlite3_file* f) {
  return real(f)->pMethods->xClose(real(f));
}
int file_read(sqlite3_file* f, void* data, int size, sqlite3_int64 at) {
  return fails() ? SQLITE_IOERR_READ : real(f)->pMethods->xRead(real(f), data, size, at);
}
int file_write(sqlite3_file* f, const void* data, int size, sqlite3_int64 at) {
  if (fails()) {
    real(f)->pMethods->xWrite(real(f), data, size / 2, at);  // torn
    return plan.code;
  }
  return real(f)->pMethods->xWrite(real(f), data, size, at);
}
int file_truncate(sqlite3_file* f, sqlite3_int64 size) {
  return fails() ? plan.code : real(f)->pMethods->xTruncate(real(f), size);
}
// The page cache survives a killed process, so there is no need to wait for the disk: some thousand syncs
// less.
int file_sync(sqlite3_file*, int) {
  return fails() ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}
int file_size(sqlite3_file* f, sqlite3_int64* size) {
  return fails() ? SQLITE_IOERR_FSTAT : real(f)->pMethods->xFileSize(real(f), size);
}
int file_lock(sqlite3_file* f, int kind) {
  return fails() ? SQLITE_IOERR_LOCK : real(f)->pMethods->xLock(real(f), kind);
}
int file_unlock(sqlite3_file* f, int kind) {
  return real(f)->pMethods->xUnlock(real(f), kind);
}
int file_reserved(sqlite3_file* f, int* out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
int file_control(sqlite3_file* f, int op, void* argument) {
  return real(f)->pMethods->xFileControl(real(f), op, argument);
}
int file_sector(sqlite3_file* f) {
  return real(f)->pMethods->xSectorSize(real(f));
}
int file_traits(sqlite3_file* f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
int file_shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return fails() ? SQLITE_IOERR_SHMMAP : real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}
int file_shm_lock(sqlite3_file* f, int offset, int count, int flags) {
  return real(f)->pMethods->xShmLock(real(f), offset, count, flags);
}
void file_shm_barrier(sqlite3_file* f) {
  real(f)->pMethods->xShmBarrier(real(f));
}
int file_shm_unmap(sqlite3_file* f, int remove) {
  return real(f)->pMethods->xShmUnmap(real(f), remove);
}

const sqlite3_io_methods kMethods = {.iVersion = 2,
                                     .xClose = file_close,
                                     .xRead = file_read,
                                     .xWrite = file_write,
                                     .xTruncate = file_truncate,
                                     .xSync = file_sync,
                                     .xFileSize = file_size,
                                     .xLock = file_lock,
                                     .xUnlock = file_unlock,
                                     .xCheckReservedLock = file_reserved,
                                     .xFileControl = file_control,
                                     .xSectorSize = file_sector,
                                     .xDeviceCharacteristics = file_traits,
                                     .xShmMap = file_shm_map,
                                     .xShmLock = file_shm_lock,
                                     .xShmBarrier = file_shm_barrier,
                                     .xShmUnmap = file_shm_unmap,
                                     .xFetch = nullptr,
                                     .xUnfetch = nullptr};

int vfs_open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
  f->pMethods = nullptr;
  if (fails()) {
    return SQLITE_CANTOPEN;
  }
  auto* file = reinterpret_cast<File*>(f);
  file->real = reinterpret_cast<sqlite3_file*>(file + 1);
  const int code = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
  f->pMethods = file->real->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}
int vfs_delete(sqlite3_vfs*, const char* name, int sync) {
  return fails() ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, name, sync);
}
int vfs_access(sqlite3_vfs*, const char* name, int flags, int* out) {
  return fails() ? SQLITE_IOERR_ACCESS : real_vfs->xAccess(real_vfs, name, flags, out);
}

// Puts the failing layer before the default VFS for its lifetime.
class ScopedVfs {
 public:
  ScopedVfs() {
    real_vfs = sqlite3_vfs_find(nullptr);
    vfs_ = *real_vfs;  // what is not replaced does not look at its VFS argument
    vfs_.zName = "failing";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_vfs->szOsFile;
    vfs_.xOpen = vfs_open;
    vfs_.xDelete = vfs_delete;
    vfs_.xAccess = vfs_access;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~ScopedVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_vfs, 1);
  }
  ScopedVfs(const ScopedVfs&) = delete;
  ScopedVfs& operator=(const ScopedVfs&) = delete;

 private:
  sqlite3_vfs vfs_ = {};
};

struct Rows {
  std::vector<PlaceRow> places;
  std::vector<FileRow> files;
  bool operator==(const Rows&) const = default;
};

std::vector<PlaceRow> some_places() {
  std::vector<PlaceRow> out;
  for (const char* id : {"a", "b", "c"}) {  // more than a page, so that a part could be written
    out.push_back({.id = id, .name = id, .path = "/", .traits = std::string(5000, *id), .seen = 1});
  }
  return out;
}

const FileRow kFirst = test::file_row("/1");
const FileRow kSecond = test::file_row("/2", 7);
const FileRow kChanged = test::file_row("/1", 9);

// The state after each of the calls below.
std::vector<Rows> states() {
  return {{},
          {.places = {}, .files = {kFirst}},
          {.places = some_places(), .files = {kFirst}},
          {.places = some_places(), .files = {kFirst, kSecond}},
          {.places = some_places(), .files = {kChanged, kSecond}},
          {.places = some_places(), .files = {kChanged}}};
}

struct Outcome {
  std::size_t acknowledged = 0;
  std::string problem;  // of the call that failed, or of opening
};

// Opens, calls until one fails, closes.
Outcome work(const std::string& path, bool network) {
  Result<std::unique_ptr<Catalog>> catalog =
      open_sqlite(path, kWrite, {.network = network, .patience = Duration(0, 1'000'000)});
  if (!catalog) {
    return {.acknowledged = 0, .problem = catalog.error().text()};
  }
  Catalog& rows = **catalog;
  Outcome out;
  const auto did = [&](const Status& status) {
    out.problem = status ? "" : status.error().text();
    out.acknowledged += status ? 1U : 0U;
    return status.has_value();
  };
  (void)(did(rows.put_file(kFirst)) && did(rows.put_places(some_places())) && did(rows.put_file(kSecond)) &&
         did(rows.put_file(kChanged)) && did(rows.remove_file("/2")));
  return out;
}

void check_after(const std::string& path, bool network, const Outcome& outcome) {
  const auto catalog = test::open(path, kWrite, {.network = network});
  ASSERT_NE(catalog, nullptr);
  EXPECT_EQ(test::raw_sql(path, "PRAGMA integrity_check"), "ok\n");
  const Rows now = {.places = catalog->places().value(), .files = catalog->files().value()};
  const std::vector<Rows> all = states();
  const bool before = now == all[outcome.acknowledged];
  const bool after = outcome.acknowledged + 1 < all.size() && now == all[outcome.acknowledged + 1];
  EXPECT_TRUE(before || after) << "after " << outcome.acknowledged << " calls, then: " << outcome.problem;
  // Whoever is told that nothing was changed can rely on it.
  EXPECT_TRUE(before || outcome.problem.find("as a whole or not at all") != std::string::npos)
      << outcome.problem;
  EXPECT_TRUE(catalog->put_file(test::file_row("/new")));
}

using Kind = std::tuple<bool, bool, int>;  // network, stay, code

class CatalogFaults : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, CatalogFaults,
                         testing::Combine(testing::Bool(), testing::Bool(),
                                          testing::Values(SQLITE_IOERR_WRITE, SQLITE_FULL)),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param) ? "Rollback" : "Wal") +
                                  (std::get<1>(row.param) ? "Stays" : "Once") +
                                  (std::get<2>(row.param) == SQLITE_FULL ? "Full" : "Error");
                         });

TEST_P(CatalogFaults, RowsAreThoseOfBeforeOrAfter) {
  const auto [network, stay, code] = GetParam();
  Sys no_waiting = real_sys();
  no_waiting.fsync = [](int) { return 0; };
  const ScopedSys scope(no_waiting);
  int calls = 1;
  int reported = 0;
  for (int n = 0; n <= calls; ++n) {
    const test::TemporaryFolder folder;
    Outcome outcome;
    {
      const ScopedVfs vfs;
      plan = {.fail_at = n, .stay = stay, .code = code, .calls = 0};
      outcome = work(folder / "c.db", network);
      if (n == 0) {
        calls = plan.calls;
        ASSERT_EQ(outcome.acknowledged, states().size() - 1) << outcome.problem;
      }
      plan = {};
      SCOPED_TRACE("call " + std::to_string(n) + " of " + std::to_string(calls));
      check_after(folder / "c.db", network, outcome);
    }
    reported += outcome.problem.empty() ? 0 : 1;
    EXPECT_TRUE(outcome.problem.empty() || outcome.problem.find(folder.path()) != std::string::npos)
        << outcome.problem;
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(calls, 50);
  EXPECT_GT(reported, calls / 3);
  RecordProperty("calls", calls);
}

}  // namespace
}  // namespace sluice
