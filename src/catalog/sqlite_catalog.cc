#include "catalog/sqlite_catalog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <bit>
#include <cerrno>
#include <functional>
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

PlacementRow placement_at(const Use& use) {
  return {.path = use.bytes_at(0),
          .target = use.bytes_at(1),
          .place = use.bytes_at(2),
          .intent = use.bytes_at(3),
          .kind = use.bytes_at(4),
          .state = use.bytes_at(5),
          .since = use.number_at(6),
          .size = std::bit_cast<std::uint64_t>(use.number_at(7)),
          .checksum = use.bytes_at(8),
          .aside = use.bytes_at(9),
          .facts = use.bytes_at(10)};
}

OutcomeRow outcome_at(const Use& use) {
  return {.run = use.number_at(0),
          .taken = use.number_at(1),
          .program = use.bytes_at(2),
          .place = use.bytes_at(3),
          .operation = use.bytes_at(4),
          .mode = use.bytes_at(5),
          .pattern = use.bytes_at(6),
          .request = std::bit_cast<std::uint64_t>(use.number_at(7)),
          .bytes = std::bit_cast<std::uint64_t>(use.number_at(8)),
          .modelled = use.number_at(9),
          .predicted = use.number_at(10),
          .measured = use.number_at(11)};
}

// Where in the lock file a path has its byte. Two paths that share one keep each other waiting, no more.
off_t lock_offset(std::string_view path) {
  return static_cast<off_t>(std::hash<std::string_view>{}(path) >> 2);
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

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

Status SqliteCatalog::write_file(const FileRow& row) {
  if (row.path.find('\0') != std::string::npos) {
    return bad_input(fmt::format("file path {} holds a NUL byte", quote(row.path)), "give a path without it");
  }
  return Use(database_, put_file_)
      .bytes(row.path)
      .text(row.intent)
      .bytes(row.place)
      .number(std::bit_cast<std::int64_t>(row.promised))
      .finish();
}

Status SqliteCatalog::put_file(const FileRow& row) {
  return change([&] { return write_file(row); });
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

Status SqliteCatalog::write_placement(PreparedStatement& statement, const PlacementRow& row) {
  return Use(database_, statement)
      .bytes(row.path)
      .bytes(row.target)
      .bytes(row.place)
      .text(row.intent)
      .text(row.kind)
      .text(row.state)
      .number(row.since)
      .number(std::bit_cast<std::int64_t>(row.size))
      .text(row.checksum)
      .bytes(row.aside)
      .text(row.facts)
      .finish();
}

Result<bool> SqliteCatalog::has_placement(std::string_view path) {
  Use use(database_, find_placement_);
  return use.bytes(path).step();
}

Status SqliteCatalog::add_placement(const PlacementRow& row, std::uint64_t promised) {
  return change([&]() -> Status {
    SLUICE_TRY(const bool found, has_placement(row.path));
    if (found) {
      return fail(EEXIST, fmt::format("{} is placed already", quote(row.path)));
    }
    SLUICE_CHECK(write_placement(add_placement_, row));
    return write_file({.path = row.path, .intent = row.intent, .place = row.place, .promised = promised});
  });
}

Status SqliteCatalog::put_placement(const PlacementRow& row, std::optional<std::uint64_t> promised) {
  return change([&]() -> Status {
    SLUICE_CHECK(write_placement(put_placement_, row));
    return promised ? write_file(
                          {.path = row.path, .intent = row.intent, .place = row.place, .promised = *promised})
                    : Status();
  });
}

Result<std::optional<PlacementRow>> SqliteCatalog::find_placement(std::string_view path) {
  SLUICE_CHECK(database_.usable());
  Use use(database_, find_placement_);
  SLUICE_TRY(const bool found, use.bytes(path).step());
  SLUICE_CHECK(check_unchanged());
  return found ? std::optional(placement_at(use)) : std::nullopt;
}

Result<std::vector<PlacementRow>> SqliteCatalog::placements() {
  SLUICE_CHECK(database_.usable());
  std::vector<PlacementRow> out;
  Use use(database_, placements_);
  for (;;) {
    SLUICE_TRY(const bool row, use.step());
    if (!row) {
      SLUICE_CHECK(check_unchanged());
      return out;
    }
    out.push_back(placement_at(use));
  }
}

Status SqliteCatalog::rename_placement(std::string_view from, std::string_view to) {
  return change([&]() -> Status {
    SLUICE_TRY(const bool there, has_placement(from));
    SLUICE_TRY(const bool taken, has_placement(to));
    if (!there || taken) {
      return fail(there ? EEXIST : ENOENT, fmt::format("{} is {}", quote(std::string(there ? to : from)),
                                                       there ? "placed already" : "not placed"));
    }
    SLUICE_CHECK(Use(database_, rename_placement_).bytes(from).bytes(to).finish());
    // What was declared for the new path before is another file's.
    SLUICE_CHECK(Use(database_, remove_file_).bytes(to).finish());
    return Use(database_, rename_file_).bytes(from).bytes(to).finish();
  });
}

Status SqliteCatalog::remove_placement(std::string_view path) {
  return change([&]() -> Status {
    SLUICE_CHECK(Use(database_, remove_placement_).bytes(path).finish());
    return Use(database_, remove_file_).bytes(path).finish();
  });
}

Status SqliteCatalog::add_outcomes(const std::vector<OutcomeRow>& rows, std::int64_t oldest) {
  return change([&]() -> Status {
    std::int64_t run = 0;
    {
      Use next(database_, next_run_);
      SLUICE_TRY([[maybe_unused]] const bool found, next.step());
      run = next.number_at(0);
    }
    for (const OutcomeRow& row : rows) {
      SLUICE_CHECK(Use(database_, add_outcome_)
                       .number(run)
                       .number(row.taken)
                       .bytes(row.program)
                       .bytes(row.place)
                       .text(row.operation)
                       .text(row.mode)
                       .text(row.pattern)
                       .number(std::bit_cast<std::int64_t>(row.request))
                       .number(std::bit_cast<std::int64_t>(row.bytes))
                       .number(row.modelled)
                       .number(row.predicted)
                       .number(row.measured)
                       .finish());
    }
    return Use(database_, drop_outcomes_).number(oldest).finish();
  });
}

Result<std::vector<OutcomeRow>> SqliteCatalog::outcomes() {
  SLUICE_CHECK(database_.usable());
  std::vector<OutcomeRow> out;
  Use use(database_, outcomes_);
  for (;;) {
    SLUICE_TRY(const bool row, use.step());
    if (!row) {
      SLUICE_CHECK(check_unchanged());
      return out;
    }
    out.push_back(outcome_at(use));
  }
}

Status SqliteCatalog::forget_outcomes(std::string_view place_id) {
  return change([&] { return Use(database_, forget_outcomes_).bytes(place_id).finish(); });
}

// Not in the database's own file: closing a descriptor of that would drop SQLite's locks.
Result<UniqueFd> SqliteCatalog::lock_placement(std::string_view path) {
  SLUICE_CHECK(database_.usable());
  const std::string file = fmt::format("{}-placing", database_.path());
  UniqueFd fd(sys().open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) {
    return Errno().fail(fmt::format("cannot open {}", quote(file)));
  }
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = lock_offset(path);
  range.l_len = 1;
  if (fcntl(fd.get(), F_OFD_SETLK, &range) != 0) {
    const Errno why;
    return (errno == EACCES ? fail(EAGAIN, fmt::format("another command works on {}", quote(path)))
                            : why.fail(fmt::format("another command works on {}", quote(path))))
        .advise("wait until it has ended");
  }
  return fd;
}

std::string SqliteCatalog::description() const {
  return fmt::format("SQLite catalog {}", quote(database_.path()));
}

}  // namespace sluice
