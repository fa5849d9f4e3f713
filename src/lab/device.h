// A whole emulated device: timing, bytes and faults together, in the caller's time. Nothing in it waits or
// looks at a clock, so a test can run one in memory with virtual time; lab/serve puts the same behind FUSE.
//
// One thread at a time.
#pragma once

#include <memory>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_fwd.h"
#include "lab/faults.h"
#include "lab/platter.h"

namespace sluice::lab {

struct Answer {
  std::uint64_t id = 0;
  Op op = Op::read;
  int error = 0;                     // errno, 0 = done
  std::vector<std::byte> data = {};  // of a read; give it back with recycle()
  std::uint64_t length = 0;
  Instant due = {};  // when the model wanted it answered
};

class Device {
 public:
  Device(const Model& model, std::unique_ptr<Platter> platter);

  // A request is made; its answer comes from next(). REQUIRES: an id that is not under way, a range within
  // the size, `now` not less than before.
  void read(std::uint64_t id, std::uint64_t offset, std::uint64_t length, Instant now);
  void write(std::uint64_t id, std::uint64_t offset, ConstBytes data, Instant now);
  void flush(std::uint64_t id, Instant now);
  // Takes no time by the model, but faults of writes delay it and let it fail (not `full`: it frees room).
  void discard(std::uint64_t id, std::uint64_t offset, std::uint64_t length, Instant now);

  // The next answer that is due.
  bool next(Instant now, Answer& out);
  [[nodiscard]] Instant next_event() const;
  void recycle(std::vector<std::byte> buffer);

  // A line of docs/lab.md: a fault, `set NAME=VALUE...` or `status`.
  Result<Json> command(std::string_view line, Instant now);
  Status set_model(const Model& model, Instant now);
  void reset_counts();
  void set_overhead(Instant overhead) { timing_.set_overhead(overhead); }
  [[nodiscard]] std::uint64_t size() const { return platter_->size(); }
  [[nodiscard]] const Model& model() const { return model_; }

 private:
  struct Pending {
    Answer answer;
    Instant delay = {};
    bool power_cut = false;
  };
  struct Count {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
    std::uint64_t errors = 0;
  };
  void begin(Pending pending, std::uint64_t offset, Instant now);
  bool begin_dead(Pending& pending, Instant now);
  void answer_or_hold(Answer answer);
  void power_cut(double survive, Instant now);
  [[nodiscard]] bool safe_at_once() const { return model_.cache <= 0; }
  std::vector<std::byte> buffer(std::uint64_t length);
  [[nodiscard]] Json status() const;

  Model model_;
  Timing timing_;
  std::unique_ptr<Platter> platter_;
  Faults faults_;
  bool dead_ = false;
  std::unordered_map<std::uint64_t, Pending> pending_;  // by id: those that timing_ or late_ has
  std::vector<Answer> held_;                            // by a hang
  std::vector<Answer> ready_;                           // due now, whatever the model says
  struct Later {
    bool operator()(const Timing::Done& a, const Timing::Done& b) const { return a.at > b.at; }
  };
  std::priority_queue<Timing::Done, std::vector<Timing::Done>, Later> late_;  // delayed by a fault
  std::vector<std::vector<std::byte>> buffers_;
  Count counts_[4];
  std::uint64_t power_cuts_ = 0;
};

}  // namespace sluice::lab
