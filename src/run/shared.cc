#include "run/shared.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>
#include <set>
#include <utility>

#include "base/sys.h"
#include "base/text.h"
#include "base/units.h"
#include "run/recover.h"
#include "stages/registry.h"

namespace sluice {
namespace {

constexpr const char* folder = "/dev/shm";
constexpr std::string_view prefix = "sluice-run-";
constexpr const char* more_room =
    "remove what nobody needs there, or have more: mount -o remount,size=SIZE /dev/shm, as root";

// Everything behind the header, one after another.
struct Layout {
  std::vector<AreaRule> rules;
  std::vector<PatternToken> tokens;
  std::string text;
};

Layout lay_out(const std::vector<Stacked>& rules) {
  Layout out;
  const auto put = [&](std::string_view text) {
    const auto at = static_cast<std::uint32_t>(out.text.size());
    out.text += text;
    return std::pair(at, static_cast<std::uint32_t>(text.size()));
  };
  for (const Stacked& rule : rules) {
    AreaRule row;
    std::tie(row.prefix, row.prefix_size) = put(rule.files.prefix());
    std::tie(row.stages, row.stages_size) = put(join(rule.stages, "\n"));
    row.tokens = static_cast<std::uint32_t>(out.tokens.size());
    row.token_count = static_cast<std::uint32_t>(rule.files.tokens().size());
    out.tokens.insert(out.tokens.end(), rule.files.tokens().begin(), rule.files.tokens().end());
    out.rules.push_back(row);
  }
  return out;
}

constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + 63) / 64 * 64;
}

template <class T>
void copy_to(Area* area, std::uint64_t offset, const T& from) {
  if (!from.empty()) {
    std::memcpy(reinterpret_cast<std::byte*>(area) + offset, from.data(), from.size() * sizeof(from[0]));
  }
}

// The chunks are as memory is that nobody wrote to yet: zeros.
void begin_trace(AreaTrace& trace, const std::vector<std::string>& points) {
  trace.chunk_count = AreaTrace::first_chunks;
  for (const std::string& name : points) {
    trace.points.add(name);
  }
}

// Of "NAME:PARAMETERS".
std::string_view name_of(std::string_view spec) {
  return spec.substr(0, spec.find(':'));
}

// Whether what it notes is told apart by where in the stack it stands.
bool has_points(std::string_view spec) {
  return name_of(spec) == "stats" || name_of(spec) == "trace";
}

const sluice_stage* find_stage(std::string_view spec) {
  for (const sluice_stage* stage : stages()) {
    if (stage->name == name_of(spec)) {
      return stage;
    }
  }
  return nullptr;
}

}  // namespace

std::string point_of(std::string_view spec) {
  constexpr std::string_view parameter = ":point=";
  const std::size_t at = spec.find(parameter);
  return std::string(at == std::string_view::npos ? default_point : spec.substr(at + parameter.size()));
}

Result<std::vector<std::string>> points_of(const std::vector<Stacked>& rules, std::string_view stage) {
  std::vector<std::string> out;
  for (const Stacked& rule : rules) {
    for (const std::string& spec : rule.stages) {
      if (name_of(spec) == stage && std::find(out.begin(), out.end(), point_of(spec)) == out.end()) {
        out.push_back(point_of(spec));
      }
    }
  }
  if (out.size() > PointNames::most) {
    return bad_input(fmt::format("{} different points of {} are too many", out.size(), stage),
                     fmt::format("there may be {}", PointNames::most));
  }
  return out;
}

bool needs_keeper(const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [](const std::string& spec) {
    const sluice_stage* stage = find_stage(spec);
    return stage != nullptr && std::string_view(stage->state) == "buffers";
  });
}

std::string cannot_be_left_out(const std::vector<std::string>& wanted) {
  for (const std::string& spec : wanted) {
    const sluice_stage* stage = find_stage(spec);
    if (stage == nullptr || std::string_view(stage->semantics) == "broken") {
      return fmt::format("stage {}", name_of(spec));
    }
  }
  return "";
}

std::vector<std::string> leftover_areas() {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) {
      out.push_back(entry.path().string());
    }
  }
  return out;
}

