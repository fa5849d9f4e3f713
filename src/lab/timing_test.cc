#include "lab/timing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::lab {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kilo = 1024;
constexpr std::uint64_t mega = kilo * kilo;
constexpr std::uint64_t device_size = 1024 * mega;

// Runs a device in virtual time, one request after another or many at once.
class Bench {
 public:
  explicit Bench(const Model& model, Instant overhead = {}) : timing_(model, device_size, overhead) {}

  void submit(Op op, std::uint64_t offset, std::uint64_t length) {
    timing_.submit(++id_, op, offset, length, now_);
  }
  // The next answer; time goes on until it is there.
  Timing::Done wait() {
    for (;;) {
      if (const auto done = timing_.next(now_)) {
        return *done;
      }
      const Instant next = timing_.next_event();
      EXPECT_NE(next, never) << "nothing is under way";
      now_ = std::max(now_, next);
    }
  }
  Instant take(Op op, std::uint64_t offset, std::uint64_t length) {
    const Instant start = now_;
    submit(op, offset, length);
    EXPECT_EQ(wait().id, id_);
    return now_ - start;
  }
  // Keeps `depth` requests under way until `count` are done; the whole time.
  template <class Next>
  Instant stream(int depth, int count, Next next) {
    const Instant start = now_;
    int made = 0;
    for (; made < std::min(depth, count); ++made) {
      next(made);
    }
    for (int done = 0; done < count; ++done) {
      wait();
      if (made < count) {
        next(made++);
      }
    }
    return now_ - start;
  }
  void sleep(Instant time) { now_ += time; }
  [[nodiscard]] Instant now() const { return now_; }
  Timing& timing() { return timing_; }
  [[nodiscard]] std::uint64_t last_id() const { return id_; }

 private:
  Timing timing_;
  Instant now_ = std::chrono::seconds(100);
  std::uint64_t id_ = 0;
};

std::uint64_t random_offset(int i) {
  return static_cast<std::uint64_t>(i) * 7919 % (device_size / 4096) * 4096;
}

TEST(Timing, NothingAskedNothingWaited) {
  Bench bench(Model{});
  EXPECT_EQ(bench.take(Op::read, 0, 4096), Instant::zero());
  EXPECT_EQ(bench.take(Op::write, 99 * mega, mega), Instant::zero());
  EXPECT_EQ(bench.take(Op::flush, 0, 0), Instant::zero());
  EXPECT_EQ(bench.timing().next_event(), never);
}

TEST(Timing, LatencyOfReadsAndWritesAndFlushes) {
  Bench bench({.read_latency = 0.001, .write_latency = 0.002, .flush_latency = 0.003});
  EXPECT_EQ(bench.take(Op::read, 0, 4096), milliseconds(1));
  EXPECT_EQ(bench.take(Op::write, mega, 4096), milliseconds(2));
  EXPECT_EQ(bench.take(Op::flush, 0, 0), milliseconds(3));
}

TEST(Timing, BytesMoveAtTheBandwidth) {
  Bench bench({.read_latency = 0.001, .read_bandwidth = 100 * mega, .write_bandwidth = 50 * mega});
  EXPECT_EQ(bench.take(Op::read, 0, mega), milliseconds(11));
  EXPECT_EQ(bench.take(Op::write, 10 * mega, mega), milliseconds(20));
}

TEST(Timing, OneAfterAnotherWithoutParallelism) {
  Bench bench({.read_latency = 0.001});
  EXPECT_EQ(bench.stream(8, 8, [&](int i) { bench.submit(Op::read, random_offset(i), 4096); }),
            milliseconds(8));
}

TEST(Timing, ParallelChannelsOverlapLatencyButShareBandwidth) {
  Bench latency({.read_latency = 0.001, .parallel = 4});
  EXPECT_EQ(latency.stream(8, 8, [&](int i) { latency.submit(Op::read, random_offset(i), 4096); }),
            milliseconds(2));
  Bench bandwidth({.read_latency = 0.0001, .read_bandwidth = 100 * mega, .parallel = 4});
  const Instant time = bandwidth.stream(
      4, 40, [&](int i) { bandwidth.submit(Op::read, static_cast<std::uint64_t>(2 * i) * mega, mega); });
  EXPECT_NEAR(static_cast<double>(time.count()) * 1e-9, 0.4, 0.01);
}

// A straggler must not hold up those who come after it.
TEST(Timing, ATailDelaysOnlyItself) {
  Bench bench({.read_latency = 0.001,
               .tail_rate = 0.02,
               .tail_latency = 1.0,
               .read_bandwidth = 1000 * mega,
               .parallel = 64,
               .seed = 3});
  std::vector<double> times;
  bench.stream(4, 400, [&](int i) { bench.submit(Op::read, random_offset(i), 4096); });
  EXPECT_LT(static_cast<double>(bench.now().count()) * 1e-9 - 100, 400 * 0.02 * 1.0);
}

