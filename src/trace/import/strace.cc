// strace's output. What it prints of a call is enough to follow which file each descriptor is: tables of
// descriptors are inherited, shared by threads, and pass exec as they do in the kernel.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/import/import.h"
#include "trace/import/lines.h"
#include "trace/import/strace_line.h"
#include "trace/import/strace_names.h"
#include "trace/import/strace_tasks.h"

namespace sluice {
namespace {

bool is_clone(std::string_view name) {
  return name == "clone" || name == "clone3" || name == "fork" || name == "vfork";
}

// What Sluice does not trace either, by its name.
bool is_device(std::string_view path) {
  return (path.starts_with("/dev/") && !path.starts_with("/dev/shm/")) || path.starts_with("/proc/") ||
         path.starts_with("/sys/");
}

class Strace : public Importer {
 public:
  Strace(ImportSink& sink, std::string folder) : sink_(sink), folder_(std::move(folder)) {}

  Result<Line> take(std::string_view text) override {
    if (text.empty() || text.starts_with(" > ")) {  // of strace -k
      return Line::left_out;
    }
    // On a terminal strace breaks its own lines: "clone(flags=SIGCHLDstrace: Process 12 attached". Several
    // may follow each other before the rest of the line comes.
    std::string joined;
    if (const std::size_t at = text.find("strace: Process "); at != std::string_view::npos) {
      if (text.ends_with(" attached") || text.ends_with(" detached")) {
        broken_ += text.substr(0, broken_.size() < LineReader::longest ? at : 0);
        return Line::left_out;
      }
    } else if (!broken_.empty()) {
      joined = std::exchange(broken_, "") + std::string(text);
      text = joined;
    }
    const auto line = parse_strace_line(text);
    if (!line) {
      return Line::unreadable;
    }
    return take_line(*line, clock_.since_first(*line));
  }

 private:
  struct Context {
    StraceTask& task;
    const StraceCall& call;
    std::int64_t begin;
    std::int64_t duration;

    [[nodiscard]] std::string_view argument(std::size_t i) const {
      return i < call.arguments.size() ? call.arguments[i] : std::string_view();
    }
    [[nodiscard]] std::int64_t number(std::size_t i) const {
      return parse_strace_number(argument(i)).value_or(0);
    }
  };
  using Handler = Result<Line> (Strace::*)(const Context&);

  Result<Line> take_line(const StraceLine& line, std::int64_t now) {
    const std::uint32_t key = key_of(line.task);
    SLUICE_CHECK(know(key, now));
    StraceTask& task = tasks_[key];
    switch (line.kind) {
      case StraceLine::Kind::ended:
        tasks_.erase(key);
        return Line::used;
      case StraceLine::Kind::unfinished:
        task.name = line.name;
        task.begun = line.rest;
        task.begin = now;
        task.started_one = false;
        return Line::used;
      case StraceLine::Kind::resumed: {
        if (task.name != line.name) {
          return Line::left_out;  // it began before the trace did
        }
        const std::string whole = task.begun + std::string(line.rest);
        const std::string name = std::exchange(task.name, "");
        return take_call(task, name, whole, task.begin, std::max<std::int64_t>(now - task.begin, 0));
      }
      case StraceLine::Kind::call:
        return take_call(task, line.name, line.rest, now, 0);
      default:
        return Line::left_out;
    }
  }

  // Lines that name nobody are of the only one, or of the first.
  [[nodiscard]] std::uint32_t key_of(std::uint32_t id) const {
    return id != 0 ? id : tasks_.size() == 1 ? tasks_.begin()->first : main_;
  }

  // Afterwards there is a task of that number.
  Status know(std::uint32_t key, std::int64_t now) {
    if (tasks_.count(key) != 0) {
      return {};
    }
    for (auto& [other, task] : tasks_) {
      if (is_clone(task.name) && !task.started_one) {
        task.started_one = true;
        return begin_task(task, key, task.begun, now);
      }
    }
    if (const auto unnamed = tasks_.find(0); unnamed != tasks_.end()) {
      StraceTask first = std::move(unnamed->second);  // before there were several
      tasks_.erase(unnamed);
      tasks_[key] = std::move(first);
      main_ = key;
      return {};
    }
    if (tasks_.empty()) {
      main_ = key;
    }
    StraceTask& task = tasks_[key];
    task.id = key == 0 ? 1 : key;
    task.process = std::make_shared<StraceProcess>();
    task.process->id = task.id;
    task.process->folder = folder_;
    return {};
  }

