// Folders of the user's own on the places where a candidate makes files elsewhere.
//
// Several commands may use one at a time: each holds a shared lock on it, and the last one removes it where
// it is empty. One that rules name has a note in it, so that nobody does.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/sys.h"
#include "tune/candidate.h"

namespace sluice {

class Folders {
 public:
  Folders() = default;
  Folders(const Folders&) = delete;
  Folders& operator=(const Folders&) = delete;
  ~Folders();

  // Those that are not there yet; one that is there must be this user's alone.
  Status make(const Candidate& candidate);
  // They stay, because rules that stay name them.
  Status keep();

 private:
  struct Folder {
    std::string path;
    UniqueFd held;
  };
  static Result<Folder> hold(const std::string& path);
  std::vector<Folder> all_;
};

}  // namespace sluice
