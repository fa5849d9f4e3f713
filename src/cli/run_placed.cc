#include "cli/run_placed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "cli/placing_input.h"
#include "placing/follow.h"

namespace sluice {
namespace {

Result<std::vector<PlacedFile>> read_placed(const Context& context) {
  const std::string location = context.options.text("catalog");
  SLUICE_TRY(const std::string where,
             location.empty() ? default_catalog_path() : Result<std::string>(location));
  SLUICE_CHECK(check_answers(context, where));
  SLUICE_TRY(const auto catalog, open_catalog(location, Catalog::Mode::read));
  std::vector<PlacedFile> out;
  if (catalog == nullptr) {
    return out;
  }
  SLUICE_TRY(const std::vector<PlacementRow> rows, placed_files(*catalog));
  for (const PlacementRow& row : rows) {
    out.push_back({.path = row.path, .data = row.target});
  }
  return out;
}

void warn(const PlacedFiles::Change& change, const Error& error) {
  log::warn("run: {} was {}, and that cannot be noted: {}; `sluice status` says what can be done",
            quote(change.before),
            change.now.empty() ? "removed or replaced" : fmt::format("renamed to {}", quote(change.now)),
            error.text());
}

std::size_t renamed(const std::vector<PlacedFiles::Change>& changes) {
  return static_cast<std::size_t>(
      std::count_if(changes.begin(), changes.end(), [](const auto& one) { return !one.now.empty(); }));
}

}  // namespace

std::vector<PlacedFile> placed_for_run(const Context& context) {
  if (context.options.text("catalog").empty() && !default_catalog_path()) {
    return {};  // nobody can have placed anything
  }
  auto out = read_placed(context);
  if (!out) {
    log::warn("run: files that were placed are seen as links, because of the catalog: {}",
              out.error().text());
    return {};
  }
  return std::move(*out);
}

void follow_run(const Context& context, const std::vector<PlacedFiles::Change>& changes) {
  if (changes.empty()) {
    return;
  }
  const auto catalog = open_journal(context);
  if (!catalog) {
    warn(changes.front(), catalog.error());
    return;
  }
  std::vector<const PlacedFiles::Change*> left;
  for (const PlacedFiles::Change& one : changes) {
    if (!one.now.empty()) {
      left.push_back(&one);
    } else if (const Status done = follow_removal(**catalog, one.before); !done) {
      warn(one, done.error());
    }
  }
  // One whose new path was another's before goes after that.
  for (std::size_t before = left.size() + 1; left.size() < before;) {
    before = left.size();
    std::erase_if(left, [&](const PlacedFiles::Change* one) {
      return follow_rename(**catalog, one->before, one->now).has_value();
    });
  }
  for (const PlacedFiles::Change* one : left) {
    if (const Status done = follow_rename(**catalog, one->before, one->now); !done) {
      warn(*one, done.error());
    }
  }
}

std::string changes_text(const std::vector<PlacedFiles::Change>& changes) {
  const std::size_t names = renamed(changes);
  const std::size_t gone = changes.size() - names;
  std::vector<std::string> parts;
  if (gone > 0) {
    parts.push_back(fmt::format("{} removed or replaced, with {} data", gone, gone == 1 ? "its" : "their"));
  }
  if (names > 0) {
    parts.push_back(fmt::format("{} renamed", names));
  }
  return parts.empty() ? "" : fmt::format("sluice: of the placed files, {}\n", join(parts, " and "));
}

Json changes_json(const std::vector<PlacedFiles::Change>& changes) {
  Json out = Json::array();
  for (const PlacedFiles::Change& one : changes) {
    Json row;
    put_bytes(row, "path", one.before);
    put_bytes(row, "renamed", one.now);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace sluice