  // A thread or a process that `parent` starts.
  Status begin_task(const StraceTask& parent, std::uint32_t id, std::string_view arguments,
                    std::int64_t now) {
    StraceTask task;
    task.id = id;
    if (arguments.find("CLONE_THREAD") != std::string_view::npos) {
      task.process = parent.process;
      tasks_[id] = std::move(task);
      return {};
    }
    task.process = std::make_shared<StraceProcess>(*parent.process);
    task.process->parent = parent.process->id;
    task.process->id = id;
    StraceTask& kept = tasks_[id] = std::move(task);
    return add_started(kept, now);
  }

  Status add_started(const StraceTask& task, std::int64_t now) {
    TraceEvent event;
    event.begin = now;
    event.operation = TraceEvent::started;
    event.path = task.process->program;
    event.result = task.process->parent;
    return add(task, event);
  }

  Status add(const StraceTask& task, TraceEvent event) {
    event.process = task.process->id;
    event.thread = task.id;
    return sink_.add(event);
  }

  Result<Line> take_call(StraceTask& task, std::string_view name, std::string_view text, std::int64_t begin,
                         std::int64_t duration) {
    static const std::unordered_map<std::string_view, Handler> handlers = {
        {"open", &Strace::on_open},
        {"openat", &Strace::on_open},
        {"openat2", &Strace::on_open},
        {"creat", &Strace::on_open},
        {"close", &Strace::on_close},
        {"close_range", &Strace::on_close_range},
        {"dup", &Strace::on_dup},
        {"dup2", &Strace::on_dup},
        {"dup3", &Strace::on_dup},
        {"fcntl", &Strace::on_fcntl},
        {"fcntl64", &Strace::on_fcntl},
        {"read", &Strace::on_read},
        {"pread64", &Strace::on_read},
        {"readv", &Strace::on_readv},
        {"preadv", &Strace::on_readv},
        {"preadv2", &Strace::on_readv},
        {"write", &Strace::on_write},
        {"pwrite64", &Strace::on_write},
        {"writev", &Strace::on_writev},
        {"pwritev", &Strace::on_writev},
        {"pwritev2", &Strace::on_writev},
        {"sendfile", &Strace::on_sendfile},
        {"sendfile64", &Strace::on_sendfile},
        {"copy_file_range", &Strace::on_copy},
        {"lseek", &Strace::on_seek},
        {"fsync", &Strace::on_sync},
        {"fdatasync", &Strace::on_data_sync},
        {"ftruncate", &Strace::on_truncate},
        {"ftruncate64", &Strace::on_truncate},
        {"fallocate", &Strace::on_allocate},
        {"fadvise64", &Strace::on_advise},
        {"fadvise64_64", &Strace::on_advise},
        {"unlink", &Strace::on_remove},
        {"unlinkat", &Strace::on_remove},
        {"rmdir", &Strace::on_remove},
        {"rename", &Strace::on_rename},
        {"renameat", &Strace::on_rename},
        {"renameat2", &Strace::on_rename},
        {"link", &Strace::on_link},
        {"linkat", &Strace::on_link},
        {"mkdir", &Strace::on_make_folder},
        {"mkdirat", &Strace::on_make_folder},
        {"chdir", &Strace::on_chdir},
        {"fchdir", &Strace::on_fchdir},
        {"execve", &Strace::on_exec},
        {"execveat", &Strace::on_exec},
        {"clone", &Strace::on_clone},
        {"clone3", &Strace::on_clone},
        {"fork", &Strace::on_clone},
        {"vfork", &Strace::on_clone},
    };
    const auto found = handlers.find(name);
    if (found == handlers.end()) {
      return Line::left_out;
    }
    const auto call = parse_strace_call(text);
    if (!call) {
      return Line::unreadable;
    }
    if (!call->has_result) {
      return Line::left_out;  // it is done again, or never ended
    }
    name_ = name;
    return (this->*found->second)(
        {.task = task, .call = *call, .begin = begin, .duration = call->duration.value_or(duration)});
  }

  // ---- descriptors

