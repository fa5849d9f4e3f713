// Files whose path is a link to data elsewhere (pipeline/moves.h), as calls by name see them. As long as
// there is none, a look at a counter is all that costs.
#pragma once

#include <cerrno>
#include <string_view>

#include "pipeline/moves.h"

namespace sluice::preload {

// Such a file, by the path that is a link to it; none for all others. `again` where that changed meanwhile.
FoundMove elsewhere(int folder, const char* path, bool& again);
FoundMove elsewhere(int folder, const char* path);

// The path of one that is not placed, by where its data is, also while it comes home. False where there is
// none.
bool path_at(std::string_view data, char (&out)[sizeof(AreaMove::path)]);
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

// Has such a file used by `use`, which says whether that is done, until it is; it may come home, or the name
// be another's, at any time. False where the path is none, or no more.
template <class Use>
bool use_data(int folder, const char* path, Use use) {
  bool again = true;
  for (int i = 0; again && i < most_looks; ++i) {
    const FoundMove found = elsewhere(folder, path, again);
    if (found && use(found)) {
      return true;
    }
    again = again || found;
  }
  return false;
}

// What a call gives that knows a file by its name: `there` with the path of its data where it is elsewhere,
// which leads through no link of ours, else `here`. What is said of a file in the moment in which it comes
// home is said again: it must not be said of the data alone. A call that was made once does not fail.
template <class There, class Here>
auto at_data(int folder, const char* path, There there, Here here) {
  using Result = decltype(here());
  const int saved = errno;
  Result done = failure<Result>;
  const bool final = use_data(folder, path, [&](const FoundMove& found) {
    errno = saved;
    const Result out = there(found.data.data());
    done = out == failure<Result> ? done : out;
    return is_placed(*found.row) || (found.is_still() && (out != failure<Result> || errno != ENOENT));
  });
  if (final) {
    return done;
  }
  errno = saved;
  const Result out = here();
  if (out == failure<Result> && done != failure<Result>) {
    errno = saved;
    return done;
  }
  return out;
}

// For an open with these flags, which may not like links: the data's own path where the file was placed, else
// null.
const char* placed_data(int folder, const char* path, int flags);

}  // namespace sluice::preload
