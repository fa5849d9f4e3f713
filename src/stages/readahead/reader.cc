#include "stages/readahead/reader.h"

#include <fcntl.h>

#include <algorithm>

namespace sluice::readahead {
namespace {

// Requests that leave no more than this out are as good as sequential.
constexpr std::int64_t close_by = 16 * 1024;
// So many must be alike before anything is fetched for them, and so much is fetched first.
constexpr std::uint32_t sure = 2;
constexpr std::int64_t first_reach = 128 * 1024;
constexpr std::int64_t most_pieces = 32;
constexpr std::int64_t farthest = std::int64_t{1} << 40;  // from one piece to the next
// What is in memory already is looked at in every 2nd, 4th... step, at last in every 16th.
constexpr std::uint32_t most_cached = 4;

// Was asked for: farther away than any piece.
constexpr std::int64_t nothing = INT64_MAX;

}  // namespace

void Reader::begin(std::int64_t position) {
  told_.store(Pattern::automatic, relaxed);
  kind_.store(Pattern::random, relaxed);
  impossible_.store(false, relaxed);
  sight_.store(Sight::untried, relaxed);
  alike_.store(0, relaxed);
  position_.store(position, relaxed);
  begin_.store(0, relaxed);
  end_.store(-1, relaxed);
  stride_.store(0, relaxed);
  asked_.store(nothing, relaxed);
  strided_.store(0, relaxed);
  pieces_.store(0, relaxed);
  reach_.store(first_reach, relaxed);
  cached_.store(0, relaxed);
  skip_.store(0, relaxed);
}

void Reader::lose() {
  ahead_.set(0);
  asked_.store(nothing, relaxed);
  strided_.store(0, relaxed);
  pieces_.store(0, relaxed);
  reach_.store(first_reach, relaxed);
}

bool Reader::is_there(const Request& request) {
  if (!request.at_position) {
    return true;
  }
  const std::int64_t position = position_of(request.fd);
  position_.store(position, relaxed);
  return position == request.end;
}

bool Reader::skips() {
  const std::uint32_t left = skip_.load(relaxed);
  if (left > 0) {
    skip_.store(left - 1, relaxed);
  }
  return left > 0;
}

// Of files of others, and of stacked file systems, the kernel says that nothing is in memory. What was read
// just now is, so it shows there.
bool Reader::finds(const Request& request, std::int64_t offset) {
  Sight sight = sight_.load(relaxed);
  bool found = sight != Sight::blind && is_cached(request.fd, offset, 1);
  if (sight == Sight::untried && !found) {
    sight = is_cached(request.fd, request.end - 1, 1) ? Sight::good : Sight::blind;
    sight_.store(sight, relaxed);
  }
  found = found || (sight == Sight::blind && is_read_at_once(request.fd, offset));
  if (!found) {
    cached_.store(0, relaxed);
    return false;
  }
  const std::uint32_t looks = std::min(cached_.load(relaxed) + 1, most_cached);
  cached_.store(looks, relaxed);
  skip_.store((1U << looks) - 1, relaxed);
  return true;
}

// As stage stats does it, but that small gaps do not count.
Pattern Reader::classify(const Request& request) {
  const std::int64_t end = end_.load(relaxed);
  const std::int64_t stride = end < 0 ? 0 : request.begin - begin_.load(relaxed);
  const bool goes_on = end >= 0 && request.begin >= end && request.begin - end <= close_by;
  const bool strided = stride != 0 && stride == stride_.load(relaxed);
  begin_.store(request.begin, relaxed);
  end_.store(request.end, relaxed);
  stride_.store(stride, relaxed);
  const Pattern kind = goes_on ? Pattern::sequential : strided ? Pattern::strided : Pattern::random;
  const bool same = kind == kind_.load(relaxed);
  const std::uint32_t alike = same ? alike_.load(relaxed) : 0;
  if (!same) {
    kind_.store(kind, relaxed);
  }
  if (!goes_on) {
    since_.store(request.begin, relaxed);
  }
  if (alike < sure) {
    alike_.store(alike + 1, relaxed);
  }
  return alike + 1 >= sure ? kind : Pattern::random;
}

void Reader::follow_sequential(const Settings& settings, const Request& request) {
  const std::int64_t reach = std::min(reach_.load(relaxed), settings.window);
  std::int64_t asked = asked_.load(relaxed);
  if (asked < request.end || asked > request.end + settings.window) {
    asked = request.end;
  } else if (asked - request.end > reach / 2) [[likely]] {
    return;
  }
  const std::int64_t wanted = round_down(request.end + std::min(reach, ahead_.most(settings.memory)));
  if (wanted <= asked) {
    ahead_.set(asked - request.end);
    return;
  }
  const bool skipped = skips();
  if (!skipped && !is_there(request)) {
    lose();
    return;
  }
  asked_.store(wanted, relaxed);
  reach_.store(std::min(2 * reach, settings.window), relaxed);
  const std::int64_t end = skipped ? asked : std::min(wanted, size_of(request.fd));
  if (end <= asked || finds(request, end - 1)) {
    ahead_.set(0);
    return;
  }
  ahead_.set(end - request.end);
  impossible_.store(!fetch(request.fd, asked, end - asked), relaxed);
}

void Reader::follow_strided(const Settings& settings, const Request& request) {
  const std::int64_t stride = stride_.load(relaxed);
  const std::int64_t length = request.end - request.begin;
  std::int64_t have = 0;
  if (stride == strided_.load(relaxed)) [[likely]] {
    have = std::max<std::int64_t>(pieces_.load(relaxed) - 1, 0);
    pieces_.store(have, relaxed);
    if (have > enough_.load(relaxed)) [[likely]] {
      return;
    }
  }
  if ((stride > -length && stride < length) || stride < -farthest || stride > farthest) {
    lose();
    return;
  }
  const std::int64_t piece = round_up(length);
  const std::int64_t most = std::clamp<std::int64_t>(settings.window / piece, 1, most_pieces);
  const std::int64_t count = std::min(most, ahead_.most(settings.memory) / piece) - have;
  if (count <= 0) {
    return;
  }
  const bool skipped = skips();
  if (!skipped && !is_there(request)) {
    lose();
    return;
  }
  strided_.store(stride, relaxed);
  enough_.store(most / 2, relaxed);
  pieces_.store(have + count, relaxed);
  const std::int64_t size = skipped ? 0 : size_of(request.fd);
  const auto offset_of = [&](std::int64_t i) { return request.begin + (have + 1 + i) * stride; };
  std::int64_t inside = 0;
  while (inside < count && offset_of(inside) >= 0 && offset_of(inside) < size) {
    ++inside;
  }
  if (inside == 0 || finds(request, offset_of(inside - 1))) {
    ahead_.set(0);
    return;
  }
  ahead_.set((have + inside) * piece);
  bool good = true;
  for (std::int64_t i = 0; i < inside && good; ++i) {
    good = fetch(request.fd, offset_of(i), length);
  }
  impossible_.store(!good, relaxed);
}

void Reader::follow(const Settings& settings, const Request& request) {
  const Pattern seen = classify(request);
  const Pattern said = settings.pattern != Pattern::automatic ? settings.pattern : told_.load(relaxed);
  if (impossible_.load(relaxed)) {
    return;
  }
  if (said == Pattern::sequential) {
    reach_.store(settings.window, relaxed);
  }
  // The kernel sees this, or was told, as well, and where it reaches farther than we would, it is not to be
  // stopped: by then it is there, and a look finds what it brought. A rule is not so patient.
  const Pattern pattern = said == Pattern::automatic ? seen : said;
  if (settings.pattern == Pattern::automatic && pattern == Pattern::sequential &&
      request.end - since_.load(relaxed) < settings.window) {
    return;
  }
  switch (pattern) {
    case Pattern::sequential:
      follow_sequential(settings, request);
      return;
    case Pattern::strided:
      follow_strided(settings, request);
      return;
    default:
      break;
  }
  // Elsewhere than where something was asked for.
  const std::int64_t asked = asked_.load(relaxed);
  if (kind_.load(relaxed) == Pattern::random &&
      (strided_.load(relaxed) != 0 ||
       (asked != nothing && (asked < request.begin || asked - request.begin > settings.window)))) {
    lose();
  }
}

void Reader::read(const Settings& settings, int fd, std::int64_t offset, std::int64_t bytes) {
  follow(settings, {.fd = fd, .begin = offset, .end = offset + bytes, .at_position = false});
}

void Reader::read_at_position(const Settings& settings, int fd, std::int64_t bytes) {
  const std::int64_t begin = position_.load(relaxed);
  position_.store(begin + bytes, relaxed);
  follow(settings, {.fd = fd, .begin = begin, .end = begin + bytes, .at_position = true});
}

// A rule is stronger than what a program says.
void Reader::hear(const Settings& settings, int fd, std::int64_t offset, std::int64_t length, int advice) {
  if (settings.pattern != Pattern::automatic || offset < 0) {
    return;
  }
  if (advice == POSIX_FADV_NORMAL || advice == POSIX_FADV_SEQUENTIAL) {
    told_.store(advice == POSIX_FADV_NORMAL ? Pattern::automatic : Pattern::sequential, relaxed);
  } else if (advice == POSIX_FADV_RANDOM) {
    told_.store(Pattern::random, relaxed);
    lose();
  } else if (advice == POSIX_FADV_WILLNEED) {
    const std::int64_t rest = std::max<std::int64_t>(size_of(fd) - offset, 0);
    const std::int64_t bytes = std::min(
        {length == 0 ? rest : std::min(length, rest), settings.window, ahead_.most(settings.memory)});
    if (bytes > 0 && !is_cached(fd, offset, bytes) && fetch(fd, offset, bytes)) {
      ahead_.set(bytes);
      asked_.store(round_down(offset + bytes), relaxed);
    }
  }
}

}  // namespace sluice::readahead