  // The file that an argument means; null where it is none that is followed. One that was open before the
  // trace began is told of, where -y says which it is.
  Result<std::shared_ptr<StraceFile>> file_of(const Context& context, std::string_view argument) {
    const auto fd = parse_strace_fd(argument);
    if (!fd || fd->number < 0 || fd->is_other) {
      return std::shared_ptr<StraceFile>();
    }
    auto& table = context.task.process->table;
    if (const auto found = table.find(fd->number); found != table.end()) {
      return found->second.file->number == 0 ? nullptr : found->second.file;
    }
    std::string path = unescape_strace(fd->path);
    if (path.ends_with(" (deleted)")) {
      path.resize(path.size() - 10);
    }
    if (path.empty() || is_device(path) || !is_good(path)) {
      return std::shared_ptr<StraceFile>();
    }
    TraceEvent event;
    event.begin = context.begin;
    event.operation = TraceEvent::open;
    event.flags = TraceEvent::was_open;
    event.file = sink_.new_file();
    event.path = sink_.number_of(path);
    event.result = fd->number;
    SLUICE_CHECK(add(context.task, event));
    auto file = std::make_shared<StraceFile>(
        StraceFile{.number = event.file, .path = std::move(path), .is_folder = false});
    context.task.process->put(fd->number, {.file = file, .ends_at_exec = false});
    return file;
  }

  static bool is_good(const std::string& path) {
    return path.find('\0') == std::string::npos && path.size() < 65536;
  }

  // Takes a descriptor away. Only the last one of a file closes it.
  Status drop(const Context& context, int number, std::int64_t duration, std::int64_t result) {
    auto& table = context.task.process->table;
    const auto found = table.find(number);
    if (found == table.end()) {
      return {};
    }
    const std::shared_ptr<StraceFile> file = found->second.file;
    table.erase(found);
    const bool last = std::none_of(table.begin(), table.end(),
                                   [&](const auto& entry) { return entry.second.file == file; });
    if (file->number == 0 || !last) {
      return {};
    }
    TraceEvent event;
    event.begin = context.begin;
    event.duration = duration;
    event.operation = TraceEvent::close;
    event.file = file->number;
    event.result = result;
    return add(context.task, event);
  }

  std::string folder_of_fd(const Context& context, std::string_view argument) {
    const auto fd = parse_strace_fd(argument);
    if (fd && !fd->path.empty() && !fd->is_other) {
      return unescape_strace(fd->path);
    }
    if (!fd || fd->number < 0) {
      return context.task.process->folder;
    }
    const auto found = context.task.process->table.find(fd->number);
    return found == context.task.process->table.end() ? context.task.process->folder
                                                      : found->second.file->path;
  }

  // ---- calls

  Result<Line> on_open(const Context& context) {
    const bool at = name_ == "openat" || name_ == "openat2";
    const std::size_t first = at ? 1 : 0;
    auto path = parse_strace_string(context.argument(first));
    if (!path || path->empty() || !is_good(*path)) {
      return context.call.result < 0 ? Line::left_out : Line::unreadable;
    }
    const std::string folder = at ? folder_of_fd(context, context.argument(0)) : context.task.process->folder;
    path = absolute(*path, folder);
    TraceEvent event;
    if (name_ == "openat2") {  // {flags=O_RDONLY, mode=0600, resolve=0}
      event.flags = open_flags_of(field(context.argument(2), "flags="));
      event.mode =
          static_cast<std::uint32_t>(parse_strace_number(field(context.argument(2), "mode=")).value_or(0));
    } else if (name_ == "creat") {
      event.flags = O_CREAT | O_WRONLY | O_TRUNC;
      event.mode = static_cast<std::uint32_t>(context.number(1));
    } else {
      event.flags = open_flags_of(context.argument(first + 1));
      event.mode = static_cast<std::uint32_t>(context.number(first + 2));
    }
    const auto fd = parse_strace_fd(context.call.annotation);
    const bool is_file = (event.flags & (O_DIRECTORY | O_PATH)) == 0 && !is_device(*path) &&
                         !(fd && !fd->path.empty() && fd->is_other);
    if (is_file) {
      event.begin = context.begin;
      event.duration = context.duration;
      event.operation = TraceEvent::open;
      event.path = sink_.number_of(*path);
      folders_.insert(folder_of(*path));
      event.file = context.call.result < 0 ? 0 : sink_.new_file();
      event.result = context.call.result;
      SLUICE_CHECK(add(context.task, event));
    }
    if (context.call.result >= 0) {
      auto file = std::make_shared<StraceFile>(StraceFile{
          .number = event.file, .path = std::move(*path), .is_folder = (event.flags & O_DIRECTORY) != 0});
      context.task.process->put(static_cast<int>(context.call.result),
                                {.file = std::move(file), .ends_at_exec = (event.flags & O_CLOEXEC) != 0});
    }
    return is_file ? Line::used : Line::left_out;
  }

