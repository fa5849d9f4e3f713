// Puts down files that are in the memory of a run alone (pipeline/pending.h): together, in the order in which
// they were made, a folder after the other.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "base/sys.h"
#include "run/recover.h"

namespace sluice {

class Lander {
 public:
  explicit Lander(Area& area);

  // A folder in which the program makes files, whatever it is called later.
  void know(UniqueFd folder);
  // Another process wants a file that one has open: makes it, and keeps it for that one.
  void lend(std::uint32_t number);
  // That one comes for it, through a socket.
  void give(std::uint32_t number, const UniqueFd& socket);

  enum class Which { old, closed, all };
  // Those that nobody has open, `old` for a while; `all` makes the others files, too, for who still has them.
  // What went otherwise than it should, and with `tell_all` the others as well.
  std::vector<Recovered> land(Which which, bool tell_all);

 private:
  Recovered land_one(Pending& file, bool keep, bool tell);
  struct Folder {
    UniqueFd fd;
    std::string instead;  // its path, where it is not the file's own
    bool gone = false;    // for sure
    std::string why;      // there is none
  };
  Folder folder_of(const Pending& file);

  Area& area_;
  std::size_t most_folders_;
  std::mutex mutex_;  // of what follows
  std::map<FolderId, UniqueFd> folders_;
  std::size_t refused_ = 0;  // because there were too many
  std::map<std::uint32_t, UniqueFd> lent_;
};

// Whether any of an area is not home, and all that are not and that nobody has open.
bool is_pending_left(Area& area);
std::vector<Recovered> list_pending(Area& area);
// Those that processes which live have not closed.
std::vector<Recovered> list_open_pending(Area& area);

}  // namespace sluice
