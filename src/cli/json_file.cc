#include "cli/json_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice {

Result<JsonFile> JsonFile::open(const std::string& where) {
  if (where.empty()) {
    return JsonFile(UniqueFd());
  }
  if (where.starts_with('-')) {
    return bad_input(fmt::format("--json takes a file here, and not {}", quote(where)),
                     "write --json=FILE or --json=fd:N before the command");
  }
  if (!where.starts_with("fd:")) {
    UniqueFd out(sys().open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    return out ? Result<JsonFile>(JsonFile(std::move(out)))
               : Errno().fail(fmt::format("cannot write {}", quote(where)));
  }
  auto number = parse_count(where.substr(3));
  if (!number) {
    return bad_input(fmt::format("{} is no descriptor", quote(where)), "write --json=fd:N, or --json=FILE");
  }
  UniqueFd out(fcntl(static_cast<int>(*number), F_DUPFD_CLOEXEC, 3));
  return out ? Result<JsonFile>(JsonFile(std::move(out)))
             : Errno().fail(fmt::format("cannot write JSON to descriptor {}", *number));
}

Status JsonFile::write(const Json& json) const {
  const std::string whole = write_json(json, 2) + "\n";
  std::string_view text = whole;
  while (!text.empty()) {
    const ssize_t done = sys().write(fd_.get(), text.data(), text.size());
    if (done < 0 && errno != EINTR) {
      return Errno().fail("cannot write JSON");
    }
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(done, 0)));
  }
  return {};
}

}  // namespace sluice