  // "{flags=A|B, mode=0}" -> "A|B"
  static std::string_view field(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) {
      return "";
    }
    text = text.substr(at + name.size());
    return text.substr(0, text.find_first_of(",}"));
  }

  Result<Line> on_close(const Context& context) {
    SLUICE_TRY(const std::shared_ptr<StraceFile> file, file_of(context, context.argument(0)));
    const auto fd = parse_strace_fd(context.argument(0));
    if (fd && context.call.result != -EBADF) {
      SLUICE_CHECK(drop(context, fd->number, context.duration, context.call.result));
    }
    return file == nullptr ? Line::left_out : Line::used;
  }

  Result<Line> on_close_range(const Context& context) {
    if (context.call.result != 0) {
      return Line::left_out;
    }
    const std::int64_t first = context.number(0);
    const std::int64_t last = parse_strace_number(context.argument(1)).value_or(INT32_MAX);
    std::vector<int> all;
    for (auto& [number, descriptor] : context.task.process->table) {
      if (number >= first && number <= last) {
        if (context.argument(2).find("CLOSE_RANGE_CLOEXEC") != std::string_view::npos) {
          descriptor.ends_at_exec = true;
        } else {
          all.push_back(number);
        }
      }
    }
    for (const int number : all) {
      SLUICE_CHECK(drop(context, number, 0, 0));
    }
    return Line::used;
  }

  Result<Line> duplicate(const Context& context, bool ends_at_exec) {
    if (context.call.result < 0) {
      return Line::left_out;
    }
    SLUICE_TRY(const std::shared_ptr<StraceFile> file, file_of(context, context.argument(0)));
    const auto old = parse_strace_fd(context.argument(0));
    const int number = static_cast<int>(context.call.result);
    if (old && old->number == number) {
      return Line::left_out;
    }
    SLUICE_CHECK(drop(context, number, 0, 0));
    if (file != nullptr) {
      context.task.process->put(number, {.file = file, .ends_at_exec = ends_at_exec});
    }
    return Line::left_out;
  }

  Result<Line> on_dup(const Context& context) {
    return duplicate(context, context.argument(2) == "O_CLOEXEC");
  }

  Result<Line> on_fcntl(const Context& context) {
    const std::string_view what = context.argument(1);
    if (what == "F_DUPFD" || what == "F_DUPFD_CLOEXEC") {
      return duplicate(context, what == "F_DUPFD_CLOEXEC");
    }
    const auto fd = parse_strace_fd(context.argument(0));
    if (what == "F_SETFD" && fd && context.call.result == 0) {
      auto& table = context.task.process->table;
      if (const auto found = table.find(fd->number); found != table.end()) {
        found->second.ends_at_exec = context.argument(2) == "FD_CLOEXEC";
      }
    }
    return Line::left_out;
  }

  Result<Line> move(const Context& context, std::size_t which, TraceEvent event) {
    SLUICE_TRY(const std::shared_ptr<StraceFile> file, file_of(context, context.argument(which)));
    if (file == nullptr) {
      return Line::left_out;
    }
    event.begin = context.begin;
    event.duration = context.duration;
    event.file = file->number;
    event.result = context.call.result;
    SLUICE_CHECK(add(context.task, event));
    return Line::used;
  }

