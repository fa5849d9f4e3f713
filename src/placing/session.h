// What one process has said of its files, and where they go: what stands behind the runtime library.
//
// The storage is looked at once and again when a mount comes or goes, or after a minute; between, a decision
// asks the kernel for free space alone. Any thread may call; one waits for the other.
//
// The descriptors are the program's: it may close them all and open its own in their place at any time. So
// the catalog is open only while a file is being placed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "intent/rules.h"
#include "plan/plan.h"
#include "plan/storage.h"

namespace sluice {

// One thread at a time, and one that forks before all others: its child has none of the other threads, and
// would wait for ever for a lock that one of them has, be it ours or one inside of SQLite.
class Turn {
 public:
  void lock();
  void unlock();
  // False where the one whose turn it is does not come to an end, as on a mount that hangs, or is the caller.
  bool lock_for_fork();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
  bool stuck_ = false;  // a fork has waited in vain; the next does not
  int forks_ = 0;       // that wait
};

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
  // strict-constraints it is an error. So it is in a child that was forked in the middle of another thread's
  // call which did not come to an end: it can place nothing.
  Result<std::string> path_to_open(const std::string& path, const Intent& said, bool creates);

  // The same text, for as long as the process lives.
  const char* keep(const std::string& path);

  // What pthread_atfork() is told.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

 private:
  // All of them REQUIRE: turn_
  Status begin();
  Status look_at_storage();
  bool is_stale();
  bool mounts_changed();
  Intent merged(const std::string& path, const Intent& said, std::optional<Statement> attribute);
  Result<std::string> place(const std::string& path, const Intent& said);
  void tell_once(const Error& error);

  Turn turn_;                               // of all below
  std::map<std::string, Intent> declared_;  // by absolute path
  std::set<std::string> kept_;
  const Session* parent_ = nullptr;  // before fork: what that one kept is in use
  bool cut_off_ = false;  // forked in the middle of another's turn: what he used is locked for ever
  bool begun_ = false;
  bool told_ = false;
  bool strict_ = false;
  Config config_;
  StorageOptions options_;
  Rules rules_;
  std::optional<Storage> storage_;
  std::chrono::steady_clock::time_point looked_;
  // The kernel says when it has changed. Never closed: the number may be a file of the program's by now,
  // which mounts_changed() tells by what it was.
  int mounts_ = -1;
  struct stat mounts_file_ {};
};

}  // namespace sluice