TEST(Timing, PiecesOfOneLargeRequestCostOneLatency) {
  Bench bench({.read_latency = 0.15, .read_bandwidth = 128 * mega});
  const Instant time = bench.stream(
      64, 64, [&](int i) { bench.submit(Op::read, static_cast<std::uint64_t>(i) * mega, mega); });
  EXPECT_NEAR(static_cast<double>(time.count()) * 1e-9, 0.15 + 0.5, 0.001);
}

TEST(Timing, OneRequestAfterAnotherPaysEachTimeAlsoWhenItContinues) {
  Bench bench({.read_latency = 0.001});
  EXPECT_EQ(
      bench.stream(1, 10, [&](int i) { bench.submit(Op::read, static_cast<std::uint64_t>(i) * 4096, 4096); }),
      milliseconds(10));
}

// A block of 16 KiB costs 1 ms + 1 ms to read.
TEST(Timing, AWriteReadsTheBlocksThatItCoversInPart) {
  Bench bench({.read_latency = 0.001,
               .write_latency = 0.003,
               .read_bandwidth = 16 * 1000.0 * kilo,
               .block = 16.0 * kilo});
  EXPECT_EQ(bench.take(Op::write, mega, 32 * kilo), milliseconds(3)) << "whole blocks";
  EXPECT_EQ(bench.take(Op::write, 2 * mega, 20 * kilo), milliseconds(5)) << "the end";
  EXPECT_EQ(bench.take(Op::write, 3 * mega + 4 * kilo, 12 * kilo), milliseconds(5)) << "the start";
  EXPECT_EQ(bench.take(Op::write, 4 * mega + 4 * kilo, 20 * kilo), milliseconds(7)) << "both";
  EXPECT_EQ(bench.take(Op::write, 5 * mega + 4 * kilo, 4 * kilo), milliseconds(5))
      << "one block is read once";
  EXPECT_EQ(bench.take(Op::read, 6 * mega + 4 * kilo, 4 * kilo), microseconds(1250)) << "reads do not care";
}

TEST(Timing, APieceThatContinuesDoesNotReadTheBlockAtItsStart) {
  Bench bench({.read_latency = 0.001, .write_latency = 0.003, .block = 16.0 * kilo});
  bench.submit(Op::write, 0, 20 * kilo);
  bench.submit(Op::write, 20 * kilo, 12 * kilo);
  bench.wait();
  EXPECT_EQ((bench.wait().at - std::chrono::seconds(100)), milliseconds(4)) << "for the first one's end";
}

TEST(Timing, ThroughTheCachePartsOfBlocksArePaidWhenDestaged) {
  const Model model{.read_latency = 0.001, .block = 22.0 * kilo, .cache = 64.0 * mega};
  Bench whole(model);
  EXPECT_EQ(whole.take(Op::write, 0, 22 * 64 * kilo), Instant::zero());
  EXPECT_EQ(whole.take(Op::flush, 0, 0), Instant::zero()) << "destaged in pieces of whole blocks";
  Bench part(model);
  EXPECT_EQ(part.take(Op::write, 4 * kilo, 22 * 64 * kilo), Instant::zero());
  EXPECT_EQ(part.take(Op::flush, 0, 0), milliseconds(2));
}

TEST(Timing, RequestsPerSecondAreLimited) {
  Bench bench({.read_latency = 0.0001, .parallel = 64, .iops = 1000});
  const Instant time = bench.stream(32, 1000, [&](int i) { bench.submit(Op::read, random_offset(i), 4096); });
  EXPECT_NEAR(static_cast<double>(time.count()) * 1e-9, 1.0, 0.01);
}

TEST(Timing, SeekGrowsWithDistanceAndIsNotPaidInSequence) {
  Bench bench({.seek = 0.001, .seek_full = 0.011});
  EXPECT_EQ(bench.take(Op::read, 0, 4096), Instant::zero());
  EXPECT_EQ(bench.take(Op::read, 4096, 4096), Instant::zero());
  const Instant quarter = bench.take(Op::read, 8192 + device_size / 4, 4096);
  EXPECT_NEAR(static_cast<double>(quarter.count()), 6e6, 1e4);
  const Instant back = bench.take(Op::read, 0, 4096);
  EXPECT_NEAR(static_cast<double>(back.count()), 6e6, 1e4);
  const Instant near = bench.take(Op::read, 8192, 4096);
  EXPECT_GT(near, milliseconds(1));
  EXPECT_LT(near, microseconds(1050));
}

