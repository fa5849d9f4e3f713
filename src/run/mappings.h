// Whose code a process is in: where an instruction lies, by what is mapped there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class Whose {
  libc,
  plain_call,  // libc's syscall(), which makes any call by its number
  loader,      // the dynamic loader
  program,     // the program's own code, another library's, or code that was made while it ran
};

class Mappings {
 public:
  Mappings() = default;
  // The text of /proc/PID/maps.
  explicit Mappings(std::string_view text);

  [[nodiscard]] bool knows(std::uint64_t address) const { return find(address) != nullptr; }
  [[nodiscard]] Whose whose(std::uint64_t address) const;
  // Whether the library that stands between a program and libc is there.
  [[nodiscard]] bool has_preloaded() const { return preloaded_; }

 private:
  struct Code {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  // in the file
    std::string file;          // device and inode
    Whose whose = Whose::program;
  };
  [[nodiscard]] const Code* find(std::uint64_t address) const;

  std::vector<Code> code_;  // in the order of addresses
  bool preloaded_ = false;

  friend struct PlainCall;
};

}  // namespace sluice
