#include "pipeline/stack.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/stage_name.h"

namespace sluice {
namespace {

constexpr std::size_t longest_spec = 4096;
// Of a library: as it was at first, and with `wants`. What is added later does not count for that.
constexpr std::size_t least_size = offsetof(sluice_stage, wants);
constexpr std::size_t size_with_wants = least_size + sizeof(sluice_stage::wants);

std::int64_t call(const Calls& calls, const sluice_activity& activity) {
  const int fd = activity.descriptor;
  const auto offset = static_cast<off_t>(activity.offset);
  const auto length = static_cast<std::size_t>(activity.length);
  const bool here = activity.offset == SLUICE_AT_POSITION;
  switch (static_cast<sluice_operation>(activity.operation)) {
    case SLUICE_OPEN:
      return calls.openat(fd, activity.target, activity.flags, activity.mode);
    case SLUICE_CLOSE:
      return calls.close(fd);
    case SLUICE_READ:
      return here ? calls.read(fd, activity.data, length) : calls.pread(fd, activity.data, length, offset);
    case SLUICE_WRITE:
      return here ? calls.write(fd, activity.data, length) : calls.pwrite(fd, activity.data, length, offset);
    case SLUICE_SEEK:
      return calls.lseek(fd, offset, activity.flags);
    case SLUICE_SYNC:
      return activity.flags == 1 ? calls.fdatasync(fd) : calls.fsync(fd);
    case SLUICE_TRUNCATE:
      return calls.ftruncate(fd, static_cast<off_t>(activity.length));
    case SLUICE_ALLOCATE:
      return calls.fallocate(fd, activity.flags, offset, static_cast<off_t>(activity.length));
    case SLUICE_REMOVE:
    case SLUICE_RENAME:
    case SLUICE_LINK:
    case SLUICE_MAKE_FOLDER:
    case SLUICE_SYNC_FOLDER:
      if (calls.change_names != nullptr) {
        return calls.change_names();
      }
      break;  // a stage cannot add these
    case SLUICE_SETTLE:
    case SLUICE_ADVISE:
      return 0;
    case SLUICE_OPERATIONS:
      break;
  }
  errno = EINVAL;
  return -1;
}

}  // namespace

std::int64_t Stack::pass_on(const sluice_next* next, sluice_activity* activity) {
  const auto& here = static_cast<const Below&>(*next);
  return here.stack.act_from(here.calls, here.states, here.index, *activity);
}

std::int64_t Stack::perform(const Calls& calls, sluice_activity& activity) {
  activity.result = call(calls, activity);
  activity.error = activity.result < 0 ? errno : 0;
  return activity.result;
}

bool Stack::add(std::string_view spec, std::span<const sluice_stage* const> known, std::span<char> error) {
  const auto refuse = [&](const char* why) {
    std::snprintf(error.data(), error.size(), "%.*s: %s", static_cast<int>(spec.size()), spec.data(), why);
    return false;
  };
  std::array<char, longest_spec> text = {};
  if (count_ == most_stages) {
    return refuse("too many stages");
  }
  if (spec.empty() || spec.size() >= text.size()) {
    return refuse("no stage has such a name");
  }
  std::memcpy(text.data(), spec.data(), spec.size());
  const std::string_view name = stage_name(spec);
  const char* parameters = "";
  if (name.size() < spec.size()) {
    text[name.size()] = 0;
    parameters = text.data() + name.size() + 1;
  }
  Member member;
  if (!is_library(spec)) {
    for (const sluice_stage* stage : known) {
      member.stage = stage->name == name ? stage : member.stage;
    }
    if (member.stage == nullptr) {
      return refuse("there is no such stage; `sluice stages` lists them, a library needs a '/' in its name");
    }
  } else {
    void* library = dlopen(text.data(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return refuse(dlerror());
    }
    member.stage = static_cast<const sluice_stage*>(dlsym(library, "sluice_stage"));
    if (member.stage == nullptr) {
      return refuse("the library does not export sluice_stage");
    }
    if (member.stage->version != SLUICE_STAGE_VERSION || member.stage->size < least_size ||
        member.stage->act == nullptr) {
      return refuse("the library was built for another version of sluice/stage.h");
    }
    const sluice_stage& found = *member.stage;
    for (const char* one : {found.name, found.summary, found.scope, found.interference, found.state,
                            found.semantics, found.parameters}) {
      if (one == nullptr) {
        return refuse("the library leaves one of the texts of its stage out");
      }
    }
  }
  if (member.stage->start != nullptr) {
    std::array<char, 512> why = {};
    if (member.stage->start(parameters, &member.state, why.data(), why.size()) != 0) {
      return refuse(why.data());
    }
  } else if (*parameters != 0) {
    return refuse("takes no parameters");
  }
  member.operations = member.stage->operations;
  if (member.stage->size >= size_with_wants && member.stage->wants != nullptr) {
    member.operations &= member.stage->wants(member.state);
  }
  members_[count_++] = member;
  operations_ |= member.operations;
  const auto wanted = [&](std::uint32_t operations) { return (member.operations & operations) != 0; };
  const std::string_view changes = member.stage->interference;
  const bool changing = changes != "none" && changes != "timing";
  const bool interferes = changing && wanted(SLUICE_BIT(SLUICE_READ) | SLUICE_BIT(SLUICE_WRITE));
  needs_data_ = needs_data_ || interferes;
  changes_opens_ = changes_opens_ || (changing && wanted(SLUICE_BIT(SLUICE_OPEN)));
  combines_ =
      combines_ || (std::string_view(member.stage->name) == "rewrite" && wanted(SLUICE_BIT(SLUICE_SETTLE)));
  // One that can be told to settle leaves things as if it were not there.
  interferes_ = interferes_ || (interferes && !wanted(SLUICE_BIT(SLUICE_SETTLE)));
  broken_ = broken_ || std::string_view(member.stage->semantics) == "broken";
  foreign_ = foreign_ || name.find('/') != std::string_view::npos;
  return true;
}

std::string_view print(sluice_operation operation) {
  constexpr std::array<std::string_view, SLUICE_OPERATIONS> names = {"open", "close", "read",     "write",
                                                                     "seek", "sync",  "truncate", "allocate"};
  constexpr std::array<std::string_view, 5> of_names = {"remove", "rename", "link", "mkdir", "syncdir"};
  if (operation >= SLUICE_REMOVE && operation <= SLUICE_SYNC_FOLDER) {
    return of_names[static_cast<std::size_t>(operation - SLUICE_REMOVE)];
  }
  return operation < SLUICE_OPERATIONS ? names[operation] : "";
}

}  // namespace sluice
