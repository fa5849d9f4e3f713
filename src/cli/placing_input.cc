#include "cli/placing_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/reach.h"
#include "base/text.h"
#include "cli/place_input.h"
#include "placing/mend.h"
#include "placing/place.h"

namespace sluice {

Result<std::unique_ptr<Catalog>> open_journal(const Context& context) {
  const std::string location = context.options.text("catalog");
  SLUICE_TRY(const std::string where,
             location.empty() ? default_catalog_path() : Result<std::string>(location));
  SLUICE_CHECK(check_answers(context, where));
  SLUICE_TRY(auto catalog, open_catalog(location, Catalog::Mode::write));
  SLUICE_TRY(const auto trouble, mend_all(*catalog, context.options.duration("timeout")));
  for (const std::string& text : trouble) {
    log::warn("an interrupted step is still to be finished: {}", text);
  }
  return catalog;
}

Status check_answers(const Context& context, const std::string& path) {
  // As it was typed: absolute() might look at a link, and it is not known yet whether that answers.
  return answers(folder_of((std::filesystem::path(current_folder()) / path).string()),
                 context.options.duration("timeout"))
             ? Status()
             : fail(ETIMEDOUT, fmt::format("the file system of {} does not answer", quote(path)))
                   .advise("nothing was changed; --timeout waits longer");
}

Status check_answers(const Context& context, Catalog& catalog, const std::string& path) {
  SLUICE_CHECK(check_answers(context, path));
  const auto known = placing_path(path);
  if (!known) {
    return {};  // whoever uses it says why
  }
  SLUICE_TRY(const auto row, catalog.find_placement(*known));
  return row ? check_answers(context, row->target) : Status();
}

IsThere by_places(const Context& context) {
  return [&context](const std::string& id) {
    static std::mutex one_at_a_time;
    const std::lock_guard guard(one_at_a_time);
    const auto storage = read_places(context, false);
    return storage &&
           std::any_of(storage->found.places.begin(), storage->found.places.end(),
                       [&](const Place& place) { return place.id == id && place.reach == Reach::reachable; });
  };
}

Settled settled(const std::string& path, const Result<Returned>& result) {
  Settled out{.path = path, .outcome = {}, .why = {}, .bytes = 0};
  if (!result) {
    out.outcome = result.error().number == EBUSY || result.error().number == EAGAIN ? "busy" : "failed";
    out.why = result.error().text();
    return out;
  }
  out.path = result->path;
  out.why = result->why;
  out.bytes = result->bytes;
  out.outcome = result->outcome == Returned::Outcome::home      ? "home"
                : result->outcome == Returned::Outcome::nothing ? "nothing"
                : result->outcome == Returned::Outcome::lost    ? "lost"
                                                                : "kept";
  return out;
}

Output describe(const std::vector<Settled>& all) {
  Output out;
  Json list = Json::array();
  for (const Settled& one : all) {
    Json row;
    put_bytes(row, "path", one.path);
    row["outcome"] = one.outcome;
    row["bytes"] = one.bytes;
    row["why"] = escape(one.why);
    list.push_back(std::move(row));
    if (one.outcome == "home") {
      out.text += fmt::format("{} is home, {}\n", escape(one.path), human_size(one.bytes));
    } else if (one.outcome == "nothing") {
      out.text += fmt::format("{} was never created; its link is gone\n", escape(one.path));
    } else {
      out.status = 1;
      // An error that names the path says enough.
      log::error("{}", one.outcome == "lost" ? fmt::format("{}: {}; so is its link", quote(one.path), one.why)
                       : one.outcome == "kept"
                           ? fmt::format("{} was not brought back: {}; `sluice status` says what can be done",
                                         quote(one.path), one.why)
                           : fmt::format("{}: {}", quote(one.path), one.why));
    }
  }
  if (all.empty()) {
    out.text = "nothing is placed\n";
  }
  out.json = {{"results", std::move(list)}};
  return out;
}

}  // namespace sluice
