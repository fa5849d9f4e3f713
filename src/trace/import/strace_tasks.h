// Whom strace's lines are about: processes with their descriptors, threads, and the time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/import/strace_line.h"

namespace sluice {

struct StraceFile {
  std::uint32_t number = 0;  // in the trace; 0 = it is no file, or a folder
  std::string path;
  bool is_folder = false;  // surely
};

struct StraceDescriptor {
  std::shared_ptr<StraceFile> file;
  bool ends_at_exec = false;
};

struct StraceProcess {
  std::uint32_t id = 0;
  std::uint32_t parent = 0;
  std::uint32_t program = 0;  // number of its path
  std::map<int, StraceDescriptor> table;
  std::string folder;

  // What nobody has so many of is left out.
  void put(int number, StraceDescriptor descriptor);
  // The descriptors that another program does not get.
  [[nodiscard]] std::vector<int> ending_at_exec() const;
};

struct StraceTask {
  std::uint32_t id = 0;
  std::shared_ptr<StraceProcess> process;
  // A call that was begun.
  std::string name;
  std::string begun;
  std::int64_t begin = 0;
  bool started_one = false;  // and who it started was seen already
};

// Times of the lines, whichever of its clocks strace was told to print.
class StraceClock {
 public:
  // Nanoseconds after the first.
  std::int64_t since_first(const StraceLine& line);

 private:
  std::optional<std::int64_t> first_;
  std::int64_t last_ = 0;
  std::int64_t days_ = 0;
};

}  // namespace sluice
