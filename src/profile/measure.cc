#include "profile/measure.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "base/median.h"
#include "base/units.h"
#include "profile/statistics.h"

namespace sluice {
namespace {

constexpr double burst_seconds = 0.02;  // requests of one kind in a row
constexpr std::size_t longest_burst = 32;
constexpr std::size_t shortest_write_burst = 2;
// One burst that the machine held up must not stand for the place: there is a second one of each kind and
// size, whatever the time, and further ones as long as all of them together took no longer than this.
constexpr std::size_t never_fewer = 2;
constexpr double cheap_seconds = 0.05;
// A machine that has just done something else is slower for a moment.
constexpr double lead_in_seconds = 0.002;
constexpr double short_request = 0.0005;
constexpr std::size_t longest_lead_in = 32;
constexpr std::size_t least_bursts = 4;
constexpr std::size_t least_runs = 3;  // of buffered and sustained requests, each of which is one value
constexpr std::size_t most_bursts = 2000;
constexpr std::size_t most_passes = 6;     // each of which is many requests
constexpr std::size_t most_further = 200;  // sizes

class Measurer {
 public:
  Measurer(Stream& stream, const MeasureOptions& options)
      : stream_(stream), options_(options), start_(steady_seconds()) {
    const auto cells =
        static_cast<double>(options.accesses.size() * std::max<std::size_t>(1, options.first.size()));
    // A pass of writes must be far longer than the way to its place and the flush.
    const bool passes = options.accesses.front().mode == Mode::sustained;
    run_seconds_ = passes ? std::clamp(options.seconds / cells / (least_runs + 1), 0.05, 2.0)
                          : std::clamp(options.seconds / cells / (2 * least_runs), 0.02, 0.25);
  }

  Result<MeasuredCurves> run();

 private:
  using Bursts = std::vector<Burst>;
  using Samples = std::array<Bursts, access_count>;
  using Spent = std::array<double, access_count>;

  Status measure_point(std::uint64_t size, double seconds, bool must);
  Result<Burst> sample(const Access& access, std::uint64_t size);
  Result<Burst> burst(const Access& access, std::uint64_t size);
  Result<double> read_run(const Access& access, std::uint64_t size);
  Result<double> write_run(const Access& access, std::uint64_t size);
  Result<double> flush_alone(const Access& access);
  [[nodiscard]] bool sure(const Access& access, std::uint64_t size, const Bursts& bursts) const;
  [[nodiscard]] std::optional<Measured> point(const Access& access, std::uint64_t size) const;
  void fit_all();
  [[nodiscard]] std::optional<std::uint64_t> next_size() const;
  [[nodiscard]] double left() const { return start_ + options_.seconds - steady_seconds(); }

