#include "fronts/compiler/source.h"

#include <map>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace sluice {
namespace {

struct Source {
  std::string text;
  std::vector<std::string_view> lines;
};

Source read(const std::string& file) {
  Source out;
  if (auto text = read_file(file)) {
    out.text = std::move(*text);
  }
  return out;
}

}  // namespace

std::optional<std::string_view> source_line(const std::string& file, unsigned line) {
  static std::map<std::string, Source> known;
  auto found = known.find(file);
  if (found == known.end()) {
    found = known.emplace(file, read(file)).first;
    if (!found->second.text.empty()) {
      found->second.lines = split(found->second.text, '\n');
    }
  }
  const auto& lines = found->second.lines;
  if (line == 0 || line > lines.size()) {
    return std::nullopt;
  }
  std::string_view out = lines[line - 1];
  if (out.ends_with('\r')) {
    out.remove_suffix(1);
  }
  return out;
}

LineSource source_lines(const std::string& file) {
  return [file](unsigned line) { return source_line(file, line); };
}

}  // namespace sluice
