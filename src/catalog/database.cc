#include "catalog/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/text.h"
#include "catalog/sqlite_error.h"

namespace sluice {
namespace {

// Every open Database of this process, and after fork also those inherited. Guarded by its mutex, which is
// never held while a database is waited for.
struct Handles {
  std::mutex mutex;
  std::vector<Database*> all;
};

Handles& handles() {
  static Handles instance;
  return instance;
}

std::string as_uri(std::string_view path) {
  std::string out = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '/';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out + "?immutable=1";
}

}  // namespace

// SQLite keeps one record of locks per file and process. A child inherits the record without the locks, and a
// catalog that it opens anew would believe to be locked when it is not. Closing what was inherited, without
// touching the file, clears the record; the parent's locks are the parent's and stay. The descriptors must
// still be the database's: in a program of somebody else, which may have closed them and opened its own, no
// database is open where it can fork (placing/session.h).
Status Database::close_inherited() {
  Handles& known = handles();
  const std::lock_guard lock(known.mutex);
  for (Database* database : known.all) {
    if (database->owner_ == getpid()) {
      continue;
    }
    database->abandon();
    if (database->handle_ != nullptr) {
      return fail(
          fmt::format(
              "cannot open a catalog here: process {} forked this one in the middle of a change to {}",
              database->owner_, quote(database->path_)),
          "fork while the catalog is idle, or exec a new program");
    }
  }
  return {};
}

void Database::abandon() {
  if (handle_ == nullptr || sqlite3_get_autocommit(handle_) == 0) {
    return;  // rolling the parent's transaction back would be the parent's data: rather leak
  }
  merge_on_close(false);
  while (sqlite3_stmt* statement = sqlite3_next_stmt(handle_, nullptr)) {
    sqlite3_finalize(statement);
  }
  sqlite3_close(handle_);
  handle_ = nullptr;
}

Status Database::open(const std::string& path, Access access, Duration patience) {
  SLUICE_CHECK(close_inherited());
  path_ = path;
  access_ = access;
  patience_ = patience;
  owner_ = getpid();
  // NOFOLLOW: the path was resolved; a link that turns up now was planted. Readers ask for writing too, or
  // they could not roll back what a killed writer left.
  const bool immutable = access == Access::immutable;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE |
                    (immutable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE);
  const int code = sqlite3_open_v2((immutable ? as_uri(path) : path).c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    Error problem = error(code);
    sqlite3_close(std::exchange(handle_, nullptr));
    return problem;
  }
  {
    Handles& known = handles();
    const std::lock_guard lock(known.mutex);
    known.all.push_back(this);
  }
  sqlite3_busy_handler(handle_, &Database::wait, this);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  merge_on_close(false);
  // A damaged or planted file must not make SQLite run functions or read past a page.
  SLUICE_CHECK(run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON"));
  return access == Access::write ? Status() : run("PRAGMA query_only = ON");
}

void Database::close() {
  if (handle_ != nullptr && owner_ != getpid()) {
    abandon();
  } else if (handle_ != nullptr) {
    while (sqlite3_stmt* statement = sqlite3_next_stmt(handle_, nullptr)) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(std::exchange(handle_, nullptr));
  }
  Handles& known = handles();
  const std::lock_guard lock(known.mutex);
  std::erase(known.all, this);
}

Status Database::usable() const {
  if (owner_ == getpid()) {
    return {};
  }
  return fail(fmt::format("cannot use catalog {} in process {}: it was opened by process {} before fork",
                          quote(path_), getpid(), owner_),
              "open it again after fork");
}

bool Database::is_read_only() const {
  return sqlite3_db_readonly(handle_, "main") != 0;
}

bool Database::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

void Database::merge_on_close(bool on) {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

Error Database::error(int code) const {
  return sqlite_error(handle_, code, path_, access_ == Access::write, patience_);
}

// SQLite's own waiting sleeps up to 100 ms and lets a process starve; short random pauses are fair enough.
int Database::wait(void* self, int tries) {
  auto& database = *static_cast<Database*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) {
    database.waiting_since_ = now;
  }
  if (std::chrono::duration<double>(now - database.waiting_since_).count() >=
      database.patience_.in_seconds()) {
    return 0;
  }
  thread_local std::minstd_rand random(static_cast<unsigned>(getpid()));
  const unsigned most = std::min(10'000U, 200U << std::min(tries, 6));
  std::this_thread::sleep_for(std::chrono::microseconds(1 + random() % most));
  return 1;
}

Status Database::run(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : Status(error(code));
}

int Database::prepare(PreparedStatement& statement) const {
  return statement.handle != nullptr
             ? SQLITE_OK
             : sqlite3_prepare_v3(handle_, statement.sql, -1, SQLITE_PREPARE_PERSISTENT, &statement.handle,
                                  nullptr);
}

Result<std::string> Database::text(const char* sql) {
  PreparedStatement statement{.sql = sql};
  Result<std::string> out = std::string();
  {
    Use use(*this, statement);
    Result<bool> row = use.step();
    if (!row) {
      out = std::move(row).error();
    } else if (*row) {
      *out = use.bytes_at(0);
    }
  }
  sqlite3_finalize(statement.handle);
  return out;
}

Result<std::int64_t> Database::number(const char* sql) {
  SLUICE_TRY(const std::string digits, text(sql));
  return std::strtoll(digits.c_str(), nullptr, 10);
}

Status Database::set_journal(std::string_view mode) {
  const std::string sql = fmt::format("PRAGMA journal_mode = {}", mode);
  // SQLite does not call wait() here, and may answer with the old mode instead of an error.
  for (int tries = 0;; ++tries) {
    Result<std::string> now = text(sql.c_str());
    if (now && *now == mode) {
      return {};
    }
    Error problem = now ? error(SQLITE_BUSY) : std::move(now).error();
    if (problem.number != EBUSY || wait(this, tries) == 0) {
      return problem;
    }
  }
}

Result<Transaction> Transaction::begin(Database& database, const char* sql) {
  SLUICE_CHECK(database.run(sql));
  return Transaction(database);
}

Transaction::~Transaction() {
  // After some errors SQLite has rolled back by itself.
  if (database_ != nullptr && sqlite3_get_autocommit(database_->handle_) == 0) {
    sqlite3_exec(database_->handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Status Transaction::commit() {
  SLUICE_CHECK(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

Use::Use(Database& database, PreparedStatement& statement)
    : database_(database), code_(database.prepare(statement)) {
  handle_ = statement.handle;
}

Use::~Use() {
  if (handle_ != nullptr) {
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
  }
}

void Use::note(int code) {
  code_ = code_ == SQLITE_OK ? code : code_;
}

// A null pointer would bind NULL, hence the literal for empty values.
Use& Use::bytes(std::string_view value) {
  note(sqlite3_bind_blob64(handle_, ++bound_, value.empty() ? "" : value.data(), value.size(), nullptr));
  return *this;
}

Use& Use::text(std::string_view value) {
  note(sqlite3_bind_text64(handle_, ++bound_, value.empty() ? "" : value.data(), value.size(), nullptr,
                           SQLITE_UTF8));
  return *this;
}

Use& Use::number(std::int64_t value) {
  note(sqlite3_bind_int64(handle_, ++bound_, value));
  return *this;
}

Result<bool> Use::step() {
  if (code_ != SQLITE_OK) {
    return database_.error(code_);
  }
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    return database_.error(code);
  }
  return code == SQLITE_ROW;
}

Status Use::finish() {
  SLUICE_TRY([[maybe_unused]] const bool row, step());
  return {};
}

std::string Use::bytes_at(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::int64_t Use::number_at(int column) const {
  return sqlite3_column_int64(handle_, column);
}

}  // namespace sluice