Status check_stages(const std::vector<std::string>& stages_wanted) {
  Stack stack;
  for (const std::string& spec : stages_wanted) {
    if (has_points(spec) && std::count_if(stages_wanted.begin(), stages_wanted.end(), [&](const auto& other) {
                              return name_of(other) == name_of(spec) && point_of(other) == point_of(spec);
                            }) > 1) {
      return bad_input(fmt::format("{} stands in a stack twice under one name", name_of(spec)),
                       fmt::format("name one of them, such as {}:point=below", name_of(spec)));
    }
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(stages_wanted.begin(), stages_wanted.end(),
                       [&](const std::string& spec) { return name_of(spec) == name; });
  };
  if (has("seekfree") && has("rewrite")) {
    return bad_input("seekfree makes no files that rewrite could bring home", "leave one of them out");
  }
  if (has("smallfiles") && has("rewrite")) {
    return bad_input("smallfiles keeps in memory what rewrite would make elsewhere", "leave one of them out");
  }
  // The keeper would wait for the lease that it holds itself.
  const auto leases = [](const std::string& spec) {
    return name_of(spec) == "writeback" && spec.find("level=close") == std::string::npos;
  };
  if (std::any_of(stages_wanted.begin(), stages_wanted.end(), leases) && has("drop-unsynced")) {
    return bad_input("drop-unsynced copies files that writeback keeps others from",
                     "write writeback:level=close");
  }
  // What is kept back may be written by the keeper, which has none of the stages below.
  const std::string* keeping = nullptr;
  for (const std::string& spec : stages_wanted) {
    const sluice_stage* stage = find_stage(spec);
    if (stage != nullptr && std::string_view(stage->state) == "buffers" &&
        std::count_if(stages_wanted.begin(), stages_wanted.end(),
                      [&](const std::string& other) { return name_of(other) == name_of(spec); }) > 1) {
      return bad_input(fmt::format("{} can stand in a stack once", name_of(spec)), "leave one of them out");
    }
    if (spec.find('\n') != std::string::npos) {
      return bad_input("a stage has a line break in its name");
    }
    std::array<char, 1024> why = {};
    if (!stack.add(spec, stages(), why)) {
      return bad_input(fmt::format("stage {}", why.data()));
    }
    const bool keeps = stack.last_wants(SLUICE_SETTLE);
    const std::string_view changes = stage == nullptr ? "data" : stage->interference;
    if (keeping != nullptr && keeps) {
      return bad_input(
          fmt::format("{} cannot stand below {}: both keep data back", name_of(spec), name_of(*keeping)),
          "leave one of them out");
    }
    if (keeping != nullptr && changes == "data") {
      return bad_input(fmt::format("{} cannot stand below {}", name_of(spec), name_of(*keeping)),
                       "name the one that keeps data back last");
    }
    keeping = keeps ? &spec : keeping;
  }
  return {};
}

