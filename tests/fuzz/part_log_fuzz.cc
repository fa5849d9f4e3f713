// The log of a part, as it lies in a folder after a power cut: whatever the bytes, it is refused or its
// pieces make a file that can be. The fuzzer does not guess checks, so each input is also read with those
// that are right.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "run/part_log.h"
#include "run/part_source.h"

namespace {

void read(const std::string& bytes) {
  const auto log = sluice::parse_part_log(bytes);
  if (!log) {
    return;
  }
  if (std::string(log->head.path.data()).size() >= log->head.path.size() ||
      (log->pieces.size() * sizeof(sluice::LogPiece) + sluice::log_head_bytes < bytes.size() &&
       log->damage.empty())) {
    std::abort();
  }
  const sluice::Combined made = sluice::combine_pieces({log->pieces, log->pieces});
  std::uint64_t before = 0;
  for (const auto& [begin, extent] : made.extents) {
    if (begin < before || extent.end <= begin || extent.end > made.reach || extent.part > 1) {
      std::abort();
    }
    before = extent.end;
  }
  if (made.reach > INT64_MAX) {
    std::abort();
  }
}

template <class Row>
void make_right(std::string& bytes, std::size_t at) {
  Row row;
  std::memcpy(&row, bytes.data() + at, sizeof row);
  row.check = sluice::check_of(row);
  std::memcpy(bytes.data() + at, &row, sizeof row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  if (size >= sizeof(sluice::LogHead)) {
    make_right<sluice::LogHead>(bytes, 0);
  }
  for (std::size_t at = sluice::log_head_bytes; at + sizeof(sluice::LogPiece) <= size;
       at += sizeof(sluice::LogPiece)) {
    make_right<sluice::LogPiece>(bytes, at);
  }
  read(bytes);
  return 0;
}
