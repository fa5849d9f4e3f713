// make_trace FILE EVENTS: a trace of that many events as several processes would leave it, without running
// them. They read one file each from beginning to end, write step after step into files of their own, and one
// writes a database at random and syncs it. Names are as odd as names may be. The same for the same number.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/json.h"
#include "trace/writer.h"

namespace {

using sluice::Status;
using sluice::TraceEvent;
using sluice::TraceWriter;

constexpr std::uint32_t processes = 4;
constexpr std::uint32_t threads = 2;  // of each
constexpr std::uint32_t first_process = 1000;

class Maker {
 public:
  explicit Maker(TraceWriter& writer) : writer_(writer) {}

  Status start() {
    for (std::uint32_t i = 0; i < processes; ++i) {
      TraceEvent event = of(i, 0);
      event.operation = TraceEvent::started;
      event.path = writer_.number_of(i == 0 ? "/usr/bin/launch" : "/opt/simulate </script><b>\"'");
      event.result = i == 0 ? 1 : first_process;
      SLUICE_CHECK(add(event, 0));
    }
    return {};
  }

  // What the thread does next.
  Status go_on(std::uint32_t process, std::uint32_t thread) {
    std::uint64_t& step = steps_[process][thread];
    const std::uint64_t turn = step++;
    return thread == 0 ? stepper(process, turn) : process == 0 ? database(turn) : reader(process, turn);
  }

  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  static constexpr std::uint64_t calls_of_step = 400;

  [[nodiscard]] TraceEvent of(std::uint32_t process, std::uint32_t thread) const {
    TraceEvent out;
    out.process = first_process + process;
    out.thread = out.process + thread * processes;
    out.begin = now_;
    return out;
  }
  Status add(TraceEvent event, std::int64_t duration) {
    event.duration = duration;
    // Long enough for a thread to be done before it is its turn again.
    now_ += 2500 + static_cast<std::int64_t>(random_() % 1000) + (duration > 100000 ? duration : 0);
    ++events_;
    return writer_.add(event);
  }

  Status opens(TraceEvent event, const std::string& path, std::uint32_t file, int flags) {
    event.operation = TraceEvent::open;
    event.path = writer_.number_of(path);
    event.file = file;
    event.flags = flags;
    event.result = 5;
    return add(event, 9000);
  }

  // Opens a file, writes it in pieces, closes it.
  Status stepper(std::uint32_t process, std::uint64_t turn) {
    TraceEvent event = of(process, 0);
    const std::uint64_t inside = turn % calls_of_step;
    const auto number = static_cast<std::uint32_t>(turn / calls_of_step);
    event.file = 100 + number * processes + process;
    if (inside == 0) {
      return opens(
          event,
          "/scratch/run/step_" + std::to_string(number) + "_of_rank_" + std::to_string(process) + ".dat",
          event.file, 01101);
    }
    event.operation = inside + 1 == calls_of_step ? TraceEvent::close : TraceEvent::write;
    if (event.operation == TraceEvent::close) {
      return add(event, 1500);
    }
    event.offset = TraceEvent::at_position;
    event.length = 4096;
    event.result = 4096;
    return add(event, 2000 + static_cast<std::int64_t>(random_() % 3000));
  }

  Status database(std::uint64_t turn) {
    TraceEvent event = of(0, 1);
    event.file = 1;
    if (turn == 0) {
      return opens(event, "/data/state <script>alert(1)</script>\n\xff.db", 1, 02);
    }
    if (turn % 500 == 0) {
      event.operation = TraceEvent::sync;
      return add(event, 400000);
    }
    event.operation = TraceEvent::write;
    event.offset = static_cast<std::int64_t>(random_() % 65536 * 8192);
    event.length = 8192;
    event.result = turn % 1000 == 1 ? -28 : 8192;
    return add(event, 6000 + static_cast<std::int64_t>(random_() % 9000));
  }

  Status reader(std::uint32_t process, std::uint64_t turn) {
    TraceEvent event = of(process, 1);
    event.file = 1 + process;
    if (turn == 0) {
      return opens(event, "/data/input/part" + std::to_string(process) + ".h5", event.file, 0);
    }
    event.operation = TraceEvent::read;
    event.offset = static_cast<std::int64_t>(turn * 131072);
    event.length = 131072;
    event.result = 131072;
    return add(event, 15000 + static_cast<std::int64_t>(random_() % 5000));
  }

  TraceWriter& writer_;
  std::mt19937_64 random_{7};
  std::uint64_t steps_[processes][threads] = {};
  std::int64_t now_ = 0;
  std::uint64_t events_ = 0;
};

Status make(const std::string& path, std::uint64_t count) {
  SLUICE_TRY(TraceWriter writer, TraceWriter::create(path));
  SLUICE_CHECK(writer.begin({{"command", {"/opt/simulate </script><b>", "--steps", std::to_string(count)}},
                             {"host", "nowhere"},
                             {"time", 1700000000},
                             {"points", {"program"}}}));
  Maker maker(writer);
  SLUICE_CHECK(maker.start());
  for (std::uint32_t turn = 0; maker.events() < count; ++turn) {
    SLUICE_CHECK(maker.go_on(turn % processes, turn / processes % threads));
  }
  return writer.finish(
      {{"status", 0}, {"seconds", static_cast<double>(maker.now()) / 1e9}, {"events", maker.events()}});
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "make_trace FILE EVENTS\n");
    return 2;
  }
  const Status made = make(words[1], std::strtoull(words[2], nullptr, 10));
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().text().c_str());
    return 1;
  }
  return 0;
}
