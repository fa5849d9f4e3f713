#include "catalog/sqlite_catalog.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <bit>
#include <cerrno>
#include <limits>

#include "base/sys.h"
#include "base/text.h"
#include "catalog/schema.h"

namespace sluice {
namespace {

PlaceRow place_at(const Use& use) {
  return {.id = use.bytes_at(0),
          .name = use.bytes_at(1),
          .path = use.bytes_at(2),
          .traits = use.bytes_at(3),
          .seen = use.number_at(4)};
}

FileRow file_at(const Use& use) {
  return {.path = use.bytes_at(0),
          .intent = use.bytes_at(1),
          .place = use.bytes_at(2),
          .promised = std::bit_cast<std::uint64_t>(use.number_at(3))};
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Status SqliteCatalog::prepare() {
  const std::pair<Statement*, const char*> all[] = {
      {&version_, "PRAGMA user_version"},
      {&put_place_,
       "INSERT INTO places (id, name, path, traits, seen) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO "
       "UPDATE "
       "SET name = ?2, path = ?3, traits = ?4, seen = ?5"},
      {&find_place_, "SELECT id, name, path, traits, seen FROM places WHERE id = ?1"},
      {&places_, "SELECT id, name, path, traits, seen FROM places ORDER BY id"},
      {&put_file_,
       "INSERT INTO files (path, intent, place, promised) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (path) DO "
       "UPDATE "
       "SET intent = ?2, place = ?3, promised = ?4"},
      {&find_file_, "SELECT path, intent, place, promised FROM files WHERE path = ?1"},
      {&remove_file_, "DELETE FROM files WHERE path = ?1"},
      {&files_, "SELECT path, intent, place, promised FROM files ORDER BY path"},
      {&promised_, "SELECT high, low FROM promises WHERE place = ?1"},
      {&put_profile_,
       "INSERT INTO profiles (place, taken, body) VALUES (?1, ?2, ?3) ON CONFLICT (place) DO UPDATE "
       "SET taken = ?2, body = ?3"},
      {&find_profile_, "SELECT place, taken, body FROM profiles WHERE place = ?1"},
      {&profiles_, "SELECT place FROM profiles ORDER BY place"},
  };
  for (const auto& [statement, sql] : all) {
    SLUICE_TRY(*statement, database_.prepare(sql));
  }
  return {};
}

Status SqliteCatalog::watch_file() {
  struct stat about = {};
  if (sys().stat(database_.path().c_str(), &about) != 0) {
    return Errno().fail(fmt::format("cannot look at catalog {}", quote(database_.path())));
  }
  watched_ = about;
  return {};
}

Status SqliteCatalog::check_unchanged() const {
  if (!watched_) {
    return {};
  }
  struct stat now = {};
  if (sys().stat(database_.path().c_str(), &now) == 0 && same_file(*watched_, now)) {
    return {};
  }
  return fail(fmt::format("catalog {} was changed by its owner while it was read", quote(database_.path())),
              "open it again");
}

// One write: all that `rows` does, or nothing.
template <class Change>
Status SqliteCatalog::change(Change&& rows) {
  SLUICE_CHECK(database_.usable());
  if (database_.access() != Database::Access::write) {
    return fail(fmt::format("cannot write catalog {}, it was opened for reading", quote(database_.path())));
  }
  // IMMEDIATE: the lock is waited for here, at the start, where nothing can be in vain.
  SLUICE_TRY(Transaction transaction, Transaction::begin(database_, "BEGIN IMMEDIATE"));
  if (database_.has_moved()) {
    return database_.error(SQLITE_READONLY_DBMOVED);
  }
  {
    Use use(database_, version_);
    SLUICE_TRY([[maybe_unused]] const bool row, use.step());
    if (use.number_at(0) != static_cast<std::int64_t>(migrations().size())) {
      return fail(fmt::format("cannot write catalog {}, a newer Sluice has migrated it meanwhile",
                              quote(database_.path())),
                  "nothing was changed; start this program again with that Sluice");
    }
  }
  SLUICE_CHECK(rows());
  return transaction.commit();
}

Status SqliteCatalog::put_places(const std::vector<PlaceRow>& rows) {
  return change([&]() -> Status {
    for (const PlaceRow& row : rows) {
      SLUICE_CHECK(Use(database_, put_place_)
                       .bytes(row.id)
                       .bytes(row.name)
                       .bytes(row.path)
                       .text(row.traits)
                       .number(row.seen)
                       .finish());
    }
    return {};
  });
}

Result<std::optional<PlaceRow>> SqliteCatalog::find_place(std::string_view id) {
  SLUICE_CHECK(database_.usable());
  Use use(database_, find_place_);
  SLUICE_TRY(const bool found, use.bytes(id).step());
  SLUICE_CHECK(check_unchanged());
  return found ? std::optional(place_at(use)) : std::nullopt;
}

Result<std::vector<PlaceRow>> SqliteCatalog::places() {
  SLUICE_CHECK(database_.usable());
  std::vector<PlaceRow> out;
  Use use(database_, places_);
  for (;;) {
    SLUICE_TRY(const bool row, use.step());
    if (!row) {
      SLUICE_CHECK(check_unchanged());
      return out;
    }
    out.push_back(place_at(use));
  }
}

Status SqliteCatalog::put_file(const FileRow& row) {
  if (row.path.find('\0') != std::string::npos) {
    return bad_input(fmt::format("file path {} holds a NUL byte", quote(row.path)), "give a path without it");
  }
  return change([&] {
    return Use(database_, put_file_)
        .bytes(row.path)
        .text(row.intent)
        .bytes(row.place)
        .number(std::bit_cast<std::int64_t>(row.promised))
        .finish();
  });
}

Result<std::optional<FileRow>> SqliteCatalog::find_file(std::string_view path) {
  SLUICE_CHECK(database_.usable());
  Use use(database_, find_file_);
  SLUICE_TRY(const bool found, use.bytes(path).step());
  SLUICE_CHECK(check_unchanged());
  return found ? std::optional(file_at(use)) : std::nullopt;
}

Status SqliteCatalog::remove_file(std::string_view path) {
  return change([&] { return Use(database_, remove_file_).bytes(path).finish(); });
}

Result<std::vector<FileRow>> SqliteCatalog::files() {
  SLUICE_CHECK(database_.usable());
  std::vector<FileRow> out;
  Use use(database_, files_);
  for (;;) {
    SLUICE_TRY(const bool row, use.step());
    if (!row) {
      SLUICE_CHECK(check_unchanged());
      return out;
    }
    out.push_back(file_at(use));
  }
}

// The largest number when the sum does not fit: a place that full takes nothing more.
Result<std::uint64_t> SqliteCatalog::promised(std::string_view place_id) {
  SLUICE_CHECK(database_.usable());
  Use use(database_, promised_);
  SLUICE_TRY(const bool found, use.bytes(place_id).step());
  SLUICE_CHECK(check_unchanged());
  if (!found) {
    return std::uint64_t{0};
  }
  const auto high = static_cast<std::uint64_t>(use.number_at(0));
  const auto low = static_cast<std::uint64_t>(use.number_at(1));
  const std::uint64_t whole = high + (low >> 32);
  if (whole > std::numeric_limits<std::uint32_t>::max()) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return (whole << 32) | (low & 0xFFFFFFFF);
}

Status SqliteCatalog::put_profile(const ProfileRow& row) {
  return change([&] {
    return Use(database_, put_profile_).bytes(row.place).number(row.taken).text(row.body).finish();
  });
}

Result<std::optional<ProfileRow>> SqliteCatalog::find_profile(std::string_view place_id) {
  SLUICE_CHECK(database_.usable());
  Use use(database_, find_profile_);
  SLUICE_TRY(const bool found, use.bytes(place_id).step());
  SLUICE_CHECK(check_unchanged());
  return found ? std::optional(
                     ProfileRow{.place = use.bytes_at(0), .taken = use.number_at(1), .body = use.bytes_at(2)})
               : std::nullopt;
}

Result<std::vector<std::string>> SqliteCatalog::profiles() {
  SLUICE_CHECK(database_.usable());
  std::vector<std::string> out;
  Use use(database_, profiles_);
  for (;;) {
    SLUICE_TRY(const bool row, use.step());
    if (!row) {
      SLUICE_CHECK(check_unchanged());
      return out;
    }
    out.push_back(use.bytes_at(0));
  }
}

std::string SqliteCatalog::description() const {
  return fmt::format("SQLite catalog {}", quote(database_.path()));
}

}  // namespace sluice
