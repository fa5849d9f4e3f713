#include "replay/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

constexpr std::size_t longest = 4096;  // of a path that has folders

}  // namespace

bool PathNames::is_folder(const std::string& path) const {
  return folders_.count(XXH64(path.data(), path.size(), 0)) != 0;
}

PathNames::Now& PathNames::at(std::uint32_t path) {
  if (path >= now_.size()) {
    now_.resize(path + 1);
  }
  return now_[path];
}

std::uint32_t PathNames::new_name(std::uint32_t path) {
  Now& now = at(path);
  if (now.numbers == 0) {
    const std::string& text = trace_.path(path);
    for (std::size_t end = text.size() > longest ? std::string::npos : text.rfind('/');
         end != std::string::npos && end > 0 && folders_.insert(XXH64(text.data(), end, 0)).second;
         end = text.rfind('/', end - 1)) {
    }
  }
  const auto out = static_cast<std::uint32_t>(out_.names.size());
  out_.names.push_back({.path = path, .number = now.numbers++});
  return now.name = out;
}

std::uint32_t PathNames::make(std::uint32_t path, bool new_name) {
  const Now before = at(path);
  const bool own = new_name || before.file != 0 || before.name == 0;
  const auto out = static_cast<std::uint32_t>(out_.files.size());
  ReplayFile& file = out_.files.emplace_back();
  file.name = own ? this->new_name(path) : before.name;
  file.follows = !own;
  at(path).file = out;
  return out;
}

void PathNames::expect(std::uint32_t path) {
  if (at(path).file == 0) {
    ReplayFile& file = out_.files[make(path, true)];
    file.prepared = true;
  }
}

void PathNames::put_at(std::uint32_t path, std::uint32_t file) {
  if (at(path).name == 0) {
    new_name(path);
  }
  at(path).file = file;
}

ReplayChange PathNames::remove(std::uint32_t path) {
  expect(path);
  at(path).file = 0;
  return {.name = name_at(path), .other = 0};
}

ReplayChange PathNames::move(const TraceEvent& event) {
  expect(event.path);
  const bool exchanges =
      event.operation == TraceEvent::rename && (static_cast<unsigned>(event.flags) & RENAME_EXCHANGE) != 0;
  if (exchanges) {
    expect(event.other);
  } else if ((event.operation == TraceEvent::link ||
              (static_cast<unsigned>(event.flags) & RENAME_NOREPLACE) != 0) &&
             file_at(event.other) != 0) {
    new_name(event.other);  // what was there must be gone
  }
  const std::uint32_t moved = file_at(event.path);
  const std::uint32_t other = file_at(event.other);
  put_at(event.other, moved);
  if (event.operation == TraceEvent::rename) {
    at(event.path).file = exchanges ? other : 0;
  }
  return {.name = name_at(event.path), .other = name_at(event.other)};
}

ReplayChange PathNames::sync(std::uint32_t path) {
  Now& now = at(path);
  if (now.folder == 0) {
    now.folder = static_cast<std::uint32_t>(out_.names.size());
    out_.names.push_back({.path = path, .is_folder = true});
  }
  return {.name = now.folder, .other = 0};
}

void PathNames::change(const TraceEvent& event, bool covered) {
  const bool folder = is_folder(trace_.path(event.path)) ||
                      (event.operation == TraceEvent::remove && (event.flags & AT_REMOVEDIR) != 0);
  ReplayChange out;
  if (event.result < 0 || !covered) {
    out_.changes.push_back(out);
    return;
  }
  switch (event.operation) {
    case TraceEvent::remove:
      out = folder ? out : remove(event.path);
      break;
    case TraceEvent::rename:
    case TraceEvent::link:
      out = folder || event.path == event.other ? out : move(event);
      break;
    case TraceEvent::sync_folder:
      out = sync(event.path);
      break;
    default:
      break;  // folders are there beforehand
  }
  for (const std::uint32_t path : {out.name == 0 ? 0 : event.path, out.other == 0 ? 0 : event.other}) {
    if (path != 0 && event.operation != TraceEvent::sync_folder) {
      out_.changed.resize(std::max<std::size_t>(out_.changed.size(), path + 1));
      out_.changed[path] = 1;
    }
  }
  out_.changes.push_back(out);
}

}  // namespace sluice
