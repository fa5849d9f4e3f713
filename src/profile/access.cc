#include "profile/access.h"

#include <fmt/format.h>

namespace sluice {

std::string_view print(Mode mode) {
  switch (mode) {
    case Mode::direct:
      return "direct";
    case Mode::buffered:
      return "buffered";
    case Mode::synced:
      return "synced";
    case Mode::sustained:
      return "sustained";
  }
  return "";
}

std::string print(const Access& access) {
  return fmt::format("{} {} {}", print(access.mode), access.random ? "random" : "sequential",
                     access.write ? "write" : "read");
}

}  // namespace sluice