// E[sqrt(|x - y|)] of two random places is 8/15.
TEST(Timing, MeanSeekOfRandomRequests) {
  Bench bench({.seek = 0, .seek_full = 0.015});
  std::mt19937_64 random(5);
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    bench.take(Op::read, random() % (device_size / 4096) * 4096, 4096);
  }
  const double mean = (static_cast<double>(bench.now().count()) * 1e-9 - 100) / count;
  EXPECT_NEAR(mean, 0.015 * 8 / 15, 0.0002);
}

TEST(Timing, RotationCostsHalfATurnInTheMeanAndNeverMoreThanOne) {
  Bench bench({.rpm = 6000, .read_bandwidth = 100 * mega});
  std::mt19937_64 random(7);
  double sum = 0;
  constexpr int count = 5000;
  for (int i = 0; i < count; ++i) {
    const double time =
        static_cast<double>(bench.take(Op::read, random() % (device_size / 512) * 512, 512).count());
    EXPECT_LE(time, 10.1e6);
    sum += time;
    bench.sleep(microseconds(random() % 20000));
  }
  EXPECT_NEAR(sum / count * 1e-6, 5.0, 0.15);
}

TEST(Timing, ADeeperQueueShortensTheWayOfTheHead) {
  const auto time = [](double depth) {
    Bench bench({.seek = 0.001, .seek_full = 0.016, .queue_depth = depth});
    return bench.stream(32, 500, [&](int i) { bench.submit(Op::read, random_offset(i * 31), 4096); });
  };
  EXPECT_LT(time(32).count() * 3, time(1).count() * 2);
}

TEST(Timing, NobodyStarvesInTheQueue) {
  Bench bench({.seek = 0.001, .seek_full = 0.016, .queue_depth = 4});
  bench.submit(Op::read, 0, 4096);
  bench.wait();
  bench.submit(Op::read, device_size - 4096, 4096);
  const std::uint64_t far = bench.last_id();
  bench.submit(Op::read, 8192, 4096);
  bench.submit(Op::read, 16384, 4096);
  bool served = false;
  for (int i = 0; i < 100 && !served; ++i) {
    served = bench.wait().id == far;
    bench.submit(Op::read, static_cast<std::uint64_t>(i + 10) * 8192, 4096);
  }
  EXPECT_TRUE(served);
}

TEST(Timing, TheLatencyKeepsItsMeanAndHasTheSpread) {
  Bench bench({.read_latency = 0.002, .spread = 0.5});
  std::vector<double> times;
  constexpr int count = 50000;
  for (int i = 0; i < count; ++i) {
    times.push_back(static_cast<double>(bench.take(Op::read, random_offset(i), 4096).count()) * 1e-9);
  }
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / count;
  double squares = 0;
  for (const double time : times) {
    squares += (time - mean) * (time - mean);
  }
  EXPECT_NEAR(mean, 0.002, 0.00003);
  EXPECT_NEAR(std::sqrt(squares / count) / mean, 0.5, 0.02);
  // The median of a log-normal lies below its mean, by a known factor.
  std::nth_element(times.begin(), times.begin() + count / 2, times.end());
  EXPECT_NEAR(times[count / 2], 0.002 / std::sqrt(1.25), 0.00004);
}

TEST(Timing, TheTailHasItsShareAndItsMean) {
  Bench bench({.read_latency = 0.001, .tail_rate = 0.1, .tail_latency = 0.05});
  int slow = 0;
  double sum = 0;
  constexpr int count = 50000;
  for (int i = 0; i < count; ++i) {
    const double time = static_cast<double>(bench.take(Op::read, random_offset(i), 4096).count()) * 1e-9;
    slow += time > 0.0010001 ? 1 : 0;
    sum += time;
  }
  EXPECT_NEAR(slow / static_cast<double>(count), 0.1, 0.01);
  EXPECT_NEAR(sum / count, 0.001 + 0.1 * 0.05, 0.0003);
}

