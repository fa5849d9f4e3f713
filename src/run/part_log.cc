#include "run/part_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice {
namespace {

constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max();  // of a file

template <std::size_t size>
bool ends(const std::array<char, size>& text) {
  return std::find(text.begin(), text.end(), '\0') != text.end();
}

// Whether a file can have it. A check that is right says that it was written so, not that it makes sense.
bool is_possible(const Piece& piece) {
  return piece.offset <= most_bytes &&
         (piece.length == Piece::cut || piece.length <= most_bytes - piece.offset);
}

}  // namespace

bool is_part_log(std::string_view bytes) {
  return bytes.starts_with(std::string_view(LogHead::right_magic.data(), LogHead::right_magic.size()));
}

Result<PartLog> parse_part_log(std::string_view bytes) {
  PartLog out;
  if (!is_part_log(bytes) || bytes.size() < sizeof out.head) {
    return fail("the head of its log is cut off");
  }
  std::memcpy(&out.head, bytes.data(), sizeof out.head);
  if (out.head.version != LogHead::right_version) {
    return fail(fmt::format("its log is of version {}, and this Sluice reads version {}", out.head.version,
                            LogHead::right_version));
  }
  if (out.head.check != check_of(out.head) || !ends(out.head.run) || !ends(out.head.path) ||
      out.head.path.front() != '/') {
    return fail("the head of its log is damaged");
  }
  bytes.remove_prefix(std::min(bytes.size(), log_head_bytes));
  out.pieces.reserve(bytes.size() / sizeof(LogPiece));
  while (!bytes.empty()) {
    LogPiece row;
    std::memcpy(&row, bytes.data(), std::min(bytes.size(), sizeof row));
    if (bytes.size() < sizeof row || row.check != check_of(row) || !is_possible(row.piece)) {
      out.damage = fmt::format("its log is damaged behind piece {}: {} bytes of it say nothing",
                               out.pieces.size(), bytes.size());
      break;
    }
    out.pieces.push_back(row.piece);
    bytes.remove_prefix(sizeof row);
  }
  return out;
}

}  // namespace sluice
