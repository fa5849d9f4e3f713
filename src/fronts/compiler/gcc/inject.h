// Puts the stub between a program and a path that it opens.
#pragma once

#include <string>

struct gcall;

namespace sluice {

struct OpeningCall;

// What the stub is given: the words, or in compile-time mode the folder that was chosen.
struct Injection {
  bool link = false;
  std::string text;
};
// REQUIRES: the call's function is the current one. Its edges must be rebuilt afterwards.
void inject(gcall* call, const OpeningCall& about, const Injection& what);

}  // namespace sluice
