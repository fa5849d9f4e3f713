#include "profile/take.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/clock.h"
#include "base/files.h"
#include "base/ioprio.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/measure.h"
#include "profile/probes.h"

namespace sluice {
namespace {

constexpr std::uint64_t default_file = std::uint64_t{1} << 30;
constexpr std::uint64_t most_spare = std::uint64_t{2} << 30;
constexpr double file_share = 0.4;      // of the room; the rest is for files that grow
constexpr double copying_share = 0.15;  // where what is overwritten stays for a while
constexpr std::array<std::string_view, 3> copying = {"btrfs", "zfs", "bcachefs"};
constexpr double fill_share = 0.2;            // of the time, to write the file that is read later
constexpr double longest_request = 1.0 / 40;  // of the time
constexpr double quiet_look = 0.05;
constexpr double beat_seconds = 0.2;

// Sizes of buffered and synced requests to begin with.
constexpr std::array<std::uint64_t, 5> mode_sizes = {512, std::uint64_t{4} << 10, std::uint64_t{64} << 10,
                                                     std::uint64_t{1} << 20, std::uint64_t{16} << 20};

// Where the kernel counts what reaches a place: its block device, or where it has none of its own (btrfs over
// several), those below.
void counters_of(const Device& device, std::vector<std::string>& out) {
  const std::string stat = fmt::format("/sys/class/block/{}/stat", device.name);
  if (sys().access(stat.c_str(), R_OK) == 0) {
    out.push_back(stat);
    return;
  }
  for (const Device& below : device.below) {
    counters_of(below, out);
  }
}

// Columns of the kernel's statistics of a block device.
constexpr std::size_t reads_done = 0;
constexpr std::size_t sectors_read = 2;
constexpr std::size_t writes_done = 4;
constexpr std::size_t under_way = 8;

std::uint64_t sum_of(const std::vector<std::string>& stats, std::initializer_list<std::size_t> columns) {
  std::uint64_t out = 0;
  for (const std::string& path : stats) {
    const auto text = read_file(path, 4096);
    const auto words = split_blanks(text ? std::string_view(*text) : std::string_view());
    for (const std::size_t column : columns) {
      const auto value = words.size() > column ? parse_count(words[column]) : Result<std::uint64_t>(0);
      out += value.value_or(0);
    }
  }
  return out;
}

std::uint64_t bytes_read(const std::vector<std::string>& stats) {
  return 512 * sum_of(stats, {sectors_read});
}

// Reads tell: what came from memory never reached a disk. Writes may be doubled by a mirror or merged.
CacheCheck check_cache(const WorkFile& file, const Place& place, std::uint64_t asked, std::uint64_t reached,
                       bool counted) {
  CacheCheck out{.state = {}, .why = {}, .asked = asked, .reached = reached};
  if (!file.is_direct()) {
    out.state = "not bypassed";
    out.why = file.why_cached();
  } else if (place.media.value_or(Media::unknown) == Media::ram) {
    out.state = "not bypassed";
    out.why = "memory is the medium here, there is nothing below it";
  } else if (!counted) {
    out.state = "unknown";
    out.why = "no device of this machine counts what reaches this place";
  } else if (static_cast<double>(reached) >= 0.95 * static_cast<double>(asked)) {
    out.state = "bypassed";
    out.why = "what was read was read from its devices; caches below them are not known";
  } else {
    out.state = "not bypassed";
    out.why = "part of what was read never reached its devices";
  }
  return out;
}

class Taker {
 public:
  Taker(const Place& place, const ProfileOptions& options, const ProfileProgress& progress)
      : place_(place), options_(options), progress_(progress), start_(steady_seconds()) {
    if (place.device) {
      counters_of(*place.device, stats_);
    }
    // Signals are for the thread that measures: it puts them off while it has a folder to remove.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    beat_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  Result<Profile> run();

 private:
  Status find_room();
  Status fill(WorkFile& file, std::uint64_t size);
  Status take_curves(WorkFile& file, Stream& stream);
  Status take_direct(WorkFile& file, Stream& stream, double seconds);
  [[nodiscard]] std::span<const Curve> earlier_curves(std::uint64_t file) const;
  void choose_files();
  void put_together();
  Status take_modes(Stream& stream, double seconds);
  Status take_sawtooth(const Bench& bench, double seconds);
  Status take_depths(const Bench& bench, double seconds);
  [[nodiscard]] std::vector<std::uint64_t> candidates(const WorkFile& file) const;
  // Bytes that can be written at once in so many seconds, as far as the file's own writing told.
  [[nodiscard]] std::uint64_t in_time(double seconds) const {
    return rate_ <= 0 || options_.repetitions != 0
               ? UINT64_MAX
               : static_cast<std::uint64_t>(std::min(1e18, rate_ * seconds));
  }
  [[nodiscard]] double all() const { return options_.seconds + extra_; }
  [[nodiscard]] double left() const { return std::max(0.0, start_ + all() - steady_seconds()); }
  void show(std::string_view what);
  void beat(const std::stop_token& stop);
  void wait_until_quiet();

  const Place& place_;
  const ProfileOptions& options_;
  const ProfileProgress& progress_;
  double start_;
  std::vector<std::string> stats_;
  std::uint64_t room_ = 0;
  std::uint64_t keep_ = 0;
  std::uint64_t spare_ = 0;
  std::vector<std::uint64_t> files_;  // sizes that must be reached; none = one, as large as the time allows
  bool only_curves_ = false;
  std::mt19937_64 random_{options_.seed};
  std::vector<std::uint64_t> boundaries_;
  Counted counted_;
  std::uint64_t asked_ = 0;
  std::uint64_t reached_ = 0;
  double rate_ = 0;                   // bytes a second
  std::atomic<double> extra_ = 0;     // seconds beyond the time that was asked for
  std::vector<FileCurves> measured_;  // by the size of the file
  Profile out_;
  std::mutex mutex_;  // of what_ and progress_
  std::string what_;
  std::jthread beat_;  // last: it uses all of the above
};

void Taker::show(std::string_view what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
  progress_(std::min(1.0, (steady_seconds() - start_) / all()), what_);
}

// Says that it goes on as long as requests are answered, also where one step takes long.
void Taker::beat(const std::stop_token& stop) {
  std::uint64_t seen = 0;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock waiting(mutex);
  while (!stop.stop_requested()) {
    never.wait_for(waiting, stop, std::chrono::duration<double>(beat_seconds), [] { return false; });
    const std::uint64_t now = counted_.requests;
    if (now != seen) {
      seen = now;
      const std::lock_guard lock(mutex_);
      progress_(std::min(1.0, (steady_seconds() - start_) / all()), what_);
    }
  }
}

// Nothing is under way on its devices and nothing came by for a moment, or the time is over.
void Taker::wait_until_quiet() {
  if (!options_.earlier || stats_.empty()) {
    return;
  }
  while (left() > 0) {
    const std::uint64_t before = sum_of(stats_, {reads_done, writes_done});
    usleep(static_cast<useconds_t>(quiet_look * 1e6));
    if (sum_of(stats_, {reads_done, writes_done}) == before && sum_of(stats_, {under_way}) == 0) {
      return;
    }
    show("waiting for an idle moment");
  }
}

Status Taker::find_room() {
  // A tenth of the place stays free, whatever else is written there meanwhile.
  const std::uint64_t free = place_.free.value_or(0);
  const std::uint64_t keep = place_.capacity.value_or(free) / 10;
  keep_ = keep;
  room_ = free > keep ? free - keep : 0;
  choose_files();
  const std::uint64_t wanted = files_.empty() ? 0 : files_.back();
  if (wanted > room_) {
    return fail(fmt::format("a file of {} does not fit into {}", print_size(wanted), quote(place_.path)),
                fmt::format("{} is free, of which {} must stay so", human_size(free), human_size(keep)));
  }
  if (room_ == 0) {
    return fail(fmt::format("{} is full", quote(place_.path)),
                "a tenth of it must stay free; make room first");
  }
  return {};
}

// What is known was measured with files of these sizes, and only the same add to it.
void Taker::choose_files() {
  files_ = options_.files;
  const auto& earlier = options_.earlier;
  if (files_.empty() && earlier && earlier->file <= room_) {
    for (const FileCurves& one : earlier->files) {
      files_.push_back(one.file);
    }
    files_.push_back(earlier->file);
  }
  only_curves_ = !options_.modes && !options_.depth && !options_.streams && !options_.strides &&
                 !options_.sawtooth && !options_.metadata;
  const bool smaller = earlier && (files_.empty() ? earlier->file > room_ : files_.back() < earlier->file);
  if (smaller && !only_curves_) {
    only_curves_ = true;
    out_.notes.push_back(fmt::format(
        "only curves were measured: the rest is known with a file of {}, and this one was smaller",
        print_size(earlier->file)));
  }
}

// The largest requests need a file of twice their size; a slow place gets a smaller file, so that the time is
// not spent on writing it.
Status Taker::fill(WorkFile& file, std::uint64_t size) {
  const double deadline = start_ + options_.seconds * fill_share;
  const double begin = steady_seconds();
  const std::uint64_t before = file.size();
  SLUICE_CHECK(file.grow(size, [&] {
    show("writing its file");
    return !files_.empty() || steady_seconds() < deadline;
  }));
  // What lies in a device's own cache would be written while the first reads wait.
  SLUICE_TRY([[maybe_unused]] const double flush, file.sync());
  counted_.written += file.size() - before;
  rate_ =
      file.size() > before ? static_cast<double>(file.size() - before) / (steady_seconds() - begin) : rate_;
  // A file whose size is given is written whole, and what that takes beyond its share comes on top.
  extra_ = extra_ + (files_.empty() ? 0 : std::max(0.0, steady_seconds() - std::max(begin, deadline)));
  if (file.size() < 4 * file.alignment()) {
    return fail("there is no room, or no time, for a file to measure with",
                "free some space, or give it more --time");
  }
  return {};
}

// By index_of(), as far as it was measured with a file of that size.
std::span<const Curve> Taker::earlier_curves(std::uint64_t file) const {
  if (!options_.earlier) {
    return {};
  }
  if (options_.earlier->file == file) {
    return options_.earlier->curves;
  }
  for (const FileCurves& one : options_.earlier->files) {
    if (one.file == file) {
      return one.curves;
    }
  }
  return {};
}

std::vector<std::uint64_t> Taker::candidates(const WorkFile& file) const {
  const std::uint64_t size = file.size();
  std::vector<std::uint64_t> out = all_sizes(options_.grid);
  const std::uint64_t largest = std::min(size / 2, in_time(longest_request * options_.seconds));
  const auto unfit = [&](std::uint64_t one) { return one % file.alignment() != 0 || one > largest; };
  // Where all are too large for the time, the smallest must do.
  const auto least = std::find_if(out.begin(), out.end(), [&](std::uint64_t one) {
    return one % file.alignment() == 0 && one <= size / 2;
  });
  const std::uint64_t smallest = least == out.end() ? 0 : *least;
  std::erase_if(out, [&](std::uint64_t one) { return one != smallest && unfit(one); });
  return out;
}

Status Taker::take_direct(WorkFile& file, Stream& stream, double seconds) {
  constexpr double share_of_passes = 0.4;
  MeasureOptions options{.accesses = std::span(accesses).first(direct_count),
                         .first = {},
                         .candidates = candidates(file),
                         .boundaries = boundaries_,
                         .earlier = earlier_curves(file.size()),
                         .repetitions = options_.repetitions,
                         .bound = options_.bound,
                         .seconds = seconds * (1 - share_of_passes),
                         .pause = [&](std::string_view what) {
                           show(what);
                           wait_until_quiet();
                         }};
  if (options.candidates.empty()) {
    return bad_input(
        fmt::format("none of the sizes can be measured: this place takes multiples of {} up to {}",
                    print_size(file.alignment()), print_size(file.size() / 2)),
        "choose other --sizes, or more --time");
  }
  const auto measurable = [&](std::uint64_t one) {
    return std::binary_search(options.candidates.begin(), options.candidates.end(), one);
  };
  std::vector<std::uint64_t> first;
  for (const Interval& interval : options_.grid) {
    for (const std::uint64_t one : draw_sizes(interval, options_.points, random_)) {
      first.push_back(one);
    }
  }
  if (!options.earlier.empty()) {
    for (const Measured& point : options.earlier.front().points) {
      first.push_back(point.size);
    }
  }
  std::erase_if(first, [&](std::uint64_t one) { return !measurable(one); });
  // The largest that can be measured stands for an extreme that cannot.
  first.push_back(options.candidates.back());
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());
  options.first = std::move(first);
  SLUICE_TRY(auto measured, measure_curves(stream, options));
  FileCurves curves{.file = file.size(), .curves = {}};
  std::move(measured.begin(), measured.begin() + direct_count, curves.curves.begin());

