// The folder that a replay has to itself: `.sluice-replay-XXXXXX` in the one it was given. A file of the
// trace, /a/b, is 0/a/b in it, and 1/a/b where it is another one later.
//
// Whoever has the folder holds a lock on it. One that nobody holds is of a replay that was killed, and the
// next one in the same place removes it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"
#include "base/sys.h"
#include "replay/scan.h"

namespace sluice {

class Scratch {
 public:
  static constexpr std::string_view hidden = ".sluice-replay-";
  // Makes it, and removes those that were left behind. Other commands may have such folders by another name.
  static Result<Scratch> make(const std::string& where, std::string_view prefix = hidden);
  Scratch(Scratch&& other) noexcept = default;
  Scratch& operator=(Scratch&&) = delete;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  [[nodiscard]] const std::string& path() const { return path_; }
  // It stays, under a name that no replay takes for one that was left behind. Returns where it is.
  std::string keep();
  // All that is in it goes.
  Status remove();

  // A name of the scan as a path in it.
  static std::string name_of(const TraceScan& scan, std::uint32_t name, const TraceReader& trace);

  // Makes the folders and what was there before; decides which files have names of their own. False from
  // `go_on` ends it with EINTR. Returns the bytes that were written.
  Result<std::uint64_t> prepare(TraceScan& scan, const TraceReader& trace, bool cold,
                                const std::function<bool(std::uint64_t done, std::uint64_t of)>& go_on) const;

 private:
  Scratch(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  [[nodiscard]] Status check_room(const TraceScan& scan) const;

  std::string path_;
  UniqueFd lock_;
  bool keep_ = false;
};

}  // namespace sluice
