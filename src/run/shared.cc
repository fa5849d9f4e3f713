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
#include "stages/registry.h"

namespace sluice {
namespace {

constexpr const char* folder = "/dev/shm";
constexpr std::string_view prefix = "sluice-run-";

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

// Of runs that were killed: those whose lock nobody holds.
void remove_leftovers() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(prefix)) {
      continue;
    }
    const UniqueFd fd(sys().open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0));
    struct stat found {};
    if (fd && fstat(fd.get(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
        flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      sys().unlink(path.c_str());
    }
  }
}

template <class T>
void copy_to(Area* area, std::uint64_t offset, const T& from) {
  if (!from.empty()) {
    std::memcpy(reinterpret_cast<std::byte*>(area) + offset, from.data(), from.size() * sizeof(from[0]));
  }
}

}  // namespace

Status check_stages(const std::vector<std::string>& stages_wanted) {
  Stack stack;
  if (std::count(stages_wanted.begin(), stages_wanted.end(), "stats") > 1) {
    return bad_input("stats can stand in a stack once", "leave one of them out");
  }
  for (const std::string& spec : stages_wanted) {
    if (spec.find('\n') != std::string::npos) {
      return bad_input("a stage has a line break in its name");
    }
    std::array<char, 1024> why = {};
    if (!stack.add(spec, stages(), why)) {
      return bad_input(fmt::format("stage {}", why.data()));
    }
  }
  return {};
}

Result<SharedArea> SharedArea::make(const std::vector<Stacked>& rules) {
  std::set<std::vector<std::string>> different;
  for (const Stacked& rule : rules) {
    different.insert(rule.stages);
  }
  if (rules.size() > most_rules || different.size() > most_stacks) {
    return bad_input(
        fmt::format("{} globs with {} different stacks are too many", rules.size(), different.size()),
        fmt::format("there may be {} and {}", most_rules, most_stacks));
  }
  const Layout layout = lay_out(rules);
  Area header;
  header.rule_count = static_cast<std::uint32_t>(layout.rules.size());
  header.rules = aligned(sizeof(Area));
  header.tokens = aligned(header.rules + layout.rules.size() * sizeof(AreaRule));
  header.text = aligned(header.tokens + layout.tokens.size() * sizeof(PatternToken));
  header.paths = aligned(header.text + layout.text.size());
  header.files = aligned(header.paths + area_paths);
  header.bytes = aligned(header.files + area_files * sizeof(AreaFile));

  remove_leftovers();
  SharedArea out;
  // It has no name before it is locked: whoever clears up must not find it then.
  out.fd_ = UniqueFd(sys().open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!out.fd_ || flock(out.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Errno().fail(fmt::format("cannot make a file in {}", folder));
  }
  // All of it now: a full file system of memory would end the program with SIGBUS later. The limit for files
  // is the user's for their own.
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &raised);
  const int number = posix_fallocate(out.fd_.get(), 0, static_cast<off_t>(header.bytes));
  setrlimit(RLIMIT_FSIZE, &limit);
  if (number != 0) {
    return fail(number, fmt::format("no room for {} in {}", human_size(header.bytes), folder));
  }
  void* memory = mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd_.get(), 0);
  if (memory == MAP_FAILED) {
    return Errno().fail(fmt::format("cannot map a file in {}", folder));
  }
  out.bytes_ = header.bytes;
  out.area_ = new (memory) Area;
  out.area_->rule_count = header.rule_count;
  out.area_->bytes = header.bytes;
  out.area_->rules = header.rules;
  out.area_->tokens = header.tokens;
  out.area_->text = header.text;
  out.area_->paths = header.paths;
  out.area_->files = header.files;
  copy_to(out.area_, header.rules, layout.rules);
  copy_to(out.area_, header.tokens, layout.tokens);
  copy_to(out.area_, header.text, layout.text);
  const std::string path = fmt::format("{}/{}{}-{:08x}", folder, prefix, getpid(), std::random_device{}());
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
  if (area_ != nullptr) {
    munmap(area_, bytes_);
  }
  if (!path_.empty()) {
    sys().unlink(path_.c_str());
  }
}

}  // namespace sluice
