#include "pipeline/moves.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pipeline/area.h"
#include "pipeline/path_room.h"
#include "pipeline/tell.h"

namespace sluice {
namespace {

constexpr std::uint32_t most_probes = 64;

static_assert(area_namings == 64);  // bits of a number

AreaMove& row_at(Area& area, std::uint64_t first, std::uint32_t probe) {
  return area.all_moves()[(first + probe) & (area_moves - 1)];
}

// What a link says; empty where there is none.
std::string_view read_link(int folder, const char* path, char (&out)[sizeof(AreaMove::data)]) {
  const int saved = errno;
  const long size = syscall(SYS_readlinkat, folder, path, out, sizeof out);
  errno = saved;
  return {out, size <= 0 || size == sizeof out ? 0 : static_cast<std::size_t>(size)};
}

std::uint32_t row_number(std::string_view path) {
  return static_cast<std::uint32_t>(path_hash(path) % area_namings);
}

// Which folder a path is in, by whatever name that goes.
void note_folder(AreaMove& move) {
  struct stat found {};
  char folder[sizeof(AreaMove::path)];
  const std::string_view path = move.path.data();
  folder[path.copy(folder, path.rfind('/') + 1)] = 0;
  const int saved = errno;
  const bool told = syscall(SYS_newfstatat, AT_FDCWD, folder, &found, 0) == 0;
  move.device = told ? found.st_dev : 0;
  move.inode = told ? found.st_ino : 0;
  errno = saved;
}

void* pack(Area& area, const AreaMove& move, std::uint32_t generation) {
  const auto index = static_cast<std::uintptr_t>(&move - area.all_moves().data());
  return reinterpret_cast<void*>(std::uintptr_t{generation} << 16 | index << 1);
}

// What a folder is called, for who has no descriptor left: one name after the other, as the kernel does it.
// Its length, -1 where it cannot be told.
long name_folder(int folder, std::string_view path, char (&out)[sizeof(AreaMove::path)]) {
  constexpr int most_links = 40;
  const PathRoom left;
  const PathRoom room;
  if (!left || !room || path.size() >= PathRoom::size) {
    return -1;
  }
  char* text = room.text();
  if (folder == AT_FDCWD) {
    std::snprintf(text, PathRoom::size, "/proc/self/cwd");
  } else {
    std::snprintf(text, PathRoom::size, "/proc/self/fd/%d", folder);
  }
  long size = path.starts_with('/') ? 0 : syscall(SYS_readlinkat, AT_FDCWD, text, out, sizeof out);
  if (size < 0 || (size > 0 && out[0] != '/')) {
    return -1;
  }
  std::size_t length = size == 1 ? 0 : static_cast<std::size_t>(size);
  std::string_view rest(left.text(), path.copy(left.text(), path.size()));
  for (int links = 0; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(name.size() + (name.size() < rest.size() ? 1 : 0));
    const std::size_t before = length;
    if (name == "..") {
      length = length == 0 ? 0 : std::string_view(out, length).rfind('/');
      continue;
    }
    if (name.empty() || name == ".") {
      continue;
    }
    if (length + name.size() + 2 > sizeof out) {
      return -1;
    }
    out[length] = '/';
    name.copy(out + length + 1, name.size());
    length += 1 + name.size();
    out[length] = 0;
    size = syscall(SYS_readlinkat, AT_FDCWD, out, text, PathRoom::size);
    if (size < 0 && errno == EINVAL) {
      continue;  // it is no link
    }
    if (size < 0 || ++links > most_links ||
        static_cast<std::size_t>(size) + 1 + rest.size() > PathRoom::size) {
      return -1;
    }
    length = text[0] == '/' ? 0 : before;
    text[size] = '/';
    rest.copy(text + size + 1, rest.size());
    rest = {left.text(), std::string_view(text, static_cast<std::size_t>(size) + 1 + rest.size())
                             .copy(left.text(), PathRoom::size)};
  }
  return static_cast<long>(length);
}

// What somebody began who may be dead by now. REQUIRES: the row's lock.
void finish(Area& area, AreaNaming& row) {
  const std::span<AreaMove> moves = area.all_moves();
  const std::uint32_t moved = row.moved;
  const std::uint32_t replaced = row.replaced;
  if (moved != 0 && is_link_to(row.path.data(), moves[moved - 1].data.data())) {
    if (const std::uint32_t exchanged = row.exchanged; exchanged != 0) {
      set_path(moves[exchanged - 1], moves[moved - 1].path.data());
      row.exchanged = 0;  // before the path is another: whoever does this again must not take that
    }
    set_path(moves[moved - 1], row.path.data());
  }
  if (replaced != 0 && !is_link_to(moves[replaced - 1].path.data(), moves[replaced - 1].data.data())) {
    syscall(SYS_unlinkat, AT_FDCWD, moves[replaced - 1].data.data(), 0);
    end_move(area, moves[replaced - 1]);
  }
  row.moved = 0;
  row.replaced = 0;
  row.exchanged = 0;
}

}  // namespace

void set_path(AreaMove& move, std::string_view path) {
  move.path[path.copy(move.path.data(), move.path.size() - 1)] = 0;
  note_folder(move);
}

bool real_path(int folder, const char* path, char (&out)[sizeof(AreaMove::path)]) {
  std::string_view above(path == nullptr ? "" : path);
  while (above.ends_with('/')) {
    above.remove_suffix(1);
  }
  const std::string_view name = above.substr(above.rfind('/') + 1);
  above.remove_suffix(name.size());
  const PathRoom room;
  if (!room || name.empty() || name == "." || name == ".." || above.size() + 2 > PathRoom::size) {
    return false;
  }
  char* text = room.text();
  const int saved = errno;
  std::snprintf(text, PathRoom::size, "%.*s.", static_cast<int>(above.size()), above.data());
  const auto fd = static_cast<int>(syscall(SYS_openat, folder, text, O_PATH | O_DIRECTORY | O_CLOEXEC));
  const bool full = fd < 0 && (errno == EMFILE || errno == ENFILE);
  std::snprintf(text, PathRoom::size, "/proc/self/fd/%d", fd);
  long size = full     ? name_folder(folder, above, out)
              : fd < 0 ? -1
                       : syscall(SYS_readlinkat, AT_FDCWD, text, out, sizeof out);
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
  errno = saved;
  size = size == 1 ? 0 : size;  // the root ends in '/'
  if (size < 0 || (size > 0 && out[0] != '/') ||
      static_cast<std::size_t>(size) + name.size() + 2 > sizeof out) {
    return false;
  }
  out[size] = '/';
  std::memcpy(out + size + 1, name.data(), name.size());
  out[static_cast<std::size_t>(size) + 1 + name.size()] = 0;
  return true;
}

AreaMove* new_move(Area& area, std::string_view path, std::string_view data, std::uint32_t flags) {
  if (area.moves == 0 || path.size() >= sizeof(AreaMove::path) || data.size() >= sizeof(AreaMove::data)) {
    return nullptr;
  }
  const std::uint64_t first = path_hash(data);
  for (std::uint32_t i = 0; i < most_probes; ++i) {
    AreaMove& row = row_at(area, first, i);
    std::uint32_t state = row.state.load(std::memory_order_relaxed);
    if ((state != AreaMove::unused && state != AreaMove::home) || is_placed(row) ||
        !row.state.compare_exchange_strong(state, AreaMove::being_made)) {
      continue;
    }
    row.flags = flags;
    row.generation = row.generation % 0xffffffff + 1;
    row.arrival = {};
    row.looked = 0;
    std::memcpy(row.path.data(), path.data(), path.size());
    row.path[path.size()] = 0;
    if (!is_placed(row)) {
      note_folder(row);  // one that stays need not be found again, and its folder may not answer
    }
    std::memcpy(row.data.data(), data.data(), data.size());
    row.data[data.size()] = 0;
    area.moves_live.fetch_add(1);
    return &row;
  }
  return nullptr;
}

namespace {

// The number is read first: where it is the same afterwards, all between was of one file.
FoundMove found_with(Area& area, std::string_view data) {
  const std::uint64_t first = path_hash(data);
  for (std::uint32_t i = 0; i < most_probes; ++i) {
    AreaMove& row = row_at(area, first, i);
    const std::uint32_t generation = row.generation;
    const std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == AreaMove::unused) {
      return {};
    }
    if (state >= AreaMove::there && state <= AreaMove::landing && data == row.data.data()) {
      FoundMove out{.row = &row, .generation = generation, .data = {}};
      data.copy(out.data.data(), out.data.size() - 1);
      return out;
    }
  }
  return {};
}

}  // namespace

