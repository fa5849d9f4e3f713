// A thin layer over SQLite's C interface: handles that close themselves, errors as values that name the file,
// and nothing that knows the catalog's tables.
//
// A Database belongs to one thread at a time and to the process that opened it; usable() tells.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/units.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice {

// A statement that is prepared when it is used first: a process needs few of many, and each costs as much as
// several look-ups. The Database owns what was prepared, and must outlive it.
struct PreparedStatement {
  const char* sql;
  sqlite3_stmt* handle = nullptr;
};

class Database {
 public:
  enum class Access {
    write,
    read,       // may still roll back or check-point what a dead writer left, but changes no row
    immutable,  // takes no lock and ignores -wal. REQUIRES: nobody writes to the file
  };

  Database() = default;
  ~Database() { close(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens an existing file whose path is absolute and free of symbolic links. `patience` is how long a
  // statement waits for other processes. May be called again after close().
  Status open(const std::string& path, Access access, Duration patience);
  void close();

  // Fails in a process that inherited this object by fork.
  [[nodiscard]] Status usable() const;
  // Whether SQLite could open the file only for reading.
  [[nodiscard]] bool is_read_only() const;
  // Whether the path no longer leads to the file that is open: what is written would be lost.
  [[nodiscard]] bool has_moved() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Access access() const { return access_; }

  // Runs SQL that has no parameters and whose rows do not matter.
  Status run(const char* sql);
  // The first column of the only row.
  Result<std::int64_t> number(const char* sql);
  Result<std::string> text(const char* sql);
  // Sets the journal mode ("wal", "delete"); other processes that do the same are waited for.
  Status set_journal(std::string_view mode);
  // Whether the last connection to close merges -wal into the file and removes it.
  void merge_on_close(bool on);

  // The error of the call that just failed with `code`, as a sentence with advice.
  [[nodiscard]] Error error(int code) const;

 private:
  friend class Transaction;
  friend class Use;

  static int wait(void* self, int tries);
  static Status close_inherited();
  // SQLITE_OK, or why it cannot be used.
  int prepare(PreparedStatement& statement) const;
  void abandon();

  sqlite3* handle_ = nullptr;
  std::string path_;
  Access access_ = Access::read;
  Duration patience_;
  std::chrono::steady_clock::time_point waiting_since_;
  pid_t owner_ = 0;
};

// Rolls back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database, const char* sql);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;

  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;  // null once committed
};

// One execution of a statement: bind in order, step, read columns. What is bound must outlive it; its end
// resets the statement, which is what ends SQLite's read lock.
class Use {
 public:
  Use(Database& database, PreparedStatement& statement);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  Use& bytes(std::string_view value);
  Use& text(std::string_view value);
  Use& number(std::int64_t value);

  // Whether there is a (further) row.
  Result<bool> step();
  // Steps once and expects no row.
  Status finish();

  [[nodiscard]] std::string bytes_at(int column) const;
  [[nodiscard]] std::int64_t number_at(int column) const;

 private:
  void note(int code);

  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
  int code_ = 0;  // of what failed first, preparing or binding
};

}  // namespace sluice
