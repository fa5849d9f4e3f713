// The catalog's schema: a list of migrations, each one SQL text, and the rules by which a file is told from a
// foreign, an older and a newer one. docs/catalog.md describes the tables.
//
// A released migration is never edited: a change is a new one at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "catalog/database.h"

namespace sluice {

inline constexpr std::int64_t kApplicationId = 0x534C5549;  // "SLUI" in the file's header

// migrations()[i] takes a database of version i to version i + 1.
std::span<const char* const> migrations();

enum class Kind {
  empty,    // no tables yet: never a catalog, or one that is just being created
  older,    // needs migrate()
  current,  // as this program knows it
};

// Which kind of file it is, read in one transaction. Fails on a foreign database and on a newer catalog.
Result<Kind> identify(Database& database, std::span<const char* const> steps = migrations());

// Brings an empty or older catalog up to date: all of it or nothing, under an exclusive lock, so that of
// several processes that start at once one does it and the others find it done.
Status migrate(Database& database, std::span<const char* const> steps = migrations());

// Fails where a table is missing: the catalog is damaged. REQUIRES: it is current.
Status check_tables(Database& database);

}  // namespace sluice
