#include "run/part_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/step.h"
#include "base/text.h"
#include "pipeline/write_at.h"
#include "run/part_log.h"

namespace sluice {
namespace {

constexpr std::size_t at_once = std::size_t{8} << 20;  // bytes, written by one call

Combined combine_sources(const std::vector<PartSource>& sources) {
  std::vector<std::vector<Piece>> pieces;
  for (const PartSource& source : sources) {
    pieces.push_back(source.pieces);
  }
  return combine_pieces(pieces);
}

Status read_all(const PartSource& from, char* bytes, std::size_t length, std::uint64_t offset) {
  while (length > 0) {
    const ssize_t done = pread(from.fd.get(), bytes, length, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      const int number = done == 0 ? EIO : errno;
      return fail(number, fmt::format("cannot read {}", quote(from.data)));
    }
    bytes += done;
    offset += static_cast<std::uint64_t>(done);
    length -= static_cast<std::size_t>(done);
  }
  return {};
}

// Extents that lie side by side are written together, whoever wrote them: that is what parts are for.
Status write_extents(const Combined& combined, const std::vector<PartSource>& sources, int fd,
                     const std::function<void()>& begins) {
  std::vector<char> buffer(at_once);
  std::size_t filled = 0;
  std::uint64_t base = 0;
  const auto flush = [&]() -> Status {
    begins();
    const std::size_t length = std::exchange(filled, 0);
    const int error = write_at(fd, buffer.data(), length, base);
    return error == 0 ? Status() : fail(error, "cannot write it");
  };
  for (const auto& [begin, extent] : combined.extents) {
    for (std::uint64_t at = begin; at < extent.end;) {
      if (base + filled != at || filled == at_once) {
        SLUICE_CHECK(flush());
        base = at;
      }
      const auto length =
          static_cast<std::size_t>(std::min<std::uint64_t>(extent.end - at, at_once - filled));
      SLUICE_CHECK(read_all(sources[extent.part], buffer.data() + filled, length, at));
      filled += length;
      at += length;
    }
  }
  return flush();
}

// A part that has lost bytes is found before anything is written.
Status check_sources(const Combined& combined, const std::vector<PartSource>& sources) {
  for (const auto& [begin, extent] : combined.extents) {
    const PartSource& source = sources[extent.part];
    struct stat found {};
    if (!source.fd || fstat(source.fd.get(), &found) != 0) {
      return Errno().fail(fmt::format("cannot read {}", quote(source.data)));
    }
    if (static_cast<std::uint64_t>(found.st_size) < extent.end) {
      return fail(EIO, fmt::format("{} ends at {}, and should have bytes up to {}", quote(source.data),
                                   found.st_size, extent.end));
    }
  }
  return {};
}

// Makes a file end there at least. Others may make it longer at any moment, so nothing that could make it
// shorter, where the file system has something else.
Status reach(int fd, std::uint64_t size) {
  struct stat found {};
  if (fstat(fd, &found) == 0 && (static_cast<std::uint64_t>(found.st_size) >= size ||
                                 fallocate(fd, 0, static_cast<off_t>(size) - 1, 1) == 0 ||
                                 ftruncate(fd, static_cast<off_t>(size)) == 0)) {
    return {};
  }
  return Errno().fail("cannot give it its size");
}

Status check_ours(const PartSource& source) {
  return is_ours(source) ? Status() : fail(EPERM, fmt::format("{} is somebody else's", quote(source.data)));
}

}  // namespace

Combined combine_pieces(const std::vector<std::vector<Piece>>& parts) {
  Combined out;
  std::vector<std::pair<Piece, std::size_t>> all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Piece& piece : parts[i]) {
      all.emplace_back(piece, i);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.order < b.first.order; });
  // What begins before an offset and reaches beyond it becomes two.
  const auto split = [&](std::uint64_t at) {
    auto next = out.extents.lower_bound(at);
    if (next != out.extents.begin()) {
      auto& [begin, extent] = *std::prev(next);
      if (extent.end > at) {
        out.extents.emplace_hint(next, at, extent);
        extent.end = at;
      }
    }
    return out.extents.lower_bound(at);
  };
  for (const auto& [piece, part] : all) {
    if (piece.length == Piece::cut) {
      out.extents.erase(split(piece.offset), out.extents.end());
      out.kept = std::min(out.kept, piece.offset);
      out.reach = piece.offset;
      continue;
    }
    const std::uint64_t end = piece.offset + piece.length;
    out.reach = std::max(out.reach, end);
    if (piece.length != Piece::grown) {
      const auto last = split(end);
      out.extents.erase(split(piece.offset), last);
      out.extents[piece.offset] = {.end = end, .part = part};
    }
  }
  return out;
}

PartSource open_source(std::string data) {
  UniqueFd fd(open(data.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return {.data = std::move(data), .fd = std::move(fd), .pieces = {}};
}

Result<std::string> read_log(const PartSource& log) {
  struct stat found {};
  if (!log.fd || fstat(log.fd.get(), &found) != 0) {
    return Errno().fail(fmt::format("cannot read {}", quote(log.data)));
  }
  std::string out(static_cast<std::size_t>(found.st_size), '\0');
  SLUICE_CHECK(read_all(log, out.data(), out.size(), 0));
  return out;
}

bool is_ours(const PartSource& source) {
  struct stat found {};
  return source.fd && fstat(source.fd.get(), &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_uid == geteuid();
}

Result<PartSource> source_of(const AreaPart& part) {
  PartSource out = open_source(part.data.data());
  if (!out.fd && (part.count > 0 || part.logged > 0)) {
    return Errno().fail(fmt::format("cannot open {}", quote(out.data)));
  }
  if (out.fd) {
    SLUICE_CHECK(check_ours(out));
  }
  if (part.logged > log_head_bytes) {
    const PartSource file = open_source(log_path(part).data());
    SLUICE_TRY(const std::string bytes, read_log(file));
    SLUICE_CHECK(check_ours(file));
    SLUICE_TRY(PartLog log, parse_part_log(bytes));
    if (log.pieces.size() < (part.logged - log_head_bytes) / sizeof(LogPiece)) {
      return fail(log.damage.empty() ? "its log is cut off" : log.damage);
    }
    out.pieces = std::move(log.pieces);
  }
  const std::uint32_t count = std::min<std::uint32_t>(part.count, AreaPart::most_pieces);
  out.pieces.insert(out.pieces.end(), part.pieces.begin(), part.pieces.begin() + count);
  return out;
}

Status write_sources(const std::vector<PartSource>& sources, int fd, const std::function<void()>& begins) {
  const Combined combined = combine_sources(sources);
  SLUICE_CHECK(check_sources(combined, sources));
  struct stat found {};
  begins();
  if (combined.kept != Combined::all &&
      (fstat(fd, &found) != 0 || (static_cast<std::uint64_t>(found.st_size) > combined.kept &&
                                  ftruncate(fd, static_cast<off_t>(combined.kept)) != 0))) {
    return Errno().fail("cannot make it shorter");
  }
  step("parts: about to be written");
  SLUICE_CHECK(write_extents(combined, sources, fd, begins));
  step("parts: written");
  return reach(fd, combined.reach);
}

}  // namespace sluice
