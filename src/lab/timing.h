// When a device with a given model would be done with each request. A simulation in the caller's time:
// nothing here waits, so it runs as well in a test with virtual time as under a real device.
//
// A request waits for one of `parallel` channels, pays latency, seek and rotation there, and moves its bytes
// over a bus that all share. One that continues the request before it, and was there before that was done, is
// the same operation to the device and pays for its bytes only; so a large request that the kernel cut into
// pieces costs what the whole would. Writes go into the cache while it has room, and from there to the
// medium, in the order of the head's way, when nothing else waits, when the cache is full or when a flush
// asks for it. Where the medium has blocks, a write that covers one in part reads it first.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "lab/model.h"
#include "lab/service.h"

namespace sluice::lab {

enum class Op { read, write, flush, discard };

class Timing {
 public:
  // A real device hears of a request later than it was made, and its answer is heard later than it was given;
  // `overhead` is both together, and what the model owes is shorter by it.
  Timing(const Model& model, std::uint64_t size, Instant overhead = {});
  void set_overhead(Instant overhead) { overhead_ = overhead; }
  [[nodiscard]] Instant overhead() const { return overhead_; }

  // REQUIRES: `at` is not less than in the call before.
  void submit(std::uint64_t id, Op op, std::uint64_t offset, std::uint64_t length, Instant at);

  struct Done {
    std::uint64_t id = 0;
    Instant at = {};
  };
  // The earliest request that is done by `now`.
  std::optional<Done> next(Instant now);
  // When to call next() again at the latest; `never` when nothing is under way.
  [[nodiscard]] Instant next_event() const;

  // Requests that wait go on by the new numbers, one that is being served keeps its time; by a model that
  // never waits, all are done at once.
  void change(const Model& model, Instant now);
  // Drops every request and the cache.
  void forget();
  // Bytes in the cache.
  [[nodiscard]] std::uint64_t cached() const { return dirty_; }

 private:
  struct Request {
    std::uint64_t id = 0;
    Op op = Op::read;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    Instant at = {};      // when we heard of it
    Instant from = {};    // when it was made
    unsigned passed = 0;  // how often another was served first
  };
  struct Channel {
    Instant free_at = {};
    std::uint64_t head = 0;  // where the last request ended
    std::optional<Op> last;
  };
  struct Later {
    bool operator()(const Done& a, const Done& b) const {
      return a.at > b.at || (a.at == b.at && a.id > b.id);
    }
  };
  using Events = std::priority_queue<Done, std::vector<Done>, Later>;
  using Extents = std::map<std::uint64_t, std::uint64_t>;  // offset -> length, apart from one another

  void advance(Instant now);
  [[nodiscard]] Instant next_decision() const;
  [[nodiscard]] bool destage_presses() const { return !flushes_.empty() || !blocked_.empty(); }
  void dispatch(Instant when);
  void serve_waiting(Instant when);
  void destage(Instant when);
  void finish_destage();
  void finish_flushes(Instant when);
  void accept_write(const Request& request, Instant when);
  [[nodiscard]] bool cache_has_room(std::uint64_t length) const;
  [[nodiscard]] Instant partial_blocks(std::uint64_t offset, std::uint64_t length, bool continues) const;
  Instant serve(Op op, std::uint64_t offset, std::uint64_t length, Instant arrived, Instant when);
  [[nodiscard]] Instant positioning(const Channel& channel, std::uint64_t offset, Instant when) const;
  [[nodiscard]] std::size_t nearest_waiting(Instant when) const;
  Channel& earliest_channel();
  Instant latency(double mean);

  Model model_;
  std::uint64_t size_;
  Instant overhead_;
  std::mt19937_64 random_;
  std::vector<Channel> channels_;
  Instant bus_free_ = {};
  Instant cache_bus_free_ = {};
  Instant gate_ = {};  // before this the limit of requests a second lets none begin

  std::deque<Request> waiting_;  // for the medium
  std::deque<Request> blocked_;  // writes that wait for room in the cache
  std::deque<Request> flushes_;  // the first waits for cached_ and what is on its way from there
  Extents cached_;               // what the first flush covers, or everything where there is none
  Extents fresh_;                // what came after the first flush
  std::uint64_t dirty_ = 0;      // bytes of both, and of what is on its way to the medium
  Instant destage_from_ = {};    // not before it was there
  bool destage_next_ = false;    // takes turns with requests when it presses
  Events destaging_;             // id is the length
  Events done_;
};

}  // namespace sluice::lab
