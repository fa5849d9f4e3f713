#include "run/mappings.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/files.h"
#include "base/text.h"

namespace sluice {
namespace {

std::uint64_t hex(std::string_view text) {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return out;
}

bool begins_with_one(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// musl's loader is its libc.
Whose whose_file(std::string_view path) {
  constexpr std::array<std::string_view, 6> libc = {"libc.so",     "libc-2", "libpthread.so",
                                                    "libpthread-", "librt",  "ld-musl"};
  constexpr std::array<std::string_view, 4> loader = {"ld-linux", "ld-2", "ld64.so", "ld.so"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return begins_with_one(name, libc)     ? Whose::libc
         : begins_with_one(name, loader) ? Whose::loader
                                         : Whose::program;
}

}  // namespace

// Where syscall() is in our own libc, which the program's most often is, too.
struct PlainCall {
  std::string file;
  std::uint64_t offset = 0;

  static PlainCall ours() {
    const Mappings maps(read_file("/proc/self/maps").value_or(""));
    const auto address = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "syscall"));
    const Mappings::Code* code = maps.find(address);
    return code == nullptr ? PlainCall() : PlainCall{code->file, address - code->begin + code->offset};
  }
  [[nodiscard]] bool holds(const std::string& in, std::uint64_t at) const {
    constexpr std::uint64_t length = 64;  // it is a handful of instructions
    return !file.empty() && in == file && at >= offset && at < offset + length;
  }
};

Mappings::Mappings(std::string_view text) {
  // 7f01-7f02 r-xp 00028000 fe:00 123   /usr/lib/libc.so.6
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split_blanks(line);
    if (fields.size() < 5 || fields[1].size() < 3) {
      continue;
    }
    const std::string_view path = line.substr(std::min(line.find('/'), line.size()));
    preloaded_ = preloaded_ || path.find("/libsluice-preload.so") != std::string_view::npos;
    if (fields[1][2] == 'x') {
      const std::size_t dash = fields[0].find('-');
      code_.push_back({.begin = hex(fields[0].substr(0, dash)),
                       .end = hex(fields[0].substr(std::min(dash + 1, fields[0].size()))),
                       .offset = hex(fields[2]),
                       .file = path.empty() ? "" : std::string(fields[3]) + " " + std::string(fields[4]),
                       .whose = whose_file(path)});
    }
  }
}

const Mappings::Code* Mappings::find(std::uint64_t address) const {
  const auto after = std::upper_bound(code_.begin(), code_.end(), address,
                                      [](std::uint64_t at, const Code& code) { return at < code.begin; });
  return after == code_.begin() || address > std::prev(after)->end ? nullptr : &*std::prev(after);
}

Whose Mappings::whose(std::uint64_t address) const {
  static const PlainCall plain = PlainCall::ours();
  const Code* code = find(address);
  if (code == nullptr) {
    return Whose::program;
  }
  const bool by_number =
      code->whose == Whose::libc && plain.holds(code->file, address - code->begin + code->offset);
  return by_number ? Whose::plain_call : code->whose;
}

}  // namespace sluice
