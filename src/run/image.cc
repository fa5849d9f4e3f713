#include "run/image.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/sys.h"

namespace sluice {
namespace {

constexpr std::size_t most_headers = 4096;
constexpr std::size_t most_names = std::size_t{1} << 20;

#if defined(__x86_64__)
constexpr unsigned machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned machine = EM_AARCH64;
#else
constexpr unsigned machine = EM_RISCV;
#endif

template <class T>
std::vector<T> read_at(const UniqueFd& fd, std::uint64_t offset, std::size_t count) {
  std::vector<T> out(count);
  const ssize_t got = sys().pread(fd.get(), out.data(), count * sizeof(T), static_cast<off_t>(offset));
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(T));
  return out;
}

// By the name of a section: Go's tools leave it also where they strip all others.
bool has_section(const UniqueFd& fd, const Elf64_Ehdr& head, std::string_view name) {
  const auto sections =
      read_at<Elf64_Shdr>(fd, head.e_shoff, std::min<std::size_t>(head.e_shnum, most_headers));
  if (head.e_shstrndx >= sections.size()) {
    return false;
  }
  const Elf64_Shdr& texts = sections[head.e_shstrndx];
  const auto names = read_at<char>(fd, texts.sh_offset, std::min<std::size_t>(texts.sh_size, most_names));
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& section) {
    return section.sh_name + name.size() <= names.size() &&
           std::memcmp(names.data() + section.sh_name, name.data(), name.size()) == 0;
  });
}

// What the kernel told it when it was started.
bool was_secure(pid_t process) {
  const auto text = read_file(fmt::format("/proc/{}/auxv", process), 1 << 16);
  for (std::size_t at = 0; text && at + sizeof(Elf64_auxv_t) <= text->size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry{};
    std::memcpy(&entry, text->data() + at, sizeof entry);
    if (entry.a_type == AT_SECURE) {
      return entry.a_un.a_val != 0;
    }
  }
  return false;
}

// Traced without privileges it does not get them, and would elsewhere.
bool would_be_secure(const std::string& file, pid_t process) {
  struct stat found {};
  struct stat whose {};
  if (sys().stat(file.c_str(), &found) != 0 ||
      sys().stat(fmt::format("/proc/{}", process).c_str(), &whose) != 0) {
    return false;
  }
  constexpr mode_t setgid = S_ISGID | S_IXGRP;
  return ((found.st_mode & S_ISUID) != 0 && found.st_uid != whose.st_uid) ||
         ((found.st_mode & setgid) == setgid && found.st_gid != whose.st_gid);
}

}  // namespace

Image image_of(const std::string& file) {
  Image out{.path = file, .interpreted = true};
  const UniqueFd fd(sys().open(file.c_str(), O_RDONLY | O_CLOEXEC, 0));
  const auto heads = fd ? read_at<Elf64_Ehdr>(fd, 0, 1) : std::vector<Elf64_Ehdr>();
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0) {
    return out;
  }
  const Elf64_Ehdr& head = heads[0];
  out.foreign = head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != machine;
  if (out.foreign) {
    return out;
  }
  const auto segments =
      read_at<Elf64_Phdr>(fd, head.e_phoff, std::min<std::size_t>(head.e_phnum, most_headers));
  out.interpreted = std::any_of(segments.begin(), segments.end(),
                                [](const Elf64_Phdr& segment) { return segment.p_type == PT_INTERP; });
  // The loader itself, started by name, has none and loads what it should.
  const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
  out.interpreted = out.interpreted || name.starts_with("ld-");
  out.go = has_section(fd, head, ".go.buildinfo");
  return out;
}

Image image_of(pid_t process) {
  const std::string link = fmt::format("/proc/{}/exe", process);
  Image out = image_of(link);
  out.path = read_link(link).value_or("?");
  // A loader that was started by name.
  const std::string_view name = std::string_view(out.path).substr(out.path.rfind('/') + 1);
  out.interpreted = out.interpreted || name.starts_with("ld-");
  out.secure = was_secure(process) || would_be_secure(link, process);
  return out;
}

}  // namespace sluice
