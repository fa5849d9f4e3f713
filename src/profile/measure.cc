#include "profile/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "base/units.h"
#include "profile/statistics.h"

namespace sluice {
namespace {

constexpr std::uint64_t default_file = std::uint64_t{1} << 30;
constexpr double fill_share = 0.2;      // of the time, to write the file that is read later
constexpr double burst_seconds = 0.02;  // requests of one kind in a row
constexpr std::size_t longest_burst = 32;
constexpr std::size_t least_samples = 4;
constexpr std::size_t most_samples = 2000;

class Measurer {
 public:
  Measurer(WorkFile& file, const MeasureOptions& options, const MeasureProgress& progress)
      : file_(file),
        options_(options),
        progress_(progress),
        random_(options.seed),
        start_(steady_seconds()) {}

  Result<Curves> run();

 private:
  using Samples = std::array<std::vector<double>, test_count>;

  Status fill();
  Status measure_point(std::uint64_t size, double seconds);
  Status burst(Test test, std::uint64_t size, std::vector<double>& samples);
  Result<double> request(Test test, std::uint64_t offset, std::uint64_t size);
  [[nodiscard]] bool sure(const Samples& samples) const;
  [[nodiscard]] bool sure(const std::vector<double>& samples) const;
  void fit_all();
  std::optional<std::uint64_t> next_size();
  [[nodiscard]] double left() const { return start_ + options_.seconds - steady_seconds(); }
  [[nodiscard]] bool measurable(std::uint64_t size) const {
    return size % file_.alignment() == 0 && size <= file_.size() / 2;
  }

