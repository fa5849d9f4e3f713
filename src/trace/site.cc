#include "trace/site.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "base/subprocess.h"
#include "base/sys.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr std::size_t most_at_once = 500;
constexpr std::size_t most_output = std::size_t{16} << 20U;
constexpr auto time_limit = std::chrono::seconds(60);
constexpr std::uint64_t page = 4096;

template <class T>
std::optional<T> read_at(int fd, std::uint64_t offset) {
  T out{};
  return sys().pread(fd, &out, sizeof out, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof out)
             ? std::optional(out)
             : std::nullopt;
}

// The address that the first piece of a module says it is at: 0 unless it was linked to be at one. Nothing
// where it is no program of this kind of machine.
std::optional<std::uint64_t> linked_at(const std::string& module) {
  const UniqueFd fd(sys().open(module.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0));
  struct stat about {};
  if (!fd || fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return std::nullopt;
  }
  const auto head = read_at<Elf64_Ehdr>(fd.get(), 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < head->e_phnum; ++i) {
    const auto piece = read_at<Elf64_Phdr>(fd.get(), head->e_phoff + i * sizeof(Elf64_Phdr));
    if (piece && piece->p_type == PT_LOAD) {
      return piece->p_vaddr / page * page;
    }
  }
  return std::nullopt;
}

// "/a/b.c:12", perhaps with " (discriminator 3)" behind.
std::optional<SourceLine> parse_place(std::string_view text, std::string_view function) {
  const std::string_view place = text.substr(0, text.find(" (discriminator"));
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || place.starts_with('?')) {
    return std::nullopt;
  }
  SourceLine out{.file = std::string(place.substr(0, colon)), .line = 0, .function = std::string(function)};
  const std::string_view number = place.substr(colon + 1);
  std::from_chars(number.data(), number.data() + number.size(), out.line);
  return out.line == 0 ? std::nullopt : std::optional(std::move(out));
}

// What addr2line -a -f -i prints: for each address a line with it, then function and place in turn, of what
// was inlined the innermost first.
std::vector<std::optional<SourceLine>> parse_output(std::string_view text, std::size_t count) {
  std::vector<std::optional<SourceLine>> out;
  std::string_view function;
  bool function_next = true;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("0x") && line.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos) {
      out.emplace_back();
      function_next = true;
    } else if (out.empty()) {
      continue;
    } else if (function_next) {
      function = line;
      function_next = false;
    } else {
      function_next = true;
      const auto place = parse_place(line, function);
      if (!place && !out.back() && !function.starts_with('?')) {
        out.back() = SourceLine{.file = {}, .line = 0, .function = std::string(function)};
      } else if (place && (!out.back() || out.back()->line == 0 ||
                           (is_of_system(out.back()->file) && !is_of_system(place->file)))) {
        out.back() = place;
      }
    }
  }
  out.resize(count);
  return out;
}

Result<std::vector<std::optional<SourceLine>>> ask(const std::string& module,
                                                   std::span<const std::uint64_t> addresses) {
  std::vector<std::string> words = {"-a", "-f", "-i", "-C", "-e", module};
  for (const std::uint64_t address : addresses) {
    words.push_back(fmt::format("{:#x}", address));
  }
  std::vector<Subprocess> one;
  one.push_back(Subprocess::start({"addr2line", std::move(words)}, most_output));
  const Outcome outcome =
      std::move(Subprocess::finish(std::move(one), std::chrono::steady_clock::now() + time_limit).front());
  if (!outcome.found) {
    return fail(ENOENT, "cannot find lines of source without addr2line").advise(install_advice("addr2line"));
  }
  return parse_output(outcome.finished && outcome.status == 0 ? outcome.output : "", addresses.size());
}

}  // namespace

bool is_of_system(std::string_view file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.starts_with("/usr/local/include/");
}

std::optional<CallSite> parse_call_site(std::string_view text) {
  const std::size_t plus = text.rfind("+0x");
  if (!text.starts_with('/') || plus == std::string_view::npos || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  CallSite out{.module = std::string(text.substr(0, plus)), .offset = 0};
  const std::string_view number = text.substr(plus + 3);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.offset, 16);
  return error == std::errc() && end == number.data() + number.size() && !number.empty()
             ? std::optional(std::move(out))
             : std::nullopt;
}

Result<std::vector<std::optional<SourceLine>>> find_source_lines(std::span<const CallSite> sites) {
  std::map<std::string, std::vector<std::size_t>> by_module;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    by_module[sites[i].module].push_back(i);
  }
  std::vector<std::optional<SourceLine>> out(sites.size());
  for (const auto& [module, all] : by_module) {
    const auto base = linked_at(module);
    if (!base || !module.starts_with('/')) {
      continue;
    }
    for (std::size_t first = 0; first < all.size(); first += most_at_once) {
      const std::size_t count = std::min(most_at_once, all.size() - first);
      std::vector<std::uint64_t> addresses;
      for (std::size_t i = 0; i < count; ++i) {
        // The call is before where it returns to.
        addresses.push_back(*base + sites[all[first + i]].offset - 1);
      }
      SLUICE_TRY(const std::vector<std::optional<SourceLine>> found, ask(module, addresses));
      for (std::size_t i = 0; i < count; ++i) {
        out[all[first + i]] = found[i];
      }
    }
  }
  return out;
}

}  // namespace sluice