namespace {

std::uint32_t milliseconds() {
  return static_cast<std::uint32_t>(nanoseconds_of(CLOCK_MONOTONIC_COARSE) / 1000000) | 1;
}

// Whoever brings it home says so first, and then looks whether somebody looked; this one the other way round.
void note_look(const FoundMove& found) {
  AreaMove& row = *found.row;
  row.looked.store(milliseconds());
  // Nobody brings it home where that one was killed in the middle.
  for (int naps = 0; row.state == AreaMove::landing && row.generation == found.generation && naps < 10000 &&
                     (naps % 16 != 0 || keeper_lives(*this_area()));
       ++naps) {
    const timespec nap{.tv_sec = 0, .tv_nsec = 100000};
    syscall(SYS_nanosleep, &nap, nullptr);
  }
}

}  // namespace

bool was_looked_at(const AreaMove& move) {
  const std::uint32_t when = move.looked.load();
  return when != 0 && milliseconds() - when < looked_milliseconds;
}

void note_look(Area& area, int folder, const char* path) {
  if (area.moves_live.load(std::memory_order_relaxed) == 0) [[likely]] {
    return;
  }
  char text[sizeof(AreaMove::data)];
  const int saved = errno;
  const std::string_view data = read_link(folder, path, text);
  if (const FoundMove found = data.empty() ? FoundMove() : found_with(area, data); found) {
    note_look(found);
  }
  errno = saved;
}

