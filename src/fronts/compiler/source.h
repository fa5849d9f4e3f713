// Lines of source files, read once each. GCC has a cache of its own, but that one loses lines when others
// read in the same file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fronts/compiler/statement.h"

namespace sluice {

// Counts from 1; nothing where there is no such line or file. Valid for as long as the process.
std::optional<std::string_view> source_line(const std::string& file, unsigned line);

LineSource source_lines(const std::string& file);

}  // namespace sluice
