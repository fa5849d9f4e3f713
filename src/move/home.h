// Brings the data of a file that was put elsewhere back to where the user wanted it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/landing.h"
#include "base/result.h"
#include "base/sys.h"
#include "move/lease.h"

namespace sluice {

// Asked before each piece of a copy, with its bytes; false = stop. It may take its time.
using GoOn = std::function<bool(std::uint64_t)>;

enum class Moved {
  done,  // the file is there, plain and whole, and gone from where it was
  busy,  // somebody has it open, or wrote while it was copied; nothing was changed
  kept,  // the link is not ours any more; the data stays where it is
};

// A name beside another, which tells what it was made for: ".out.dat.sluice-1a2b3c4d"
std::string aside_name(const std::string& name, std::uint32_t number);
inline constexpr std::size_t most_of_name = 200;  // bytes that it has of the other

// What whoever wants it home does about it.
struct Commit {
  // Before the link becomes the file: from there on nobody is to take the data for the file any more, unless
  // the result is another than done. Where it says no, kept.
  std::function<bool()> begin;
  // It could not be in this way. It is tried in another, which takes its time, and begin() is called again.
  std::function<void()> take_back;
};

// `link` is a symbolic link to `data`. The data is copied to the link's folder with all that is said of it
// (holes, mode, owner, times, attributes), takes the link's place at once, and is synced there before the
// other one goes, unless that is in memory and nobody wants it safe (`sync`). An error leaves both as they
// were. What an earlier try left beside the link, of which `landing` tells, is removed first. It is busy
// where one of those `against` whom that is has the data open; where no lease tells that, whoever has it
// open.
Result<Moved> move_home(const std::string& data, const std::string& link, bool sync, Lease::Against against,
                        Landing& landing, const Commit& commit);
// Whether what is there goes with the power anyway.
bool is_in_memory(const std::string& path);
// Ends what was cut off after begin() had said yes. Where the file was in its place, whatever became of it
// then, the data goes and it is done; busy where somebody has the data open. Kept where it was not, or the
// data was changed since. `link` is "" where its folder is not known.
Result<Moved> end_landing(const std::string& data, const std::string& link, Landing& landing);
// What is left beside a file that was removed or replaced after who brought it home had been killed.
void remove_left(const std::string& data, const std::string& link, Landing& landing);

// The file of a descriptor once more, also where its mode forbids that to its owner. None, and errno, where
// it cannot be.
UniqueFd open_again(int fd, int flags);

// Copies bytes and everything that is said of them, except the name. Holes stay holes. Stops, with ECANCELED,
// when `go_on` says so between two pieces.
Status copy_whole(int from, int to, const GoOn& go_on);
// All of that but the bytes; for folders, too.
Status copy_facts(int from, int to);
// Takes the access list away that a new file or folder got from the folder it was made in. To be called while
// only its owner may use it: a wider mode would let in whom that list names.
void drop_inherited(int fd);

}  // namespace sluice
