#include "catalog/sqlite_error.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/sys.h"
#include "base/text.h"
#include "catalog/location.h"

namespace sluice {
namespace {

constexpr std::string_view kMakeWritable =
    "nothing was changed; make it writable for this user, or give another path in SLUICE_CATALOG";

// When the last sync of a commit fails, the commit is in the -wal already, and whoever recovers that finds
// it.
constexpr std::string_view kInDoubt =
    "earlier changes are safe, this one was made as a whole or not at all; check the device and the file "
    "system";

Error read_only(int number, const std::string& path, std::string_view object) {
  return fail(number,
              fmt::format("cannot write catalog {}, {} is read-only for this user", quote(path), object))
      .advise(kMakeWritable);
}

Error damaged(const std::string& path, std::string_view reason) {
  const std::string name = quote(path);
  return fail(
      fmt::format("catalog {} is damaged ({})", name, reason),
      fmt::format("it was left as it is; save what can be read with 'sqlite3 FILE .recover', then move the "
                  "file away with its -wal and -journal, and a new one will be made"));
}

}  // namespace

Status check_writable(const std::string& path) {
  if (sys().access(path.c_str(), W_OK) != 0 && errno != ENOENT) {
    return read_only(errno, path, "the file");
  }
  // SQLite keeps its journal beside the file.
  const std::string folder = folder_of(path);
  if (sys().access(folder.c_str(), W_OK | X_OK) != 0) {
    const int number = errno;  // quote() may change it
    return read_only(number, path, fmt::format("folder {}", quote(folder)));
  }
  return {};
}

Error sqlite_error(sqlite3* handle, int code, const std::string& path, bool writing, Duration patience) {
  const char* reason = sqlite3_errstr(code);
  const int number = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  const std::string name = quote(path);
  const std::string_view verb = writing ? "write" : "read";
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return fail(EBUSY, fmt::format("cannot {} catalog {}, another process has held it for more than {}",
                                     verb, name, print(patience)))
          .advise("nothing was changed; try again when it is done ('fuser FILE' names it)");
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_DBMOVED) {
        return fail(
            fmt::format("cannot {} catalog {}, the file was moved or deleted while in use", verb, name),
            "nothing was changed; put it back, or start again");
      }
      if (Status writable = check_writable(path); !writable) {
        return std::move(writable).error();
      }
      return read_only(EROFS, path, "the file");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(path, reason);
    case SQLITE_FULL:
      return fail(number == EDQUOT || number == EFBIG ? number : ENOSPC,
                  fmt::format("cannot {} catalog {}", verb, name))
          .advise(fmt::format("nothing was changed; free space in {}", quote(folder_of(path))));
    case SQLITE_NOMEM:
      return fail(ENOMEM, fmt::format("cannot {} catalog {}", verb, name));
    case SQLITE_TOOBIG:
      return fail(EFBIG,
                  fmt::format("cannot {} catalog {}, a value is larger than SQLite holds", verb, name));
    case SQLITE_CANTOPEN:
      if (code == SQLITE_CANTOPEN_SYMLINK) {
        return fail(EPERM, fmt::format("will not open catalog {}, a symbolic link was put in its way", name))
            .advise("remove the link");
      }
      return fail(number != 0 ? number : EACCES,
                  fmt::format("cannot open catalog {} or a file beside it", name))
          .advise("make the file and its folder readable and writable for this user");
    case SQLITE_IOERR:
      return fail(number != 0 ? number : EIO, fmt::format("cannot {} catalog {} ({})", verb, name, reason))
          .advise(writing ? kInDoubt : "check the device and the file system");
    case SQLITE_ERROR: {
      // Our own SQL is right, so the tables are not what the version promises.
      return damaged(path, handle != nullptr ? sqlite3_errmsg(handle) : reason);
    }
    default:
      return fail(fmt::format("cannot {} catalog {} ({})", verb, name,
                              handle != nullptr ? sqlite3_errmsg(handle) : reason));
  }
}

}  // namespace sluice