AreaMove* move_with(Area& area, std::string_view data) {
  return found_with(area, data).row;
}

bool path_with(Area& area, std::string_view data, char (&out)[sizeof(AreaMove::path)]) {
  for (int i = 0; i < most_looks; ++i) {
    const FoundMove found = found_with(area, data);
    if (!found) {
      return false;
    }
    std::memcpy(out, found.row->path.data(), sizeof out);
    out[sizeof out - 1] = 0;
    if (found.row->generation == found.generation) {
      return true;
    }
  }
  return false;
}

FoundMove find_move(Area& area, int folder, const char* path, bool& again) {
  char text[sizeof(AreaMove::data)];
  char whole[sizeof(AreaMove::path)];
  again = false;
  const std::string_view data =
      area.moves_live.load(std::memory_order_relaxed) == 0 ? "" : read_link(folder, path, text);
  FoundMove found = data.empty() ? FoundMove() : found_with(area, data);
  if (!found) {
    again = data.substr(data.rfind('/') + 1).starts_with(data_prefix);
    return {};
  }
  if (!real_path(folder, path, whole)) {
    return {};
  }
  const AreaMove& row = *found.row;
  if (row.path.data() != std::string_view(whole)) {
    const Naming other(area, whole);  // whoever gives it another name is done
    again = !found.is_still() || row.path.data() == std::string_view(whole);
    return {};  // or it is a copy of the link, and a link
  }
  note_look(found);
  again = !found.is_still();
  return again ? FoundMove() : found;
}

AreaMove* move_of(Area& area, int folder, const char* path, bool& again) {
  return find_move(area, folder, path, again).row;
}

bool is_placed_link(Area& area, const char* path) {
  bool again = false;
  const AreaMove* move = move_of(area, AT_FDCWD, path, again);
  return move != nullptr && is_placed(*move);
}

AreaMove* move_at(Area& area, const char* path) {
  char text[sizeof(AreaMove::data)];
  const std::string_view data = read_link(AT_FDCWD, path, text);
  AreaMove* row = data.empty() ? nullptr : move_with(area, data);
  if (row == nullptr || row->path.data() != std::string_view(path)) {
    return nullptr;
  }
  std::uint32_t landing = AreaMove::landing;
  row->state.compare_exchange_strong(landing, AreaMove::there);  // who did that has the lock, or is dead
  return row;
}

void end_move(Area& area, AreaMove& move) {
  const std::uint32_t before = move.state.exchange(AreaMove::home);
  if (before == AreaMove::home || before == AreaMove::unused) {
    return;
  }
  area.moves_live.fetch_sub(1);
}

