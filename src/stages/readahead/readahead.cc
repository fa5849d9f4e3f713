// Fetches ahead what a program will read, where its pattern or a hint says what that is: the kernel does it,
// and the program finds it in memory.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "pipeline/parameters.h"
#include "pipeline/pool.h"
#include "pipeline/settings.h"
#include "stages/readahead/reader.h"

namespace sluice::readahead {
namespace {

constinit SettingsRoom<Settings> all_settings;

// Files that find none are left alone; so are those of which nothing is to be fetched.
Pool<Reader, 4096> pool;
char left_alone = 0;

bool parse_pattern(std::string_view text, Pattern& out) {
  constexpr std::array<std::string_view, 4> names = {"auto", "sequential", "strided", "random"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) {
      out = static_cast<Pattern>(i);
      return true;
    }
  }
  return false;
}

int start(const char* text, void** state, char* error, std::size_t error_size) {
  Parameters parameters(text, error, error_size);
  Settings& out = all_settings.take();
  while (parameters.next()) {
    if (parameters.name == "pattern") {
      if (!parse_pattern(parameters.value, out.pattern)) {
        return parameters.refuse("auto, sequential, strided or random");
      }
    } else if (parameters.name == "window") {
      if (!parameters.number(out.window) || out.window < 2 * page || out.window > 1 << 30) {
        return parameters.refuse("not a size from 8K to 1G");
      }
    } else if (parameters.name == "memory") {
      if (!parameters.number(out.memory)) {
        return parameters.refuse("not a size; write 64M");
      }
    } else {
      return parameters.refuse("readahead has window, memory and pattern");
    }
  }
  if (!parameters.good()) {
    return -1;
  }
  if (out.memory < out.window) {
    parameters.name = "memory";
    parameters.value = "";
    return parameters.refuse("memory is at least as much as window");
  }
  *state = &out;
  return 0;
}

// Of a file that was there before us nobody told how it was opened, or where its position is.
void* begin_file(const Settings& settings, const sluice_activity& activity) {
  const bool opened = activity.operation == SLUICE_OPEN;
  const long flags = opened ? activity.flags : syscall(SYS_fcntl, activity.descriptor, F_GETFL);
  const bool useless = flags < 0 || (flags & O_DIRECT) != 0 || (flags & O_ACCMODE) == O_WRONLY ||
                       settings.pattern == Pattern::random;
  Reader* reader = useless ? nullptr : pool.take();
  if (reader == nullptr) {
    return &left_alone;
  }
  // What follows has been done already.
  std::int64_t position = opened ? 0 : position_of(activity.descriptor);
  if (!opened && activity.offset == SLUICE_AT_POSITION && activity.result > 0) {
    position -= activity.result;
  }
  reader->begin(position);
  return reader;
}

void follow(const Settings& settings, Reader& reader, const sluice_activity& activity) {
  const bool here = activity.offset == SLUICE_AT_POSITION;
  switch (static_cast<sluice_operation>(activity.operation)) {
    case SLUICE_READ:
      if (here) {
        reader.read_at_position(settings, activity.descriptor, activity.result);
      } else {
        reader.read(settings, activity.descriptor, activity.offset, activity.result);
      }
      break;
    case SLUICE_WRITE:
      if (here) {
        reader.move(activity.result);
      }
      break;
    case SLUICE_SEEK:
      reader.seek(activity.result);
      break;
    case SLUICE_ADVISE:
      reader.hear(settings, activity.descriptor, activity.offset, static_cast<std::int64_t>(activity.length),
                  activity.flags);
      break;
    default:
      break;
  }
}

// It looks on: what it is told of has been done.
std::int64_t act(void* state, void** file_state, sluice_activity* activity, const sluice_next*) {
  const auto& settings = *static_cast<const Settings*>(state);
  if (activity->operation == SLUICE_CLOSE) {
    if (*file_state != nullptr && *file_state != &left_alone) {
      auto* reader = static_cast<Reader*>(*file_state);
      reader->end();
      pool.give_back(reader);
    }
    *file_state = nullptr;
    return 0;
  }
  if (activity->result < 0 || *file_state == &left_alone) {
    return 0;
  }
  const int saved = errno;
  if (*file_state == nullptr) {
    *file_state = begin_file(settings, *activity);
  }
  const bool moved = activity->operation != SLUICE_READ || activity->result > 0;
  if (moved && *file_state != &left_alone) {
    follow(settings, *static_cast<Reader*>(*file_state), *activity);
  }
  errno = saved;
  return 0;
}

}  // namespace
}  // namespace sluice::readahead

namespace sluice {

extern const sluice_stage stage_readahead = {
    .size = sizeof(sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "readahead",
    .summary = "fetches ahead where pattern or hint says what is read next",
    .scope = "process",
    .interference = "timing",
    .state = "counters",
    .semantics = "kept",
    .parameters =
        "window=1M how far ahead at most\nmemory=64M of a process, fetched and not read yet\n"
        "pattern=auto how files are read: auto, sequential, strided, random",
    .operations = SLUICE_BIT(SLUICE_OPEN) | SLUICE_BIT(SLUICE_CLOSE) | SLUICE_BIT(SLUICE_READ) |
                  SLUICE_BIT(SLUICE_WRITE) | SLUICE_BIT(SLUICE_SEEK) | SLUICE_BIT(SLUICE_ADVISE),
    .aside = 1,
    .start = readahead::start,
    .act = readahead::act,
    .wants = nullptr,
};

}  // namespace sluice
