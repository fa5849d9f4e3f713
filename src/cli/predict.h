// What a run's I/O should have cost, by what is known of the places its files are on.
#pragma once

#include "plan/storage.h"
#include "run/account.h"

namespace sluice {

// How the file's reads or writes were made, as far as a forecast tells it apart.
Workload workload_of(const FileAccount& file, Operation operation);

// The place that a path's data is on, whatever links lead there; null where it is not known.
const Place* place_of_data(const Discovery& found, const std::string& path);

// Sets what is predicted of each file whose place is known.
void predict(Account& account, const Storage& storage);

}  // namespace sluice
