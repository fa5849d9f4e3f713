// What is known about file system types before anything is asked: one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class FsClass {
  local,      // on a device of this machine
  memory,     // in this machine's memory
  network,    // served by others, seen by many machines
  host,       // given to a virtual machine by its host
  layered,    // shows folders of other local file systems
  image,      // read-only by its nature
  pseudo,     // no storage at all
  automount,  // must not be touched: that would mount something
  unknown,
};

struct FsFacts {
  FsClass kind = FsClass::unknown;
  bool listed = false;  // false: guessed from the form of the name
};

// `block_device`: the mount has a device number of its own kind (its major number is not 0).
FsFacts filesystem_facts(std::string_view type, bool block_device);

// The largest file by type and block size in bytes; nothing where it depends on more than that.
std::optional<std::uint64_t> largest_file(std::string_view type, std::uint64_t block);

}  // namespace sluice
