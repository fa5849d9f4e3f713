// Files whose path is a link to data elsewhere (pipeline/moves.h), as calls by name see them. As long as
// there is none, a look at a counter is all that costs.
#pragma once

#include <cerrno>
#include <string_view>

#include "pipeline/moves.h"

namespace sluice::preload {

// The row of such a file, by the path that is a link to it; null for all others. `again` where that changed
// meanwhile.
AreaMove* elsewhere(int folder, const char* path, bool& again);
AreaMove* elsewhere(int folder, const char* path);

// The same by where its data is, also while it comes home.
AreaMove* elsewhere_at(std::string_view data);
// Whether a path may be that of such data, by its name, now or before; false for none.
bool may_be_data(const char* path);

// Whether a call by that path may have failed because a file that it leads to came home in the middle: the
// kernel read its link before, and looked for its data afterwards.
bool may_come_home(int folder, const char* path);
// What such a call gives where it failed.
template <class Result>
inline constexpr Result failure = Result(-1);
template <class Object>
inline constexpr Object* failure<Object*> = nullptr;
// What such a call gives; again where that may be.
template <class Call>
auto by_name(int folder, const char* path, Call call) {
  constexpr int most_tries = 4;
  const int saved = errno;
  auto out = call();
  for (int i = 1; i < most_tries && out == failure<decltype(out)> && (errno == ENOENT || errno == ELOOP) &&
                  may_come_home(folder, path);
       ++i) {
    errno = saved;
    out = call();
  }
  return out;
}

// Before something is said of a file that may be coming home: it must not be said of the data alone.
void let_land(int folder, const char* path);

// For an open with these flags, which may not like links: the data's own path where the file was placed, else
// null.
const char* placed_data(int folder, const char* path, int flags);

}  // namespace sluice::preload