TEST(Timing, TheSameSeedGivesTheSameTimes) {
  const auto run = [](double seed) {
    Bench bench({.read_latency = 0.001, .spread = 0.5, .seed = seed});
    return bench.stream(1, 100, [&](int i) { bench.submit(Op::read, random_offset(i), 4096); });
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

constexpr Model cached_disk = {.write_latency = 0.01,
                               .flush_latency = 0.001,
                               .write_bandwidth = 100 * mega,
                               .cache = 8 * mega,
                               .cache_latency = 0.0001};

TEST(TimingCache, AWriteIsDoneWhenItIsInTheCache) {
  Bench bench(cached_disk);
  EXPECT_EQ(bench.take(Op::write, 0, mega), microseconds(100));
}

TEST(TimingCache, AFlushWaitsUntilItIsEmpty) {
  Bench bench(cached_disk);
  bench.take(Op::write, 0, mega);
  const Instant time = bench.take(Op::flush, 0, 0);
  EXPECT_NEAR(static_cast<double>(time.count()) * 1e-9, 0.01 + 0.01 + 0.001, 0.0005);
  EXPECT_EQ(bench.timing().cached(), 0U);
  EXPECT_EQ(bench.take(Op::flush, 0, 0), milliseconds(1));
}

TEST(TimingCache, IsEmptiedWhenIdle) {
  Bench bench(cached_disk);
  bench.take(Op::write, 0, mega);
  bench.sleep(milliseconds(100));
  EXPECT_EQ(bench.take(Op::flush, 0, 0), milliseconds(1));
}

TEST(TimingCache, WhenFullWritesGoAtTheMediumsPace) {
  Bench bench(cached_disk);
  const Instant time = bench.stream(
      1, 100, [&](int i) { bench.submit(Op::write, static_cast<std::uint64_t>(i) * mega, mega); });
  const double through = 100.0 / (static_cast<double>(time.count()) * 1e-9);
  EXPECT_GT(through, 95);
  EXPECT_LT(through, 115);  // the cache took the first 8 of 100 for nothing
}

TEST(TimingCache, AFlushDoesNotWaitForWhatComesAfterIt) {
  Bench bench(cached_disk);
  bench.take(Op::write, 0, mega);
  bench.submit(Op::flush, 0, 0);
  const std::uint64_t flush = bench.last_id();
  for (std::uint64_t i = 1; i < 7; ++i) {
    bench.submit(Op::write, 10 * i * mega, mega);
  }
  const Instant start = bench.now();
  while (bench.wait().id != flush) {
  }
  EXPECT_LT(bench.now() - start, milliseconds(25));
  EXPECT_GT(bench.timing().cached(), 0U);
}

TEST(TimingCache, RewritingTheSamePlaceTakesNoMoreRoom) {
  Bench bench(cached_disk);
  for (int i = 0; i < 7; ++i) {
    bench.submit(Op::write, 0, mega);
  }
  EXPECT_LE(bench.timing().cached(), 2 * mega);
}

TEST(TimingCache, AWriteLargerThanTheCacheGoesAroundIt) {
  Bench bench(cached_disk);
  const Instant time = bench.take(Op::write, 0, 16 * mega);
  EXPECT_NEAR(static_cast<double>(time.count()) * 1e-9, 0.01 + 0.16, 0.001);
}

TEST(Timing, OverheadIsTakenOffWhatTheModelOwes) {
  Bench bench({.read_latency = 0.001}, microseconds(80));
  EXPECT_EQ(bench.take(Op::read, 0, 4096), microseconds(920));
  // Nothing is owed any more when the overhead alone takes longer.
  Bench fast({.read_latency = 0.00005}, microseconds(80));
  EXPECT_EQ(fast.take(Op::read, 0, 4096), Instant::zero());
}

// Too large an estimate of the overhead must not make requests look as if they had come together.
TEST(Timing, OverheadDoesNotMergeRequestsThatCameOneByOne) {
  Bench bench({.read_latency = 0.001}, microseconds(200));
  bench.take(Op::read, 0, 4096);
  bench.sleep(microseconds(50));
  EXPECT_GE(bench.take(Op::read, 4096, 4096), microseconds(700));
}

TEST(Timing, ForgettingDropsEverything) {
  Bench bench(cached_disk);
  bench.take(Op::write, 0, mega);
  bench.submit(Op::read, 0, 4096);
  bench.submit(Op::flush, 0, 0);
  bench.timing().forget();
  EXPECT_EQ(bench.timing().next_event(), never);
  EXPECT_EQ(bench.timing().cached(), 0U);
}

TEST(Timing, AChangedModelHoldsFromNowOn) {
  Bench bench({.read_latency = 0.001});
  bench.take(Op::read, 0, 4096);
  bench.timing().change({.read_latency = 0.005, .parallel = 3}, bench.now());
  EXPECT_EQ(bench.take(Op::read, mega, 4096), milliseconds(5));
}

TEST(Timing, AModelThatNeverWaitsAnswersAtOnce) {
  Bench bench({.read_latency = 3600});
  bench.submit(Op::read, 0, 4096);
  bench.submit(Op::read, mega, 4096);
  EXPECT_FALSE(bench.timing().next(bench.now()));
  bench.timing().change(Model{}, bench.now());
  EXPECT_EQ(bench.timing().next(bench.now())->at, bench.now());
  EXPECT_TRUE(bench.timing().next(bench.now()));
}

TEST(Timing, TheLongestTimesDoNotOverflow) {
  Bench bench({.read_latency = 3600, .iops = 0.001});
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(bench.take(Op::read, random_offset(i), 4096), std::chrono::seconds(3600));
  }
}

}  // namespace
}  // namespace sluice::lab
