// The pragmas of a translation unit. GCC reads them while it lexes; the pass uses them when all functions are
// known. One thread, one translation unit: a global table.
#pragma once

#include <string>
#include <vector>

#include "fronts/compiler/statement.h"

namespace sluice {

using SourceLocation = unsigned;  // GCC's location_t

struct Pragma {
  SourceLocation location = 0;  // for messages
  std::string file;
  Position from;          // where its statement may begin
  bool loose = false;     // columns are unlike those of the file: preprocessed text
  bool in_macro = false;  // _Pragma of a macro: several may have the same beginning
  std::string words;      // canonical
};

std::vector<Pragma>& pragmas();

// Makes `#pragma sig` and `#pragma sigdef` known; from PLUGIN_PRAGMAS. Nothing where the text is only
// preprocessed.
void register_pragmas();

// False in what is no compiler of C or C++ (lto1, f951), which has no preprocessor of its own.
bool reads_pragmas();

}  // namespace sluice
