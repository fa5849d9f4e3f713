// Takes what threads record of their calls out of the run's memory (pipeline/tracing.h), and writes it to a
// trace. Compression happens here, beside the program and not in it.
#pragma once

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "pipeline/area.h"
#include "trace/writer.h"

namespace sluice {

struct Traced {
  std::string path;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;  // for which there was no room, when `sluice run` had been killed
};

class Tracer {
 public:
  struct Settings {
    bool hash_paths = false;
    bool sites = false;  // who opens files is told, too
  };
  Tracer(Area& area, TraceWriter writer, std::string path, Settings settings);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // REQUIRES: before the program starts.
  Status start(const std::vector<std::string>& command);
  // The program has ended, and with it nearly all that it started; whoever goes on is not traced any more.
  Result<Traced> finish(int status, double seconds);

 private:
  void serve();
  void take_all();
  struct Turn {
    std::uint64_t turn = 0;
    TraceChunk* chunk = nullptr;
  };
  const std::vector<Turn>& chunks_in_turn();
  void take_from(TraceChunk& chunk);
  void take_and_give_back(TraceChunk& chunk);
  void grow();
  void add(const TraceChunk& chunk, const TraceCall& call, std::string_view text);
  [[nodiscard]] std::int64_t nanoseconds_at(std::uint64_t ticks) const;
  // A path as the trace has it.
  [[nodiscard]] std::string told(std::string_view path) const;
  void note(Status status);

  Area& area_;
  AreaTrace& trace_;
  TraceWriter writer_;
  std::string path_;
  bool hash_paths_;
  std::uint64_t salt_ = 0;
  std::uint64_t first_tick_ = 0;
  std::int64_t first_nanosecond_ = 0;
  double tick_ = 1;  // nanoseconds
  bool calibrated_ = false;
  double flushed_ = 0;
  std::vector<Turn> turns_;
  Status so_far_;  // the first thing that went wrong: nothing is written after it
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace sluice