  // The same writes in long passes, of fewer sizes.
  options.accesses = std::span(accesses).subspan(direct_count, past_cache_count - direct_count);
  options.seconds = seconds * share_of_passes;
  options.pause = [&](std::string_view what) {
    show(fmt::format("{}, in passes with a flush", what));
    wait_until_quiet();
  };
  std::erase_if(options.first, [&](std::uint64_t one) {
    return one != options.candidates.back() &&
           std::none_of(options_.grid.begin(), options_.grid.end(), [&](const Interval& interval) {
             return one == interval.low || one == interval.high;
           });
  });
  SLUICE_TRY(measured, measure_curves(stream, options));
  std::move(measured.begin() + direct_count, measured.begin() + past_cache_count,
            curves.curves.begin() + direct_count);
  measured_.push_back(std::move(curves));
  return {};
}

// What was measured and what was known before: curves of each size of the file, those of the largest apart,
// because forecasts use them.
void Taker::put_together() {
  if (options_.earlier) {
    std::vector<FileCurves> known = options_.earlier->files;
    known.push_back({.file = options_.earlier->file, .curves = {}});
    std::copy_n(options_.earlier->curves.begin(), past_cache_count, known.back().curves.begin());
    for (FileCurves& one : known) {
      if (std::none_of(measured_.begin(), measured_.end(),
                       [&](const FileCurves& other) { return other.file == one.file; })) {
        measured_.push_back(std::move(one));
      }
    }
  }
  std::sort(measured_.begin(), measured_.end(),
            [](const FileCurves& a, const FileCurves& b) { return a.file < b.file; });
  out_.file = measured_.back().file;
  std::move(measured_.back().curves.begin(), measured_.back().curves.end(), out_.curves.begin());
  measured_.pop_back();
  out_.files = std::move(measured_);
  const std::span own(out_.curves.begin(), past_cache_count);
  out_.largest = own.front().points.back().size;
  out_.sure = std::all_of(own.begin(), own.end(), [&](const Curve& curve) {
    const Doubt left_over = doubt(curve);
    return left_over.interval <= options_.bound && left_over.line <= options_.bound;
  });
  if (out_.largest < options_.grid.back().high) {
    out_.sure = false;
    out_.notes.push_back(
        fmt::format("requests above {} were not measured: too large for the file or the time; their times "
                    "follow from the smaller ones",
                    print_size(out_.largest)));
  }
}

// The direct ones, for each size of the file.
Status Taker::take_curves(WorkFile& file, Stream& stream) {
  std::vector<std::uint64_t> sizes = files_;
  if (sizes.empty()) {
    const std::uint64_t wanted = std::max(default_file, 4 * options_.grid.back().high);
    const bool copies = std::find(copying.begin(), copying.end(), place_.filesystem) != copying.end();
    const double share = copies ? copying_share : file_share;
    sizes.push_back(std::min(wanted, static_cast<std::uint64_t>(static_cast<double>(room_) * share)));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    SLUICE_CHECK(fill(file, sizes[i]));
    const std::uint64_t asked = counted_.read;
    const std::uint64_t reached = bytes_read(stats_);
    const double until = 0.5 * options_.seconds + extra_;
    const double seconds = (until - (steady_seconds() - start_)) / static_cast<double>(sizes.size() - i);
    SLUICE_CHECK(
        take_direct(file, stream,
                    only_curves_ ? left() / static_cast<double>(sizes.size() - i) : std::max(seconds, 0.1)));
    asked_ += counted_.read - asked;
    reached_ += bytes_read(stats_) - reached;
  }
  return {};
}

Status Taker::take_modes(Stream& stream, double seconds) {
  MeasureOptions options{.accesses = std::span(accesses).subspan(past_cache_count),
                         .first = {},
                         .candidates = {},
                         .boundaries = boundaries_,
                         .earlier = {},
                         .repetitions = options_.repetitions,
                         .bound = options_.bound,
                         .seconds = seconds,
                         .pause = [&](std::string_view what) {
                           show(fmt::format("{}, through the page cache", what));
                           wait_until_quiet();
                         }};
  const std::uint64_t largest =
      std::min({out_.largest, spare_ / 4, std::max(options_.grid.front().low, in_time(seconds / 40))});
  options.first.push_back(options_.grid.front().low);
  for (const std::uint64_t size : mode_sizes) {
    if (size > options_.grid.front().low && size <= largest) {
      options.first.push_back(size);
    }
  }
  if (options_.earlier && options_.earlier->file == out_.file) {
    options.earlier = options_.earlier->curves;
  }
  options.candidates = all_sizes(options_.grid);
  std::erase_if(options.candidates, [&](std::uint64_t one) { return one > largest; });
  if (options.candidates.empty() || options.first.back() > largest) {
    out_.notes.emplace_back("no room for new files: buffered and synced access was not measured");
    return {};
  }
  SLUICE_TRY(auto measured, measure_curves(stream, options));
  std::move(measured.begin() + past_cache_count, measured.end(), out_.curves.begin() + past_cache_count);
  return {};
}

Status Taker::take_sawtooth(const Bench& bench, double seconds) {
  SLUICE_TRY(const std::vector<Tooth> teeth, write_teeth(bench, seconds));
  if (const auto found = find_sawtooth(teeth, tooth_grain, largest_tooth / 2, place_.block.value_or(0))) {
    out_.sawtooth = found;
  }
  return {};
}

// Some machines have no io_uring or forbid it; the rest of the profile is good all the same.
Status Taker::take_depths(const Bench& bench, double seconds) {
  auto depths = sweep_depths(bench, seconds);
  if (!depths && (depths.error().number == ENOSYS || depths.error().number == EPERM ||
                  depths.error().number == ENOMEM)) {
    out_.notes.push_back(fmt::format("queue depths were not measured: {}", depths.error().text()));
    return {};
  }
  SLUICE_TRY(out_.depths, std::move(depths));
  return {};
}

Result<Profile> Taker::run() {
  for (const Interval& interval : options_.grid) {
    boundaries_.push_back(interval.high);
  }
  if (options_.earlier) {  // what is not measured again stays
    out_ = *options_.earlier;
    out_.notes.clear();
  }
  SLUICE_CHECK(find_room());
  out_.place = place_.name;
  out_.path = place_.path;
  out_.id = place_.id;
  out_.conditions = conditions_of(place_);
  out_.taken = static_cast<std::uint64_t>(std::time(nullptr));
  out_.grid = options_.grid;
  out_.bound = options_.bound;
  out_.rounds = options_.earlier ? options_.earlier->rounds + 1 : 1;
  SLUICE_TRY(const WorkFolder folder, WorkFolder::open(place_.path, keep_));
  SLUICE_TRY(WorkFile file, WorkFile::create(folder));
  SLUICE_TRY(WorkFile fresh, WorkFile::create(folder));
  Stream first(file, fresh, 0, 0, options_.seed, counted_);
  SLUICE_CHECK(take_curves(file, first));
  put_together();
  out_.cache = check_cache(file, place_, asked_, reached_, !stats_.empty());
  spare_ = std::min((room_ - std::min(room_, file.size())) / 2, most_spare);

  Stream stream(file, fresh, spare_ / 2, 0, options_.seed, counted_);
  const Bench bench{
      .folder = folder, .file = file, .spare = spare_ / 2, .seed = options_.seed, .counted = counted_};
  // What is left of the time, divided by weight among what is left to do.
  struct Step {
    bool wanted;
    double weight;
    std::string_view name;
    std::function<Status(double)> act;
  };
  const std::array steps = {
      Step{options_.modes, 45, "buffered and synced access", [&](double s) { return take_modes(stream, s); }},
      Step{options_.depth, 8, "queue depth", [&](double s) { return take_depths(bench, s); }},
      Step{options_.sawtooth, 12, "block size", [&](double s) { return take_sawtooth(bench, s); }},
      Step{options_.strides, 7, "strides",
           [&](double s) -> Status {
             SLUICE_TRY(out_.strides, compare_strides(bench, s));
             return {};
           }},
      Step{options_.metadata, 5, "create, open, rename and unlink",
           [&](double s) -> Status {
             SLUICE_TRY(out_.waits, time_metadata(bench, options_.bound, s));
             return {};
           }},
      Step{options_.streams, 28, "streams", [&](double s) -> Status {
             SLUICE_CHECK(fresh.empty());
             SLUICE_TRY(out_.streams, compare_streams(bench, out_.curves, s));
             return {};
           }}};
  double weights = 0;
  for (const Step& step : steps) {
    weights += step.wanted ? step.weight : 0;
  }
  for (const Step& step : steps) {
    if (!step.wanted || only_curves_) {
      continue;
    }
    show(step.name);
    wait_until_quiet();
    SLUICE_CHECK(step.act(left() * step.weight / weights));
    weights -= step.weight;
  }
  out_.block = out_.sawtooth ? out_.sawtooth->block : place_.block.value_or(0);
  if (!folder.is_there()) {
    return fail(
        fmt::format("{} vanished while it was measured: something else is there now", quote(place_.path)),
        "mount it again, and measure again");
  }
  std::sort(out_.streams.begin(), out_.streams.end(), [](const Streams& a, const Streams& b) {
    return std::tuple(index_of(a.access), a.size, a.streams) <
           std::tuple(index_of(b.access), b.size, b.streams);
  });
  out_.requests = counted_.requests;
  out_.seconds = steady_seconds() - start_;
  return std::move(out_);
}

}  // namespace

Result<Profile> take_profile(const Place& place, const ProfileOptions& options,
                             const ProfileProgress& progress) {
  if (options.idle || options.earlier) {
    set_io_priority(IoClass::idle);
  }
  return Taker(place, options, progress).run();
}

}  // namespace sluice