  // The offset of an argument: none, NULL and -1 are the file's own position; [8] and [8] => [12] are 8.
  static std::int64_t offset(std::string_view argument) {
    if (argument.starts_with('[')) {
      argument = argument.substr(1, argument.find(']') - 1);
    }
    const auto number = parse_strace_number(argument);
    return number && *number >= 0 ? *number : TraceEvent::at_position;
  }
  static std::uint64_t length(const Context& context, std::int64_t value) {
    // What is absurdly long was meant as "all there is".
    return value < 0 || value > INT64_MAX / 2
               ? static_cast<std::uint64_t>(std::max<std::int64_t>(context.call.result, 0))
               : static_cast<std::uint64_t>(value);
  }
  Result<Line> simple(const Context& context, std::uint8_t operation) {
    TraceEvent event;
    event.operation = operation;
    event.length = length(context, context.number(2));
    event.offset = offset(context.argument(3));
    return move(context, 0, event);
  }
  Result<Line> vector(const Context& context, std::uint8_t operation) {
    TraceEvent event;
    event.operation = operation;
    event.length = static_cast<std::uint64_t>(std::max<std::int64_t>(context.call.result, 0));
    event.offset = offset(context.argument(3));
    return move(context, 0, event);
  }
  Result<Line> on_read(const Context& context) { return simple(context, TraceEvent::read); }
  Result<Line> on_write(const Context& context) { return simple(context, TraceEvent::write); }
  Result<Line> on_readv(const Context& context) { return vector(context, TraceEvent::read); }
  Result<Line> on_writev(const Context& context) { return vector(context, TraceEvent::write); }

  // A read of one and a write of the other.
  Result<Line> copy(const Context& context, std::size_t from, std::string_view from_offset, std::size_t to,
                    std::string_view to_offset) {
    TraceEvent event;
    event.length = static_cast<std::uint64_t>(std::max<std::int64_t>(context.call.result, 0));
    event.operation = TraceEvent::read;
    event.offset = offset(from_offset);
    SLUICE_TRY(const Line read, move(context, from, event));
    event.operation = TraceEvent::write;
    event.offset = offset(to_offset);
    SLUICE_TRY(const Line written, move(context, to, event));
    return read == Line::used ? read : written;
  }
  Result<Line> on_sendfile(const Context& context) { return copy(context, 1, context.argument(2), 0, ""); }
  Result<Line> on_copy(const Context& context) {
    return copy(context, 0, context.argument(1), 2, context.argument(3));
  }

  Result<Line> on_seek(const Context& context) {
    TraceEvent event;
    event.operation = TraceEvent::seek;
    event.offset = context.number(1);
    event.flags = whence_of(context.argument(2));
    return move(context, 0, event);
  }
  Result<Line> sync(const Context& context, std::int32_t flags) {
    const auto fd = parse_strace_fd(context.argument(0));
    const auto& table = context.task.process->table;
    const auto found = fd ? table.find(fd->number) : table.end();
    // Many open a folder as if it were a file: what has files in it is none.
    if (found == table.end() ||
        (!found->second.file->is_folder && folders_.count(found->second.file->path) == 0)) {
      return move(context, 0, {.flags = flags, .operation = TraceEvent::sync});
    }
    return change_names(context, {.flags = flags, .operation = TraceEvent::sync_folder},
                        found->second.file->path, std::nullopt);
  }
  Result<Line> on_sync(const Context& context) { return sync(context, 0); }
  Result<Line> on_data_sync(const Context& context) { return sync(context, 1); }
  Result<Line> on_truncate(const Context& context) {
    TraceEvent event;
    event.operation = TraceEvent::truncate;
    event.length = static_cast<std::uint64_t>(std::max<std::int64_t>(context.number(1), 0));
    return move(context, 0, event);
  }
  Result<Line> on_allocate(const Context& context) {
    TraceEvent event;
    event.operation = TraceEvent::allocate;
    event.flags = allocate_mode_of(context.argument(1));
    event.offset = context.number(2);
    event.length = static_cast<std::uint64_t>(std::max<std::int64_t>(context.number(3), 0));
    return move(context, 0, event);
  }
  Result<Line> on_advise(const Context& context) {
    TraceEvent event;
    event.operation = TraceEvent::advise;
    event.offset = context.number(1);
    event.length = static_cast<std::uint64_t>(std::max<std::int64_t>(context.number(2), 0));
    event.flags = advice_of(context.argument(3));
    return move(context, 0, event);
  }