Result<SharedArea> SharedArea::make(const std::vector<Stacked>& rules, const AreaNeeds& needs) {
  const std::uint64_t memory = needs.memory;
  std::set<std::vector<std::string>> different;
  for (const Stacked& rule : rules) {
    different.insert(rule.stages);
  }
  if (rules.size() > most_rules || different.size() > most_stacks) {
    return bad_input(
        fmt::format("{} globs with {} different stacks are too many", rules.size(), different.size()),
        fmt::format("there may be {} and {}", most_rules, most_stacks));
  }
  SLUICE_TRY(const std::vector<std::string> count_points, points_of(rules, "stats"));
  const Layout layout = lay_out(rules);
  Area header;
  header.rule_count = static_cast<std::uint32_t>(layout.rules.size());
  header.rules = aligned(sizeof(Area));
  header.tokens = aligned(header.rules + layout.rules.size() * sizeof(AreaRule));
  header.text = aligned(header.tokens + layout.tokens.size() * sizeof(PatternToken));
  header.paths = aligned(header.text + layout.text.size());
  header.files = aligned(header.paths + area_paths);
  header.bytes = aligned(header.files + area_files * sizeof(AreaFile));
  if (memory > 0 || needs.names) {
    header.moves = header.bytes;
    header.bytes = aligned(header.moves + moves_bytes);
  }
  if (memory > 0) {
    header.parts = header.bytes;
    header.bytes = aligned(header.parts + sizeof(AreaParts));
  }
  std::uint64_t needed = header.bytes;
  constexpr std::uint64_t page = 4096;
  if (memory > 0) {
    header.pending = header.bytes;
    header.buffers = aligned(header.pending + pending_buckets * sizeof(std::uint32_t));
    header.blocks = (header.buffers + area_buffers * sizeof(Buffer) + page - 1) / page * page;
    header.block_count =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(memory / block_bytes, 1, most_blocks));
    header.bytes = header.blocks + header.block_count * block_stride;
    needed = header.blocks;
  }
  const bool traced = !needs.trace_points.empty();
  if (traced) {
    header.trace = (header.bytes + page - 1) / page * page;
    header.bytes = header.trace + AreaTrace::bytes(AreaTrace::most_chunks);
  }
  SharedArea out;
  // It has no name before it is locked: whoever clears up must not find it then.
  out.fd_ = UniqueFd(sys().open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!out.fd_ || flock(out.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    Error error = Errno().fail(fmt::format("cannot make a file in {}", folder));
    return error.number == ENOSPC ? std::move(error).advise(more_room) : error;
  }
  // All of it now: a full file system of memory would end the program with SIGBUS later. The limit for files
  // is the user's for their own.
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &raised);
  int number = posix_fallocate(out.fd_.get(), 0, static_cast<off_t>(needed));
  if (number == 0 && traced) {
    number = posix_fallocate(out.fd_.get(), static_cast<off_t>(header.trace),
                             static_cast<off_t>(AreaTrace::bytes(AreaTrace::first_chunks)));
  }
  // The blocks, and further chunks, get their memory when somebody needs them.
  if (number == 0 && ftruncate(out.fd_.get(), static_cast<off_t>(header.bytes)) != 0) {
    number = errno;
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  if (number == EFBIG) {
    return fail(fmt::format("a run needs a file of {} in {}, and files may have {} at most",
                            human_size(header.bytes), folder, human_size(limit.rlim_max)),
                "raise the limit (ulimit -f), as root where it is a hard one");
  }
  if (number != 0) {
    return fail(number, fmt::format("no room for {} in {}", human_size(needed), folder)).advise(more_room);
  }
  void* mapped = mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd_.get(), 0);
  if (mapped == MAP_FAILED) {
    return Errno().fail(fmt::format("cannot map a file in {}", folder));
  }
  out.bytes_ = header.bytes;
  out.area_ = new (mapped) Area;
  out.area_->rule_count = header.rule_count;
  out.area_->bytes = header.bytes;
  out.area_->rules = header.rules;
  out.area_->tokens = header.tokens;
  out.area_->text = header.text;
  out.area_->paths = header.paths;
  out.area_->files = header.files;
  out.area_->moves = header.moves;
  out.area_->pending = header.pending;
  out.area_->parts = header.parts;
  out.area_->trace = header.trace;
  out.area_->buffers = header.buffers;
  out.area_->blocks = header.blocks;
  out.area_->block_count = header.block_count;
  out.area_->process_space = process_space();
  out.area_->user = geteuid();
  out.area_->group = getegid();
  struct stat root {};
  if (stat("/", &root) == 0) {
    out.area_->root_device = root.st_dev;
    out.area_->root_inode = root.st_ino;
  }
  for (Buffer& buffer : out.area_->all_buffers()) {
    new (&buffer) Buffer;
  }
  if (traced) {
    begin_trace(*new (out.area_->at<void>(header.trace)) AreaTrace, needs.trace_points);
  }
  for (const std::string& point : count_points) {
    out.area_->count_points.add(point);
  }
  for (const AreaMount& mount : needs.mounts) {
    out.area_->mounts[out.area_->mount_count++] = mount;
  }
  copy_to(out.area_, header.rules, layout.rules);
  copy_to(out.area_, header.tokens, layout.tokens);
  copy_to(out.area_, header.text, layout.text);
  const std::string path = fmt::format("{}/{}{}-{:08x}", folder, prefix, getpid(), std::random_device{}());
  std::memcpy(out.area_->own_path.data(), path.c_str(), path.size() + 1);
  if (linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", out.fd_.get()).c_str(), AT_FDCWD, path.c_str(),
             AT_SYMLINK_FOLLOW) != 0) {
    return Errno().fail(fmt::format("cannot make {}", quote(path)));
  }
  out.path_ = path;
  return out;
}

SharedArea::SharedArea(SharedArea&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      area_(std::exchange(other.area_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedArea::~SharedArea() {
  bool left = false;
  if (area_ != nullptr) {
    left = is_needed(*area_);
    munmap(area_, bytes_);
  }
  if (!path_.empty() && !left) {
    sys().unlink(path_.c_str());
  }
}

}  // namespace sluice
