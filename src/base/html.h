// A page that a browser opens from a file: a title, a table of facts, a picture. Nothing in it comes from
// elsewhere, so it opens offline.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

struct Fact {
  std::string name;
  std::string value;
};

// `svg` is put in as it is (draw() makes such text); everything else is escaped.
std::string html_page(std::string_view title, std::span<const Fact> facts, std::string_view svg);

}  // namespace sluice