bool link_to(Area& area, AreaMove& move) {
  const Naming naming(area, move.path.data());
  if (area.over != 0) {
    errno = EXDEV;
    return false;
  }
  const bool made = syscall(SYS_symlinkat, move.data.data(), AT_FDCWD, move.path.data()) == 0;
  if (made) {
    move.flags.fetch_or(AreaMove::linked);
  }
  return made;
}

bool is_link_to(const char* path, const char* data) {
  char text[sizeof(AreaMove::data)];
  return read_link(AT_FDCWD, path, text) == data;
}

void* pack_move(Area& area, const AreaMove& move) {
  return pack(area, move, move.generation);
}

void* pack_move(Area& area, const FoundMove& found) {
  return pack(area, *found.row, found.generation);
}

AreaMove* unpack_move(Area& area, const void* packed) {
  const auto bits = reinterpret_cast<std::uintptr_t>(packed);
  if (bits == 0) {
    return nullptr;
  }
  AreaMove& move = area.all_moves()[(bits & 0xffff) >> 1];
  return move.generation == bits >> 16 ? &move : nullptr;
}

Naming::Naming(Area& area, int patience) : area_(area) {
  take(~std::uint64_t{0}, 0, patience);
}

Naming::Naming(Area& area, std::string_view path, int patience) : area_(area) {
  take(std::uint64_t{1} << row_number(path), row_number(path), patience);
}

Naming::Naming(Area& area, std::string_view path, std::string_view other) : area_(area) {
  take(std::uint64_t{1} << row_number(path) | std::uint64_t{1} << row_number(other), row_number(other), 0);
}

// A signal is heard by who waits, as long as there is nothing yet that its handler could want.
Locked Naming::take_row(AreaNaming& row, pid_t thread, int patience) {
  constexpr int soon = 20;
  const std::uint64_t all = ~std::uint64_t{0};
  const bool hears = patience == 0 && taken_ == 0;
  Locked out = take_lock(row.lock, thread, hears ? soon : patience);
  while (hears && out == Locked::no) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof before_);
    out = take_lock(row.lock, thread, soon);
  }
  return out;
}

// In the order of the rows: two who want the same ones cannot wait for each other. What is about to be done
// is noted in the row of the name that comes of it, which all take who look at that.
void Naming::take(std::uint64_t wanted, std::uint32_t note, int patience) {
  const int saved = errno;
  const std::uint64_t all = ~std::uint64_t{0};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof before_);
  const pid_t thread = look_up_lock_owner();
  const std::span<AreaNaming> rows = area_.all_namings();
  for (std::uint32_t i = 0; i < rows.size() && good_; ++i) {
    if ((wanted >> i & 1) == 0) {
      continue;
    }
    good_ = take_row(rows[i], thread, patience) == Locked::yes;
    if (good_) {
      taken_ |= std::uint64_t{1} << i;
      noted_ = i == note ? &rows[i] : noted_;
      finish(area_, rows[i]);
    }
  }
  errno = saved;
}

Naming::~Naming() {
  const int saved = errno;
  const std::span<AreaNaming> rows = area_.all_namings();
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if ((taken_ >> i & 1) != 0) {
      give_lock_back(rows[i].lock);
    }
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
  errno = saved;
}

void Naming::intend(const AreaMove* moved, const AreaMove* replaced, std::string_view path) {
  if (!good_) {
    return;
  }
  const AreaMove* first = area_.all_moves().data();
  noted_->path[path.copy(noted_->path.data(), noted_->path.size() - 1)] = 0;
  noted_->moved = moved == nullptr ? 0 : static_cast<std::uint32_t>(moved - first) + 1;
  noted_->replaced = replaced == nullptr ? 0 : static_cast<std::uint32_t>(replaced - first) + 1;
}

void Naming::intend_exchange(const AreaMove& one, const AreaMove* other, std::string_view path) {
  if (!good_) {
    return;
  }
  noted_->exchanged = other == nullptr ? 0 : static_cast<std::uint32_t>(other - area_.all_moves().data()) + 1;
  intend(&one, nullptr, path);
}

void Naming::end(bool done) {
  if (!good_) {
    return;
  }
  const int saved = errno;
  if (done) {
    finish(area_, *noted_);
  }
  noted_->moved = 0;
  noted_->replaced = 0;
  noted_->exchanged = 0;
  errno = saved;
}

}  // namespace sluice
