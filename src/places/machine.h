// The seam between discovery and a system: all that discovery ever learns about a machine comes through here.
//
// Two forms: this machine, and a folder that holds what another one said:
//
//   DIR/proc/...   DIR/sys/...   DIR/dev/disk/by-uuid/...   as on that machine (links relative)
//   DIR/tools/NAME  what a tool printed; NAME is its words joined by '_', each '/' written as '%'
//   DIR/answers     how the mounts answered, one line each:  POINT WORD...
//
// POINT is written with mountinfo's octal escapes; '*' stands for every mount without a line of its own.
// Words: hang, denied, file (a file is mounted there), errno=N, bsize=N frsize=N blocks=N bfree=N bavail=N,
// ro, writable, uuid=U, quota=LIMIT:LEFT, folder=PATH (a folder on it that the user can write to).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "base/units.h"
#include "places/place.h"

namespace sluice {

struct Quota {
  std::uint64_t limit = 0;  // bytes
  std::uint64_t left = 0;   // bytes
  std::string whose;        // "user 1000"
};

// What to find out about one folder, usually a mount point.
struct Question {
  std::string folder;
  std::vector<std::string> folders;  // more folders on the same mount; the first that is writable is wanted
  std::string device;  // whose superblock may be read for the UUID when nothing else tells; or ""
  std::uint64_t device_number = 0;  // it must be this one
};

struct Answer {
  Reach reach = Reach::unreachable;
  std::string note = {};  // why it is not reachable
  bool is_folder = true;  // false: a file is mounted there
  bool read_only = false;
  bool writable = false;        // the folder, by this user
  std::string usable = {};      // the first of Question::folders that is writable, or ""
  std::uint64_t transfer = 0;   // f_bsize
  std::uint64_t block = 0;      // f_frsize; 0 = nothing is known
  std::uint64_t blocks = 0;     // in units of block
  std::uint64_t available = 0;  // in units of block, for this user
  std::string uuid = {};
  std::optional<Quota> quota = {};  // the one with the least left
};

using Tool = Command;

// Called now and then while waiting, with what is being waited for.
using Waiting = std::function<void(std::string_view)>;

class Machine {
 public:
  struct Answers {
    std::vector<Answer> mounts;
    std::vector<Outcome> tools;
  };
  struct User {
    std::uint64_t id = 0;
    std::vector<std::string> folders;  // where this user may write, best first: current folder, home, ...
  };

  virtual ~Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Small files, folders and links of /proc, /sys and /dev, which do not hang. "" or nothing when missing.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path) const = 0;
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& path) const = 0;
  [[nodiscard]] virtual std::string link(const std::string& path) const = 0;
  [[nodiscard]] virtual User user() const = 0;
  // Asks all mounts and runs all tools at the same time; one answer for each, in order, within the timeout.
  [[nodiscard]] virtual Answers ask(std::span<const Question> questions, std::span<const Tool> tools,
                                    Duration timeout, const Waiting& waiting) const = 0;

  // The file's first line without blanks around it; "" when it cannot be read.
  [[nodiscard]] std::string line(const std::string& path) const;
  // The number in a file, or 0.
  [[nodiscard]] std::uint64_t number(const std::string& path) const;

 protected:
  Machine() = default;
};

std::unique_ptr<Machine> this_machine();
std::unique_ptr<Machine> recorded_machine(std::string folder);

}  // namespace sluice
