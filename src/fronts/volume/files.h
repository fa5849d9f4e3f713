// Where files of a mounted file system lie on the volume. For commands and helpers; never for the server,
// which would wait for itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::volume {

struct Extent {
  std::uint64_t logical = 0;  // in the file
  std::uint64_t offset = 0;   // in the volume
  std::uint64_t length = 0;
};

struct FileExtents {
  std::uint64_t size = 0;
  std::vector<Extent> extents;
  // Bytes that have no place yet (delayed allocation) or whose place is not said (inline, compressed).
  std::uint64_t unplaced = 0;
};

// `devices` are the volume's block devices. A file that lies elsewhere is an error.
Result<FileExtents> file_extents(const std::string& path, const std::vector<std::string>& devices);

}  // namespace sluice::volume
