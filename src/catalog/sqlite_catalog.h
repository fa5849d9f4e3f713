// The rows of a catalog in an SQLite file that is already open. sqlite_open.cc opens it.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/database.h"

namespace sluice {

class SqliteCatalog final : public Catalog {
 public:
  // To be opened before anything else is called.
  [[nodiscard]] Database& database() { return database_; }
  // Remembers the file as it is now; reads fail once it differs. For a file that is read without locks.
  Status watch_file();

  Status put_places(const std::vector<PlaceRow>& rows) override;
  Result<std::optional<PlaceRow>> find_place(std::string_view id) override;
  Result<std::vector<PlaceRow>> places() override;

  Status put_file(const FileRow& row) override;
  Result<std::optional<FileRow>> find_file(std::string_view path) override;
  Status remove_file(std::string_view path) override;
  Result<std::vector<FileRow>> files() override;
  Result<std::uint64_t> promised(std::string_view place_id) override;

  Status put_profile(const ProfileRow& row) override;
  Result<std::optional<ProfileRow>> find_profile(std::string_view place_id) override;
  Result<std::vector<std::string>> profiles() override;

  Status add_placement(const PlacementRow& row, std::uint64_t promised) override;
  Status put_placement(const PlacementRow& row, std::optional<std::uint64_t> promised) override;
  Result<std::optional<PlacementRow>> find_placement(std::string_view path) override;
  Result<std::vector<PlacementRow>> placements() override;
  Status rename_placement(std::string_view from, std::string_view to) override;
  Status remove_placement(std::string_view path) override;
  Result<UniqueFd> lock_placement(std::string_view path) override;

  Status add_outcomes(const std::vector<OutcomeRow>& rows, std::int64_t oldest) override;
  Result<std::vector<OutcomeRow>> outcomes() override;
  Status forget_outcomes(std::string_view place_id) override;

  [[nodiscard]] std::string description() const override;

 private:
  template <class Change>
  Status change(Change&& rows);
  [[nodiscard]] Status check_unchanged() const;
  Status write_file(const FileRow& row);
  Result<bool> has_placement(std::string_view path);
  Status write_placement(PreparedStatement& statement, const PlacementRow& row);

  Database database_;  // owns the statements, so it comes first
  std::optional<struct stat> watched_;
  PreparedStatement version_{"PRAGMA user_version"};
  PreparedStatement put_place_{
      "INSERT INTO places (id, name, path, traits, seen) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO "
      "UPDATE SET name = ?2, path = ?3, traits = ?4, seen = ?5"};
  PreparedStatement find_place_{"SELECT id, name, path, traits, seen FROM places WHERE id = ?1"};
  PreparedStatement places_{"SELECT id, name, path, traits, seen FROM places ORDER BY id"};
  PreparedStatement put_file_{
      "INSERT INTO files (path, intent, place, promised) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (path) DO "
      "UPDATE SET intent = ?2, place = ?3, promised = ?4"};
  PreparedStatement find_file_{"SELECT path, intent, place, promised FROM files WHERE path = ?1"};
  PreparedStatement remove_file_{"DELETE FROM files WHERE path = ?1"};
  PreparedStatement files_{"SELECT path, intent, place, promised FROM files ORDER BY path"};
  PreparedStatement promised_{"SELECT high, low FROM promises WHERE place = ?1"};
  PreparedStatement put_profile_{
      "INSERT INTO profiles (place, taken, body) VALUES (?1, ?2, ?3) ON CONFLICT (place) DO UPDATE SET taken "
      "= ?2, body = ?3"};
  PreparedStatement find_profile_{"SELECT place, taken, body FROM profiles WHERE place = ?1"};
  PreparedStatement profiles_{"SELECT place FROM profiles ORDER BY place"};
  PreparedStatement add_placement_{
      "INSERT INTO placements (path, target, place, intent, kind, state, since, size, checksum, aside, "
      "facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"};
  PreparedStatement put_placement_{
      "UPDATE placements SET target = ?2, place = ?3, intent = ?4, kind = ?5, state = ?6, since = ?7, size = "
      "?8, checksum = ?9, aside = ?10, facts = ?11 WHERE path = ?1"};
  PreparedStatement find_placement_{
      "SELECT path, target, place, intent, kind, state, since, size, checksum, aside, facts FROM placements "
      "WHERE path = ?1"};
  PreparedStatement placements_{
      "SELECT path, target, place, intent, kind, state, since, size, checksum, aside, facts FROM placements "
      "ORDER BY path"};
  PreparedStatement rename_placement_{"UPDATE placements SET path = ?2 WHERE path = ?1"};
  PreparedStatement rename_file_{"UPDATE files SET path = ?2 WHERE path = ?1"};
  PreparedStatement remove_placement_{"DELETE FROM placements WHERE path = ?1"};
  PreparedStatement next_run_{"SELECT coalesce(max(run), 0) + 1 FROM outcomes"};
  PreparedStatement add_outcome_{
      "INSERT INTO outcomes (run, taken, program, place, operation, mode, pattern, request, bytes, modelled, "
      "predicted, measured) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"};
  PreparedStatement drop_outcomes_{
      "DELETE FROM outcomes WHERE taken <= ?1 OR number IN (SELECT number FROM (SELECT number, row_number() "
      "OVER (PARTITION BY place, operation, mode ORDER BY number DESC) AS nth, row_number() OVER (ORDER BY "
      "number DESC) AS nth_of_all FROM outcomes) WHERE nth > 64 OR nth_of_all > 2048)"};
  PreparedStatement outcomes_{
      "SELECT run, taken, program, place, operation, mode, pattern, request, bytes, modelled, predicted, "
      "measured FROM outcomes ORDER BY number"};
  PreparedStatement forget_outcomes_{"DELETE FROM outcomes WHERE place = ?1"};
};

}  // namespace sluice
