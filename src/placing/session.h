// What one process has said of its files, and where they go: what stands behind the runtime library.
//
// The storage is looked at once and again when a mount comes or goes, or after a minute; between, a decision
// asks the kernel for free space alone. Any thread may call; one waits for the other.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/sys.h"
#include "catalog/catalog.h"
#include "intent/rules.h"
#include "plan/plan.h"
#include "plan/storage.h"

namespace sluice {

class Session {
 public:
  // This process's own. A child of fork begins with what its parent had declared, and looks for itself.
  static Session& of_process();

  // Of the file at a path or, where that ends in '/', of all files below; strongest of all that is said.
  // Words that were declared for the same path before are replaced.
  void declare(const std::string& path, Intent intent);

  // The plan, as JSON, by what is said of a path: declared here, with the call (`said`, of a pragma's
  // strength), by the file's attribute, and by the rules of the configuration. Without a path, by `said`.
  Result<std::string> plan(const std::string& path, const Intent& said);

  // Which path to open instead. Where the file is placed it is the data's own, so that flags that do not like
  // links mean what they mean for a file; a file that will be created is placed by its plan. Where that
  // cannot be done the path is used as it is, and that is said once, on standard error; with
  // strict-constraints it is an error.
  Result<std::string> path_to_open(const std::string& path, const Intent& said, bool creates);

 private:
  Status begin();            // REQUIRES: mutex_
  Status look_at_storage();  // REQUIRES: mutex_
  bool is_stale();           // REQUIRES: mutex_
  // REQUIRES: mutex_
  Intent merged(const std::string& path, const Intent& said, std::optional<Statement> attribute);
  Result<std::string> place(const std::string& path, const Intent& said);  // REQUIRES: mutex_
  void tell_once(const Error& error);

  std::mutex declared_mutex_;               // held for moments, and by who forks
  std::map<std::string, Intent> declared_;  // by absolute path
  std::mutex mutex_;                        // of all below
  bool begun_ = false;
  bool told_ = false;
  bool strict_ = false;
  Config config_;
  StorageOptions options_;
  Rules rules_;
  std::optional<Storage> storage_;
  std::chrono::steady_clock::time_point looked_;
  UniqueFd mounts_;  // the kernel says when it has changed
  std::unique_ptr<Catalog> catalog_;
};

}  // namespace sluice
