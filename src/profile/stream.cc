#include "profile/stream.h"

#include <algorithm>

namespace sluice {
namespace {

bool is_past_cache(const Access& access) {
  return access.mode == Mode::direct || access.mode == Mode::sustained;
}

bool appends(const Access& access) {
  return access.write && !access.random && !is_past_cache(access);
}

}  // namespace

Status Stream::prepare(const Access& access) {
  if (is_past_cache(access)) {
    // What lies in a device's own cache goes to the medium in idle moments, and would disturb the reads.
    if ((!access.write || access.mode == Mode::sustained) && wrote_ > 0) {
      SLUICE_TRY(const double seconds, file_.sync(true));
      drain_ = seconds / static_cast<double>(wrote_);
      wrote_ = 0;
    }
    if (!access.random) {
      // The requests before have moved a disk's head away; a small one that does not count brings it back.
      const std::uint64_t small = file_.alignment();
      position_ = (position_ + small - 1) / small * small;  // others need not be aligned
      position_ = position_ < small || position_ > size() ? small : position_;
      counted_.requests += 1;
      (access.write ? counted_.written : counted_.read) += small;
      SLUICE_TRY([[maybe_unused]] const double seconds, file_.direct(access.write, position_ - small, small));
    }
    return {};
  }
  if (!appends(access)) {
    return file_.drop_cache();
  }
  return access.mode == Mode::buffered ? fresh_.empty() : Status();
}

// Direct requests and small ones lie at multiples of their size; so do those of a program that writes
// records.
std::uint64_t Stream::next_offset(const Access& access, std::uint64_t length, std::uint64_t gap) {
  if (access.random) {
    return random_() % std::max<std::uint64_t>(1, size() / length) * length;
  }
  if (position_ + length > size()) {
    position_ = 0;
  }
  const std::uint64_t out = position_;
  position_ += length + gap;
  return out;
}

Result<double> Stream::request(const Access& access, std::uint64_t length, std::uint64_t gap) {
  counted_.requests += 1;
  (access.write ? counted_.written : counted_.read) += length;
  wrote_ += access.write && is_past_cache(access) ? 1U : 0U;
  double seconds = 0;
  if (appends(access)) {
    if (fresh_.size() + length > most_ || !fresh_.has_room(length)) {
      SLUICE_CHECK(fresh_.empty());
    }
    if (!fresh_.has_room(length)) {
      return fail(ENOSPC, "others fill the place: a tenth of it must stay free");
    }
    SLUICE_TRY(seconds, fresh_.append(length));
  } else {
    const std::uint64_t offset = next_offset(access, length, gap);
    SLUICE_TRY(seconds, is_past_cache(access) ? file_.direct(access.write, offset, length)
                                              : file_.cached(access.write, offset, length));
  }
  if (access.mode == Mode::synced) {
    SLUICE_TRY(const double flush, appends(access) ? fresh_.sync() : file_.sync());
    seconds += flush;
  }
  return seconds;
}

Result<double> Stream::finish(const Access& access) {
  if (access.mode == Mode::sustained) {
    wrote_ = 0;
    return file_.sync(true);
  }
  if (access.mode != Mode::buffered || !access.write) {
    return 0.0;
  }
  return appends(access) ? fresh_.sync() : file_.sync();
}

std::uint64_t Stream::longest(const Access& access, std::uint64_t length) const {
  return std::max<std::uint64_t>(1, (appends(access) ? most_ : size()) / length);
}

}  // namespace sluice