  Stream& stream_;
  const MeasureOptions& options_;
  double start_;
  double run_seconds_;
  std::map<std::uint64_t, Samples> samples_;
  std::map<std::uint64_t, Spent> spent_;                                        // seconds that they took
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> run_lengths_;  // of writes, in requests
  std::array<std::optional<double>, access_count> flush_alone_;
  MeasuredCurves out_;
};

// Requests in a row, because the machine is in one state meanwhile.
Result<Burst> Measurer::burst(const Access& access, std::uint64_t size) {
  SLUICE_CHECK(stream_.prepare(access));
  double spent = 0;
  // What writes leave in a device's own cache goes to the medium before the next read: a seek each, if
  // random.
  const bool cached = access.write && access.mode == Mode::direct;
  const std::size_t longest =
      cached ? std::clamp(static_cast<std::size_t>(burst_seconds / stream_.drain_seconds()),
                          shortest_write_burst, longest_burst)
             : longest_burst;
  for (std::size_t i = 0; i < std::min(longest, longest_lead_in) && spent < lead_in_seconds; ++i) {
    SLUICE_TRY(const double seconds, stream_.request(access, size));
    if (seconds > short_request) {
      break;
    }
    spent += seconds;
  }
  Burst out;
  spent = 0;
  while (out.size() < longest && spent < burst_seconds) {
    SLUICE_TRY(const double seconds, stream_.request(access, size));
    out.push_back(seconds);
    spent += seconds;
  }
  return out;
}

// The kernel reads ahead: single requests tell nothing, and neither do those before it has done so once.
Result<double> Measurer::read_run(const Access& access, std::uint64_t size) {
  SLUICE_CHECK(stream_.prepare(access));
  const std::uint64_t longest = stream_.longest(access, size);
  const std::uint64_t window = stream_.ahead(access) / size;  // in requests
  const std::uint64_t uncounted = std::min(longest / 2, window + window / 2 + 1);
  double spent = 0;
  double counted = 0;
  std::uint64_t count = 0;
  const auto go_on = [&] {
    return counted < run_seconds_ || count < 2 * window + 1 || (count < 3 && counted < 4 * run_seconds_);
  };
  for (std::uint64_t i = 0; i < longest && go_on(); ++i) {
    SLUICE_TRY(const double seconds, stream_.request(access, size));
    spent += seconds;
    if (i >= uncounted) {
      counted += seconds;
      ++count;
    }
  }
  return count > 0 ? counted / static_cast<double>(count) : spent / static_cast<double>(longest);
}

// What a flush costs however little there is to flush.
Result<double> Measurer::flush_alone(const Access& access) {
  auto& known = flush_alone_[index_of(access)];
  if (!known) {
    std::vector<double> times;
    for (int i = 0; i < 3; ++i) {
      SLUICE_CHECK(stream_.prepare(access));
      SLUICE_TRY([[maybe_unused]] const double request, stream_.request(access, 4096));
      SLUICE_TRY(const double flush, stream_.finish(access));
      times.push_back(flush);
    }
    known = median(times);
  }
  return *known;
}

// Many writes and the flush that puts them down; through the page cache, without what the flush alone would
// have cost.
Result<double> Measurer::write_run(const Access& access, std::uint64_t size) {
  double flush = 0;
  if (access.mode == Mode::buffered) {
    SLUICE_TRY(flush, flush_alone(access));
  }
  const std::uint64_t longest = stream_.longest(access, size);
  std::uint64_t& length = run_lengths_[{index_of(access), size}];
  length = length != 0
               ? length
               : std::clamp<std::uint64_t>((std::uint64_t{1} << 20) / size, 1, access.random ? 8 : 64);
  for (;;) {
    SLUICE_CHECK(stream_.prepare(access));
    double spent = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      SLUICE_TRY(const double seconds, stream_.request(access, size));
      spent += seconds;
    }
    SLUICE_TRY(const double rest, stream_.finish(access));
    spent += rest;
    if (spent >= run_seconds_ + flush || length >= longest) {
      return (spent - std::min(flush, spent / 2)) / static_cast<double>(length);
    }
    const double factor = std::clamp(1.5 * (run_seconds_ + flush) / spent, 1.5, 8.0);
    length = std::min(longest, static_cast<std::uint64_t>(std::ceil(static_cast<double>(length) * factor)));
  }
}

Result<Burst> Measurer::sample(const Access& access, std::uint64_t size) {
  if (access.mode == Mode::direct || access.mode == Mode::synced) {
    return burst(access, size);
  }
  SLUICE_TRY(const double mean, access.write ? write_run(access, size) : read_run(access, size));
  return Burst{mean};
}

// With what an earlier profile measured at that size.
std::optional<Measured> Measurer::point(const Access& access, std::uint64_t size) const {
  const std::size_t index = index_of(access);
  std::optional<Measured> out;
  if (const auto row = samples_.find(size); row != samples_.end()) {
    const Summary summary = summarize_bursts(row->second[index]);
    if (summary.kept > 0 && summary.mean > 0) {
      out = Measured{.size = size,
                     .seconds = summary.mean,
                     .half = std::isfinite(summary.error()) ? summary.half : summary.mean,
                     .repetitions = summary.kept,
                     .outliers = summary.outliers};
    }
  }
  if (index < options_.earlier.size()) {
    for (const Measured& before : options_.earlier[index].points) {
      if (before.size == size) {
        out = out ? pooled(*out, before) : before;
      }
    }
  }
  return out;
}

bool Measurer::sure(const Access& access, std::uint64_t size, const Bursts& bursts) const {
  if (options_.repetitions != 0) {
    return bursts.size() >= options_.repetitions;
  }
  const bool runs = access.mode == Mode::buffered || access.mode == Mode::sustained;
  if (bursts.size() < (runs ? least_runs : least_bursts)) {
    return false;
  }
  const auto known = point(access, size);
  const std::size_t most = access.mode == Mode::sustained ? most_passes : most_bursts;
  return bursts.size() >= most || (known && known->half <= options_.bound * known->seconds);
}

// All accesses in turn, so that whatever drifts drifts for all of them; each at least once where it must be,
// and as often as was asked for, whatever the time.
Status Measurer::measure_point(std::uint64_t size, double seconds, bool must) {
  options_.pause(print_size(size));
  Samples& samples = samples_[size];
  Spent& spent = spent_[size];
  const double deadline = steady_seconds() + seconds;
  const auto wanted = [&](const Access& access) {
    const std::size_t i = index_of(access);
    const Bursts& bursts = samples[i];
    const bool begun = !bursts.empty() || must;
    const bool cheap = bursts.size() < least_bursts && spent[i] < cheap_seconds;
    return (begun && (bursts.size() < never_fewer || cheap)) ||
           (!sure(access, size, bursts) && (options_.repetitions != 0 || steady_seconds() < deadline));
  };
  for (bool again = true; again;) {
    again = false;
    for (const Access& access : options_.accesses) {
      if (wanted(access)) {
        const double start = steady_seconds();
        SLUICE_TRY(Burst one, sample(access, size));
        samples[index_of(access)].push_back(std::move(one));
        spent[index_of(access)] += steady_seconds() - start;
        again = true;
      }
    }
  }
  return {};
}

void Measurer::fit_all() {
  for (const Access& access : options_.accesses) {
    std::vector<std::uint64_t> sizes;
    for (const auto& [size, samples] : samples_) {
      sizes.push_back(size);
    }
    if (index_of(access) < options_.earlier.size()) {
      for (const Measured& before : options_.earlier[index_of(access)].points) {
        sizes.push_back(before.size);
      }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::vector<Measured> points;
    for (const std::uint64_t size : sizes) {
      if (const auto one = point(access, size)) {
        points.push_back(*one);
      }
    }
    out_[index_of(access)] = fit(std::move(points), options_.boundaries);
  }
}

// Where the curve that fits worst bends most; where all fit, the size whose mean is the least sure.
std::optional<std::uint64_t> Measurer::next_size() const {
  std::optional<std::uint64_t> out;
  double worst = options_.bound;
  for (const Access& access : options_.accesses) {
    const Curve& curve = out_[index_of(access)];
    const double distance = doubt(curve).line;
    const auto wanted = most_wanted(curve, options_.candidates);
    if (wanted && distance > worst) {
      worst = distance;
      out = wanted;
    }
  }
  for (const Access& access : options_.accesses) {
    const Curve& curve = out_[index_of(access)];
    if (worst > options_.bound || doubt(curve).interval <= options_.bound) {
      continue;
    }
    double widest = options_.bound;
    for (const Measured& point : curve.points) {
      if (samples_.contains(point.size) && point.half > widest * point.seconds) {
        widest = point.half / point.seconds;
        out = point.size;
      }
    }
  }
  return out;
}

// Both ends of the curve before all others: on a slow place there may be time for no more.
Result<MeasuredCurves> Measurer::run() {
  std::vector<std::uint64_t> order = options_.first;
  if (order.size() > 2) {
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  }
  const bool counted = options_.repetitions != 0;
  for (std::size_t i = 0; i < order.size() && (i < 2 || counted || left() > 0); ++i) {
    SLUICE_CHECK(
        measure_point(order[i], std::max(left(), 0.0) / static_cast<double>(order.size() - i + 1), i < 2));
  }
  for (std::size_t i = 0; i < most_further && left() > 0 && !counted; ++i) {
    fit_all();
    const auto size = next_size();
    if (!size) {
      break;
    }
    SLUICE_CHECK(measure_point(*size, std::min(left(), options_.seconds / 8), false));
  }
  fit_all();
  return std::move(out_);
}

}  // namespace

Result<MeasuredCurves> measure_curves(Stream& stream, const MeasureOptions& options) {
  return Measurer(stream, options).run();
}

}  // namespace sluice
