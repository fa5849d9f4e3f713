// What the plug-in was told: -fplugin-arg-sluice-NAME=VALUE.
#pragma once

#include <string>
#include <vector>

#include "fronts/compiler/openers.h"

namespace sluice {

struct Settings {
  bool compile_time = false;    // mode=compile: choose the place now and need no library later
  std::vector<Opener> openers;  // the user's
  std::string program;          // the one to ask; empty: look for it
  std::string plugin;           // this plug-in's own file
};

Settings& settings();

}  // namespace sluice
