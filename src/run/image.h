// What an executable is made of, as far as it says whether a preloaded library can see what it does.
#pragma once

#include <sys/types.h>

#include <string>

namespace sluice {

struct Image {
  std::string path;
  bool interpreted = false;  // by a dynamic loader; false = linked statically
  bool go = false;
  bool foreign = false;  // of another architecture
  bool secure = false;   // gets privileges when it is started (setuid), or did
};

// Of what a process runs. What cannot be told is taken for a usual program.
Image image_of(pid_t process);
// The same of a file, without `secure`.
Image image_of(const std::string& file);

}  // namespace sluice
