// The catalog: what Sluice remembers between runs. SQLite by default, one file a user; another database can
// stand behind the same interface.
//
// Many processes may use one catalog at once. An object of this class belongs to one thread at a time and to
// the process that opened it (open it again after fork). Every write is one transaction and is on stable
// storage when it returns. A write that fails has changed nothing, except when the device fails during the
// commit (the error says so): then it is there as a whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "base/units.h"

namespace sluice {

// A place that was seen, keyed by its identity (Place::id).
struct PlaceRow {
  std::string id;
  std::string name;
  std::string path;       // bytes
  std::string traits;     // JSON of what lasts: mount, file system, origin and lasting traits
  std::int64_t seen = 0;  // seconds since 1970
  bool operator==(const PlaceRow&) const = default;
};

// A file that was declared or placed, keyed by the path the user typed (absolute).
struct FileRow {
  std::string path;            // bytes
  std::string intent;          // canonical words
  std::string place;           // PlaceRow::id, "" = not placed
  std::uint64_t promised = 0;  // bytes that count as used on the place
  bool operator==(const FileRow&) const = default;
};

// What was measured of a place.
struct ProfileRow {
  std::string place;       // PlaceRow::id
  std::int64_t taken = 0;  // seconds since 1970
  std::string body;        // JSON
  bool operator==(const ProfileRow&) const = default;
};

// Data that is elsewhere than its path says, or is on its way, keyed by that path. The words of `kind` and
// `state` are placing's. It has a FileRow of the same path beside it, for the space that it was promised.
struct PlacementRow {
  std::string path;    // bytes: absolute, the folders above it without links
  std::string target;  // bytes: where the data is
  std::string place;   // PlaceRow::id
  std::string intent;  // canonical words
  std::string kind;
  std::string state;       // which step is under way
  std::int64_t since = 0;  // seconds since 1970
  std::uint64_t size = 0;  // bytes, when it was last looked at
  std::string checksum;    // of the data when it was last moved, "" = not known
  std::string aside;       // bytes: the name beside the path that a step uses, "" = none
  std::string facts;       // JSON: what it takes to undo the step
  bool operator==(const PlacementRow&) const = default;
};

// What requests of one kind took in one run, on one place.
struct OutcomeRow {
  std::int64_t run = 0;        // a number that rises; given when it is added
  std::int64_t taken = 0;      // seconds since 1970
  std::string program;         // bytes: the command's name
  std::string place;           // PlaceRow::id
  std::string operation;       // read, write
  std::string mode;            // direct, buffered, synced
  std::string pattern;         // sequential, random
  std::uint64_t request = 0;   // bytes of one of them
  std::uint64_t bytes = 0;     // of all
  std::int64_t modelled = 0;   // nanoseconds that were forecast, without corrections
  std::int64_t predicted = 0;  // nanoseconds that were told, with them
  std::int64_t measured = 0;   // nanoseconds
  bool operator==(const OutcomeRow&) const = default;
};

class Catalog {
 public:
  enum class Mode { read, write };

  virtual ~Catalog() = default;
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  virtual Status put_places(const std::vector<PlaceRow>& rows) = 0;  // all or none
  virtual Result<std::optional<PlaceRow>> find_place(std::string_view id) = 0;
  virtual Result<std::vector<PlaceRow>> places() = 0;  // by id

  virtual Status put_file(const FileRow& row) = 0;
  virtual Result<std::optional<FileRow>> find_file(std::string_view path) = 0;
  virtual Status remove_file(std::string_view path) = 0;  // no such row is fine
  virtual Result<std::vector<FileRow>> files() = 0;       // by path
  // Sum of FileRow::promised on one place.
  virtual Result<std::uint64_t> promised(std::string_view place_id) = 0;

  virtual Status put_profile(const ProfileRow& row) = 0;  // replaces an earlier one of the place
  virtual Result<std::optional<ProfileRow>> find_profile(std::string_view place_id) = 0;
  virtual Result<std::vector<std::string>> profiles() = 0;  // the places that have one, by id

  // A new placement and what it is promised; EEXIST where the path has one already.
  virtual Status add_placement(const PlacementRow& row, std::uint64_t promised) = 0;
  // The next step of one that is there; a promise that is not given stays as it is.
  virtual Status put_placement(const PlacementRow& row, std::optional<std::uint64_t> promised) = 0;
  virtual Result<std::optional<PlacementRow>> find_placement(std::string_view path) = 0;
  virtual Result<std::vector<PlacementRow>> placements() = 0;  // by path
  // Another path for one that is there; EEXIST where that has one already, ENOENT where the old one has none.
  virtual Status rename_placement(std::string_view from, std::string_view to) = 0;
  // With what it was promised; no such row is fine.
  virtual Status remove_placement(std::string_view path) = 0;
  // Who has it may work on that placement. It ends with the descriptor or the process; EAGAIN where another
  // has it, in this process or elsewhere.
  virtual Result<UniqueFd> lock_placement(std::string_view path) = 0;

  // Those of one run, which gets the next number. Of each place, operation and mode the latest 64 are kept,
  // of all 2048, and none that is `oldest` or older.
  virtual Status add_outcomes(const std::vector<OutcomeRow>& rows, std::int64_t oldest) = 0;
  virtual Result<std::vector<OutcomeRow>> outcomes() = 0;  // the oldest first
  // Of one place; none is fine.
  virtual Status forget_outcomes(std::string_view place_id) = 0;

  // What it is and where, for messages: "SQLite catalog '/home/u/.local/state/sluice/catalog.db'".
  [[nodiscard]] virtual std::string description() const = 0;

 protected:
  Catalog() = default;
};

// Where the catalog is when nobody says otherwise: $XDG_STATE_HOME/sluice/catalog.db, else
// ~/.local/state/sluice/catalog.db. Fails when neither XDG_STATE_HOME nor HOME is usable.
Result<std::string> default_catalog_path();

// Opens the catalog at `location` (a path; "" = the default). Mode::write creates it with its folders (0700,
// file 0600) and migrates an older one. Mode::read creates and changes nothing and gives a null pointer when
// there is no catalog yet. On a network file system the file is "<stem>-<host>.db" beside the given path and
// uses a rollback journal, because WAL needs shared memory that such file systems do not have. A call waits
// for other processes as long as `patience` says.
Result<std::unique_ptr<Catalog>> open_catalog(const std::string& location, Catalog::Mode mode,
                                              Duration patience = Duration(10, 0));

}  // namespace sluice
