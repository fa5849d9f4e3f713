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
  // Prepares the statements. REQUIRES: the schema is current.
  Status prepare();

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
  Status remove_placement(std::string_view path) override;
  Result<UniqueFd> lock_placement(std::string_view path) override;

  [[nodiscard]] std::string description() const override;

 private:
  template <class Change>
  Status change(Change&& rows);
  [[nodiscard]] Status check_unchanged() const;
  Status write_file(const FileRow& row);
  Status write_placement(Statement statement, const PlacementRow& row);

  Database database_;  // owns the statements, so it comes first
  std::optional<struct stat> watched_;
  Statement version_;
  Statement put_place_;
  Statement find_place_;
  Statement places_;
  Statement put_file_;
  Statement find_file_;
  Statement remove_file_;
  Statement files_;
  Statement promised_;
  Statement put_profile_;
  Statement find_profile_;
  Statement profiles_;
  Statement add_placement_;
  Statement put_placement_;
  Statement find_placement_;
  Statement placements_;
  Statement remove_placement_;
};

}  // namespace sluice
