// What goes wrong with a device, and when. Switched by commands, one line each:
//
//   eio [read|write|flush|any]... [range=FROM-TO] [rate=P] [count=N]
//   delay TIME [read|write|flush|any]... [range=FROM-TO] [rate=P] [count=N]
//   torn [at=N] [keep=SIZE] [then=ok|eio|power-cut]
//   power-cut [survive=P]      revive
//   full                       read-only
//   hang [read|write|flush|any]      release
//   clear
//
// Pure: it decides, the device does.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "lab/timing.h"

namespace sluice::lab {

// Which operations a fault is about.
struct Ops {
  bool read = true;
  bool write = true;
  bool flush = true;

  // A discard counts as a write.
  [[nodiscard]] bool has(Op op) const { return op == Op::read ? read : op == Op::flush ? flush : write; }
};

// What is to be done about one request.
struct Verdict {
  int error = 0;                      // fails with this, and nothing is written
  Instant delay = {};                 // takes so much longer
  std::optional<std::uint64_t> keep;  // a torn write: only so many of its bytes are written
  int torn_error = 0;                 // and it fails with this
  bool power_cut = false;             // and then the power goes
};

class Faults {
 public:
  explicit Faults(std::uint64_t seed) : random_(seed) {}

  // What the device itself must do about a command, besides what judge() will say from now on.
  enum class Action { none, power_cut, revive, release, clear };
  struct Told {
    Action action = Action::none;
    double survive = 0;
  };
  Result<Told> tell(std::string_view command);

  Verdict judge(Op op, std::uint64_t offset, std::uint64_t length);
  // A device that hung hangs no more after a power cut; the other faults stay.
  void power_gone() { hang_.reset(); }
  [[nodiscard]] bool hangs(Op op) const { return hang_ && hang_->has(op); }
  [[nodiscard]] Json json() const;
  std::mt19937_64& random() { return random_; }

 private:
  struct Rule {
    bool fails = true;  // else only late
    Instant delay = {};
    Ops ops = {};
    std::uint64_t from = 0;
    std::uint64_t to = UINT64_MAX;
    double rate = 1;
    std::uint64_t left = UINT64_MAX;
    std::string text = {};
  };
  struct Torn {
    std::uint64_t in = 1;  // writes until then
    std::optional<std::uint64_t> keep;
    std::string then = "ok";
  };
  using Words = std::vector<std::string_view>;
  Status add_rule(std::string_view command, const Words& words);
  Status set_torn(const Words& words);

  std::mt19937_64 random_;
  std::vector<Rule> rules_;
  std::optional<Torn> torn_;
  bool full_ = false;
  bool read_only_ = false;
  std::optional<Ops> hang_;
};

// Name and meaning of each command, for the manual.
std::vector<std::pair<std::string, std::string>> fault_commands();

}  // namespace sluice::lab
