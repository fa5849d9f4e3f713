#include "run/shared.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <new>
#include <random>
#include <utility>

#include "base/sys.h"
#include "base/text.h"
#include "stages/registry.h"

namespace sluice {
namespace {

constexpr const char* folder = "/dev/shm";

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

}  // namespace

Status check_stages(const std::vector<std::string>& stages_wanted) {
  Stack stack;
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
  const Layout layout = lay_out(rules);
  Area header;
  header.rule_count = static_cast<std::uint32_t>(layout.rules.size());
  header.rules = aligned(sizeof(Area));
  header.tokens = aligned(header.rules + layout.rules.size() * sizeof(AreaRule));
  header.text = aligned(header.tokens + layout.tokens.size() * sizeof(PatternToken));
  header.paths = aligned(header.text + layout.text.size());
  header.files = aligned(header.paths + area_paths);
  header.bytes = aligned(header.files + area_files * sizeof(AreaFile));

  SharedArea out;
  out.path_ = fmt::format("{}/sluice-run-{}-{:08x}", folder, getpid(), std::random_device{}());
  const UniqueFd fd(sys().open(out.path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) {
    const Error error = Errno().fail(fmt::format("cannot make {}", quote(out.path_)));
    out.path_.clear();
    return error;
  }
  // All of it now: a full file system of memory would end the program with SIGBUS later.
  if (const int number = posix_fallocate(fd.get(), 0, static_cast<off_t>(header.bytes)); number != 0) {
    return fail(number, fmt::format("no room for {} bytes in {}", header.bytes, folder));
  }
  void* memory = mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return Errno().fail(fmt::format("cannot map {}", quote(out.path_)));
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
  return out;
}

SharedArea::SharedArea(SharedArea&& other) noexcept
    : path_(std::exchange(other.path_, {})),
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