  // The name at that argument, relative to the folder of the one before where `at`; none where that cannot be
  // told.
  std::optional<std::string> name(const Context& context, bool at, std::size_t which) {
    const auto path = parse_strace_string(context.argument(which));
    if (!path || path->empty() || !is_good(*path)) {
      return std::nullopt;
    }
    const auto fd = at ? parse_strace_fd(context.argument(which - 1)) : std::nullopt;
    if (fd && fd->number >= 0 && fd->path.empty() && !path->starts_with('/') &&
        context.task.process->table.count(fd->number) == 0) {
      return std::nullopt;
    }
    return absolute(*path,
                    at ? folder_of_fd(context, context.argument(which - 1)) : context.task.process->folder);
  }
  Result<Line> change_names(const Context& context, TraceEvent event, const std::optional<std::string>& path,
                            const std::optional<std::string>& other) {
    if (!path || is_device(*path)) {
      return Line::left_out;
    }
    event.begin = context.begin;
    event.duration = context.duration;
    event.path = sink_.number_of(*path);
    event.other = other ? sink_.number_of(*other) : 0;
    folders_.insert(folder_of(*path));
    event.result = context.call.result;
    SLUICE_CHECK(add(context.task, event));
    return Line::used;
  }
  Result<Line> on_remove(const Context& context) {
    const bool at = name_ == "unlinkat";
    const int flags = name_ == "rmdir" ? AT_REMOVEDIR : name_flags_of(context.argument(2));
    return change_names(context, {.flags = flags, .operation = TraceEvent::remove},
                        name(context, at, at ? 1 : 0), std::nullopt);
  }
  Result<Line> on_make_folder(const Context& context) {
    const bool at = name_ == "mkdirat";
    return change_names(context, {.operation = TraceEvent::make_folder}, name(context, at, at ? 1 : 0),
                        std::nullopt);
  }
  Result<Line> two_names(const Context& context, std::uint8_t operation, bool at) {
    const auto other = name(context, at, at ? 3 : 1);
    if (!other) {
      return Line::left_out;
    }
    return change_names(context, {.flags = name_flags_of(context.argument(4)), .operation = operation},
                        name(context, at, at ? 1 : 0), other);
  }
  Result<Line> on_rename(const Context& context) {
    return two_names(context, TraceEvent::rename, name_ != "rename");
  }
  Result<Line> on_link(const Context& context) {
    return two_names(context, TraceEvent::link, name_ != "link");
  }

  Result<Line> on_chdir(const Context& context) {
    const auto path = parse_strace_string(context.argument(0));
    if (path && context.call.result == 0 && is_good(*path)) {
      context.task.process->folder = absolute(*path, context.task.process->folder);
    }
    return Line::left_out;
  }
  Result<Line> on_fchdir(const Context& context) {
    if (context.call.result == 0) {
      context.task.process->folder = folder_of_fd(context, context.argument(0));
    }
    return Line::left_out;
  }

  Result<Line> on_exec(const Context& context) {
    const std::size_t first = name_ == "execveat" ? 1 : 0;
    const auto path = parse_strace_string(context.argument(first));
    if (context.call.result != 0) {
      return Line::left_out;
    }
    StraceProcess& process = *context.task.process;
    if (path && is_good(*path)) {
      process.program = sink_.number_of(absolute(*path, process.folder));
      if ((*sink_.about)["command"].empty()) {
        (*sink_.about)["command"].push_back(escape(*path));
      }
    }
    for (const int number : process.ending_at_exec()) {
      SLUICE_CHECK(drop(context, number, 0, 0));
    }
    SLUICE_CHECK(add_started(context.task, context.begin));
    return Line::used;
  }

  Result<Line> on_clone(const Context& context) {
    const auto child = context.call.result;
    if (child <= 0 || child > INT32_MAX) {
      return Line::left_out;
    }
    if (!context.task.started_one || tasks_.count(static_cast<std::uint32_t>(child)) == 0) {
      std::string flags;
      for (const std::string_view argument : context.call.arguments) {
        flags += argument;
      }
      SLUICE_CHECK(begin_task(context.task, static_cast<std::uint32_t>(child), flags, context.begin));
    }
    context.task.started_one = false;
    return Line::used;
  }

  ImportSink& sink_;
  std::string folder_;
  std::map<std::uint32_t, StraceTask> tasks_;  // by their number in the input; 0 = it is not known yet
  std::uint32_t main_ = 0;
  std::string_view name_;
  std::string broken_;
  std::unordered_set<std::string> folders_;  // of all files that were named
  StraceClock clock_;
};

bool is_like_strace(std::string_view line) {
  return parse_strace_line(line).has_value();
}

std::unique_ptr<Importer> make_strace(ImportSink& sink, const std::string& folder) {
  return std::make_unique<Strace>(sink, folder);
}

}  // namespace

extern const ImportFormat import_strace = {
    .name = "strace", .help = "strace -f -tt -T -y", .is_like = is_like_strace, .make = make_strace};

}  // namespace sluice
