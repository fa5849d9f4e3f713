// How the devices under a place hold its data together: raid1:2, mds:4+2, raid0(raid1:2,raid1:2).
//
// Text form: single, raid0:N, raid1:N, raid4:N, raid5:N, raid6:N, raid10:N, replica:K, mds:N+M over simple
// disks; the same names with members in parentheses when the members are layouts themselves. N counts all
// disks, parity included; replica:K is K copies; mds:N+M has N data and M parity pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

enum class Scheme { single, raid0, raid1, raid4, raid5, raid6, raid10, replica, mds };

struct Layout {
  Scheme scheme = Scheme::single;
  unsigned disks = 1;           // members, parity included
  unsigned parity = 0;          // mds only: how many of them may fail
  std::vector<Layout> members;  // empty: all members are simple disks; else members.size() == disks

  bool operator==(const Layout&) const = default;

  // How many members may fail at the same time without loss (raid10: the guaranteed number, 1).
  [[nodiscard]] unsigned tolerated() const;
  [[nodiscard]] bool redundant() const { return tolerated() > 0; }
};

// Refuses what cannot be: raid5:2, raid6:3, raid10:3, mds:0+1, more parity than disks, more than 65536 disks,
// nesting deeper than 8.
Result<Layout> parse_layout(std::string_view text);
std::string print(const Layout& layout);

}  // namespace sluice
