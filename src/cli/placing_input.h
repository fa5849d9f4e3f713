// What the verbs that place data and bring it back share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "cli/verb.h"
#include "placing/back.h"

namespace sluice {

// The catalog, for writing: nothing is moved without a record of it. Interrupted steps are finished or taken
// back first, and what cannot be is said.
Result<std::unique_ptr<Catalog>> open_journal(const Context& context);

// Refuses a path whose file system does not answer.
Status check_answers(const Context& context, const std::string& path);
// And one whose data is on such.
Status check_answers(const Context& context, Catalog& catalog, const std::string& path);

// Looks at the places when it is asked; from any thread.
IsThere by_places(const Context& context);

// What became of one path.
struct Settled {
  std::string path;
  std::string outcome;  // home, nothing, lost, kept, busy, failed
  std::string why;
  std::uint64_t bytes = 0;
};
Settled settled(const std::string& path, const Result<Returned>& result);

// As text and as JSON; status 1 where one was not brought home.
Output describe(const std::vector<Settled>& all);

}  // namespace sluice