  WorkFile& file_;
  const MeasureOptions& options_;
  const MeasureProgress& progress_;
  std::mt19937_64 random_;
  double start_;
  std::map<std::uint64_t, Samples> samples_;
  std::vector<std::uint64_t> candidates_;
  std::vector<std::uint64_t> boundaries_;
  std::array<std::uint64_t, test_count> position_ = {};  // where the sequential ones go on
  Curves out_;
};

// The largest requests need a file of twice their size; a slow place gets a smaller file, so that the time is
// not spent on writing it.
Status Measurer::fill() {
  const std::uint64_t wanted =
      options_.file != 0 ? options_.file : std::max(default_file, 4 * options_.grid.back().high);
  const std::uint64_t size = std::min(wanted, options_.room) / file_.alignment() * file_.alignment();
  const double deadline = start_ + options_.seconds * fill_share;
  SLUICE_CHECK(file_.grow(size, [&] {
    progress_(fill_share * static_cast<double>(file_.size()) / static_cast<double>(size), "writing its file");
    return options_.file != 0 || steady_seconds() < deadline;
  }));
  out_.bytes_written += file_.size();
  if (file_.size() < 4 * file_.alignment()) {
    return fail("there is no room, or no time, for a file to measure with",
                "free some space, or give it more --time");
  }
  return {};
}

Result<double> Measurer::request(Test test, std::uint64_t offset, std::uint64_t size) {
  ++out_.requests;
  (writes(test) ? out_.bytes_written : out_.bytes_read) += size;
  return writes(test) ? file_.write(offset, size) : file_.read(offset, size);
}

// Some requests of one kind in a row. Before sequential ones the device is brought to the place where they go
// on, by a small request that does not count: the requests between the bursts have moved it away.
Status Measurer::burst(Test test, std::uint64_t size, std::vector<double>& samples) {
  const std::uint64_t slots = file_.size() / size;
  std::uint64_t& position = position_[static_cast<std::size_t>(test)];
  double spent = 0;
  for (std::size_t i = 0; i < longest_burst && spent < burst_seconds; ++i) {
    std::uint64_t offset = random_() % slots * size;
    if (!is_random(test)) {
      if (position + size > file_.size()) {
        position = file_.alignment();
      }
      if (i == 0 && position >= file_.alignment()) {
        SLUICE_TRY(const double seconds, request(test, position - file_.alignment(), file_.alignment()));
        spent += seconds;
      }
      offset = position;
      position += size;
    }
    SLUICE_TRY(const double seconds, request(test, offset, size));
    samples.push_back(seconds);
    spent += seconds;
  }
  return {};
}

bool Measurer::sure(const std::vector<double>& samples) const {
  if (options_.repetitions != 0) {
    return samples.size() >= options_.repetitions;
  }
  return samples.size() >= least_samples &&
         (summarize(samples).error() <= options_.bound || samples.size() >= most_samples);
}

bool Measurer::sure(const Samples& samples) const {
  return std::all_of(samples.begin(), samples.end(), [&](const auto& each) { return sure(each); });
}

// Bursts of the four tests in turn, so that whatever drifts drifts for all of them.
Status Measurer::measure_point(std::uint64_t size, double seconds) {
  Samples& samples = samples_[size];
  const double deadline = steady_seconds() + seconds;
  do {
    for (std::size_t i = 0; i < test_count; ++i) {
      if (!sure(samples[i])) {
        SLUICE_CHECK(burst(static_cast<Test>(i), size, samples[i]));
      }
    }
  } while (!sure(samples) && steady_seconds() < deadline);
  return {};
}

void Measurer::fit_all() {
  for (std::size_t i = 0; i < test_count; ++i) {
    std::vector<Measured> points;
    for (const auto& [size, samples] : samples_) {
      const Summary summary = summarize(samples[i]);
      if (summary.kept > 0 && summary.mean > 0) {
        points.push_back({.size = size,
                          .seconds = summary.mean,
                          .half = std::isfinite(summary.error()) ? summary.half : summary.mean,
                          .repetitions = samples[i].size(),
                          .outliers = summary.outliers});
      }
    }
    out_.tests[i] = fit(std::move(points), boundaries_);
  }
}

// Where the curve that bends most does so; else where a mean is least sure.
std::optional<std::uint64_t> Measurer::next_size() {
  fit_all();
  std::optional<std::uint64_t> out;
  double worst = options_.bound;
  for (const Curve& curve : out_.tests) {
    double error = 0;
    for (const Line& line : curve.lines) {
      error = std::max(error, line.error);
    }
    const auto wanted = most_wanted(curve, candidates_);
    if (wanted && error > worst) {
      worst = error;
      out = wanted;
    }
  }
  return out;
}

Result<Curves> Measurer::run() {
  SLUICE_CHECK(fill());
  for (const std::uint64_t size : all_sizes(options_.grid)) {
    if (measurable(size)) {
      candidates_.push_back(size);
    }
  }
  std::vector<std::uint64_t> first;
  for (const Interval& interval : options_.grid) {
    boundaries_.push_back(interval.high);
    for (const std::uint64_t size : draw_sizes(interval, options_.points, random_)) {
      if (measurable(size) && (first.empty() || first.back() != size)) {
        first.push_back(size);
      }
    }
  }
  if (candidates_.empty()) {
    return bad_input(
        fmt::format("none of the sizes can be measured: this place takes multiples of {} up to {}",
                    print_size(file_.alignment()), print_size(file_.size() / 2)),
        "choose other --sizes, or more --time");
  }
  // The largest that can be measured stands for an extreme that cannot.
  if (first.empty() || first.back() != candidates_.back()) {
    first.push_back(candidates_.back());
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double share = std::max(left(), 0.0) / static_cast<double>(first.size() - i + 1);
    progress_(fill_share + (1 - fill_share) * (1 - std::max(left(), 0.0) / options_.seconds),
              print_size(first[i]));
    SLUICE_CHECK(measure_point(first[i], share));
  }
  constexpr std::size_t most_further = 200;
  bool well = false;
  for (std::size_t i = 0; i < most_further && left() > 0 && options_.repetitions == 0; ++i) {
    const auto size = next_size();
    if (!size) {
      well = true;
      break;
    }
    progress_(1 - std::max(left(), 0.0) / options_.seconds, print_size(*size));
    SLUICE_CHECK(measure_point(*size, std::min(left(), options_.seconds / 10)));
  }
  fit_all();
  out_.sure = well && std::all_of(samples_.begin(), samples_.end(),
                                  [&](const auto& row) { return sure(row.second); });
  out_.file = file_.size();
  out_.largest = candidates_.back();
  out_.seconds = steady_seconds() - start_;
  return out_;
}

}  // namespace

Result<Curves> measure_curves(WorkFile& file, const MeasureOptions& options,
                              const MeasureProgress& progress) {
  return Measurer(file, options, progress).run();
}

}  // namespace sluice
