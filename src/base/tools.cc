#include "base/tools.h"

#include <fmt/format.h>

namespace sluice {

std::vector<std::string> Command::words() const {
  std::vector<std::string> out = {program_};
  out.insert(out.end(), arguments_.begin(), arguments_.end());
  return out;
}

std::string install_advice(std::string_view tool) {
  for (const ToolPackage& row : tool_packages) {
    if (row.tool == tool && !row.package.empty()) {
      return fmt::format("install the package {}", row.package);
    }
  }
  return {};
}

Error not_installed(std::string_view tool) {
  return fail(fmt::format("{} is not installed", tool), install_advice(tool));
}

}  // namespace sluice
