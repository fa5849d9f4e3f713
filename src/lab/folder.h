// Where a lab keeps itself. Whatever a lab makes lies in one folder, or is written down there before it is
// made, so that `lab down` finds it whatever became of whoever made it:
//
//   LAB/lock          makes it a lab; held by whoever builds or removes something, and by a server until it
//                     is ready
//   LAB/mnt/PLACE     mounts of `lab up`
//   LAB/sluice.toml   describes them
//   LAB/NAME/         a member: a device or a net
//       kind          "device" or "net"
//       server        locked by the member's server as long as that lives, which tells its process id
//       control       its control socket
//       log           what the server had to say
//       place         (device) of which place of `lab up` it is a part
//       ...           what else a device (disk, backing) or a net (hosts, ns) keeps there
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "base/sys.h"
#include "service/server_folder.h"

namespace sluice::lab {

// --lab, SLUICE_LAB: the folder. Shared by all verbs of the lab.
extern const Option option_lab;
// The folder that the option names, absolute; by default /run/sluice-lab for root, else one in
// $XDG_RUNTIME_DIR or in /tmp that carries the user's number.
std::string lab_folder(const Options& options);

// Exclusive use of the lab while the descriptor (or one that a forked child inherited) is open. Creates the
// folder; one that exists must belong to this user. Waits up to 20 s for another that is at
// work, then says so.
Result<UniqueFd> lock_lab(const std::string& lab);

// Whether there is a lab in the folder.
bool is_lab(const std::string& lab);
// A lab without anything in it, after a command that failed. REQUIRES: the lab's lock.
void remove_if_empty(const std::string& lab);

// Files that were being written when somebody was killed begin with this (base/files).
inline constexpr std::string_view unfinished = ".sluice-";

class Member : public service::ServerFolder {
 public:
  Member(const std::string& lab, const std::string& name)
      : ServerFolder(lab + "/" + name, name, "sluice-lab", "sluice lab down " + name) {}

  [[nodiscard]] std::string kind() const;  // "" when it is none
  // Makes the folder with its kind. A member of that name is an error that says what to do.
  // REQUIRES: the lab's lock.
  [[nodiscard]] Status create(std::string_view kind) const;
  // Removes its files and its folder, `kind` last: by it the member is found again, should this not come to
  // its end. What is a folder or mounted there must be gone. REQUIRES: its server has ended.
  [[nodiscard]] Status remove() const;
};

// A name has letters, digits, '.', '_' and '-', begins with a letter and is at most 32 long; some are taken.
Status check_member_name(std::string_view name);
// By name; those of a kind only, when one is given. A folder without a kind is one that was not finished.
std::vector<Member> members(const std::string& lab, std::string_view kind = {});
// The member of that name, which must exist.
Result<Member> find_member(const std::string& lab, const std::string& name);

}  // namespace sluice::lab
