// The calls of this translation unit that open files.
#pragma once

#include <optional>
#include <string>

#include "fronts/compiler/gcc/pragmas.h"
#include "fronts/compiler/openers.h"

struct gcall;
union tree_node;

namespace sluice {

// Which arguments of one call are what.
struct OpeningCall {
  unsigned path = 0;
  How how = How::unknown;
  unsigned detail = no_argument;
  unsigned folder = no_argument;
  unsigned long always = 0;   // bits to add to the argument that says how, or all of them where there is none
  std::string instead;        // the path is an object: the function of this symbol takes a const char*
  bool no_char_path = false;  // the user's own opener, whose argument is no char*
};
std::optional<OpeningCall> opening_call(gcall* call);

// A place in the source, macros resolved to where they are used.
struct SourcePosition {
  std::string file;
  Position position;
  SourceLocation location = 0;  // grows from the beginning of what is compiled to its end
};
SourcePosition where_used(SourceLocation location);

}  // namespace sluice
