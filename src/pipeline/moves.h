// Files that are elsewhere while a program runs. All processes of a run share the table, without locks. Those
// that `sluice place` put there stay there; rewrite's come home.
//
// What a path is, its link says: a row is found by what the link names, and counts where it has that path.
// Names change one after another (Naming): each change is noted before it is made, so that somebody else can
// finish it when its process is killed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/landing.h"
#include "pipeline/process.h"

namespace sluice {

struct AreaMove {
  enum State : std::uint32_t {
    unused,
    being_made,
    there,    // the data is elsewhere
    moving,   // the same, and somebody is about to bring it home
    landing,  // it is put in its place just now
    home      // it is where it belongs, or gone
  };
  enum Flag : std::uint32_t {
    closed = 1,  // nobody is known to have it open
    synced = 2,  // the program was told that it is safe
    placed = 4,  // it was elsewhere before, and stays; the row is never another file's
    linked = 8   // the link was made: the program may know of the file
  };
  std::atomic<std::uint32_t> state = unused;
  std::atomic<std::uint32_t> flags = 0;
  std::atomic<std::uint32_t> generation = 0;  // another number is another file; never 0 in one
  std::atomic<std::uint32_t> looked =
      0;                     // when somebody looked at it by its name, in milliseconds; 0 = never
  std::uint64_t device = 0;  // of the folder that it belongs to, which may get another name
  std::uint64_t inode = 0;
  Landing arrival;                  // of who is bringing it home, or was
  std::array<char, 704> path = {};  // changed by who has the Naming of the old one and the new
  std::array<char, 256> data = {};
};
static_assert(sizeof(AreaMove) == 1024);
// Whether it is gone, and a copy that was on its way may be left.
inline bool is_left_beside(const AreaMove& move) {
  return move.state == AreaMove::home && move.arrival.temporary != 0;
}
inline constexpr std::uint32_t area_moves = 8192;  // a power of two

// A name is changing: the lock of all paths that have this row, and what was begun.
struct alignas(64) AreaNaming {
  std::atomic<std::uint32_t> lock = 0;      // the thread that does it; 0 = nobody
  std::atomic<std::uint32_t> moved = 0;     // a row of moves, and one, that gets the path; 0 = none
  std::atomic<std::uint32_t> replaced = 0;  // one whose link goes, and with it the file
  std::array<char, sizeof(AreaMove::path)> path = {};
  std::atomic<std::uint32_t> exchanged = 0;  // one that gets the path that `moved` had
};
inline constexpr std::uint32_t area_namings = 64;
inline constexpr std::size_t moves_bytes = area_moves * sizeof(AreaMove) + area_namings * sizeof(AreaNaming);

// What the names of data begin with.
inline constexpr std::string_view data_prefix = "sluice-";

struct Area;

// Device and number of a file become others when it comes home, and programs compare them: cp does between
// its look at a name and its open. So who looked at it just now has it where it is for this long.
inline constexpr std::uint32_t looked_milliseconds = 1000;
bool was_looked_at(const AreaMove& move);
// Before a look that follows links, and so is not told that there is one.
void note_look(Area& area, int folder, const char* path);

// A file that is elsewhere, as it was found. Its row may be another file's at any time, and with it the path
// there; this one stays.
struct FoundMove {
  AreaMove* row = nullptr;
  std::uint32_t generation = 0;
  std::array<char, sizeof(AreaMove::data)> data = {};

  explicit operator bool() const { return row != nullptr; }
  // Whether the row is still its, and the data is elsewhere.
  [[nodiscard]] bool is_still() const;
};
inline constexpr int most_looks = 16;  // at a name that others give to one file after another

// The path by which a file is known here: that of its folder, whatever links lead there, and its name. False
// where the path does not end in a name, or its folder cannot be told.
bool real_path(int folder, const char* path, char (&out)[sizeof(AreaMove::path)]);

// `path` is a real one, here and below, unless it comes with a folder.
// A row for a file whose data will be there, in state being_made; null where there is no room, or a path is
// too long.
AreaMove* new_move(Area& area, std::string_view path, std::string_view data, std::uint32_t flags = 0);
// The one whose data is there; null where there is none.
AreaMove* move_with(Area& area, std::string_view data);
// Its path; false where there is none.
bool path_with(Area& area, std::string_view data, char (&out)[sizeof(AreaMove::path)]);
// The one that a path is a link to now; waits while it lands or gets another name. `again` where that changed
// meanwhile.
FoundMove find_move(Area& area, int folder, const char* path, bool& again);
AreaMove* move_of(Area& area, int folder, const char* path, bool& again);
// The same for who has the Naming of the path.
AreaMove* move_at(Area& area, const char* path);
// Whether the data is elsewhere.
inline bool is_elsewhere(const AreaMove& move) {
  const std::uint32_t state = move.state.load(std::memory_order_acquire);
  return state == AreaMove::there || state == AreaMove::moving;
}
inline bool FoundMove::is_still() const {
  return row != nullptr && is_elsewhere(*row) && row->generation == generation;
}
// Whether it stays there when the program has ended.
inline bool is_placed(const AreaMove& move) {
  return (move.flags.load(std::memory_order_relaxed) & AreaMove::placed) != 0;
}
// Whether a path is the link of such a file.
bool is_placed_link(Area& area, const char* path);
// A row is done with; a second time it is no matter.
void end_move(Area& area, AreaMove& move);
// Its path is another one. REQUIRES: the Naming of both.
void set_path(AreaMove& move, std::string_view path);
// Its path becomes a link to its data, and that is noted. False where that cannot be; EXDEV where the run is
// over: who brings files home may have looked for it already.
bool link_to(Area& area, AreaMove& move);
// Whether a path is a link to that.
bool is_link_to(const char* path, const char* data);

// A row in the space of a pointer whose lowest bit is 0, and the row while it is the same file's, else null.
void* pack_move(Area& area, const AreaMove& move);
void* pack_move(Area& area, const FoundMove& found);
AreaMove* unpack_move(Area& area, const void* packed);

// While there is one, nobody else changes these names. No signal comes meanwhile: its handler could want to.
class Naming {
 public:
  // All paths; `patience` in milliseconds, 0 = for ever.
  explicit Naming(Area& area, int patience = 0);
  Naming(Area& area, std::string_view path, int patience = 0);
  Naming(Area& area, std::string_view path, std::string_view other);
  Naming(const Naming&) = delete;
  Naming& operator=(const Naming&) = delete;
  ~Naming();

  // False where somebody did not give one away.
  [[nodiscard]] bool good() const { return good_; }
  // What is about to be done; a null row is none.
  void intend(const AreaMove* moved, const AreaMove* replaced, std::string_view path);
  // The same of two names that change places: one file gets the path, and the other that of the one.
  void intend_exchange(const AreaMove& one, const AreaMove* other, std::string_view path);
  // It is done, or was not.
  void end(bool done);

 private:
  Locked take_row(AreaNaming& row, pid_t thread, int patience);
  void take(std::uint64_t wanted, std::uint32_t note, int patience);

  Area& area_;
  std::uint64_t taken_ = 0;  // rows, a bit each
  AreaNaming* noted_ = nullptr;
  std::uint64_t before_ = 0;  // signals that were blocked
  bool good_ = true;
};

}  // namespace sluice
