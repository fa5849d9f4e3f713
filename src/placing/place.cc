#include "placing/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/step.h"
#include "base/text.h"
#include "placing/check.h"
#include "placing/mend.h"
#include "placing/spot.h"
#include "placing/words.h"

namespace sluice {
namespace {

Word word(std::string_view name, std::vector<Argument> arguments = {}) {
  return {.info = find_word(name), .arguments = std::move(arguments)};
}

Placed stays(const Spot& spot, const Place& place) {
  return {.path = spot.path, .target = spot.path, .place = place.id};
}

}  // namespace

Result<std::string> placing_path(const std::string& typed) {
  if (typed.empty()) {
    return bad_input("an empty path cannot be placed", "name a file or folder");
  }
  SLUICE_TRY(const Spot spot, open_spot(typed));
  return spot.path;
}

Intent placing_intent(const Discovery& found, const std::string& path, const Intent& intent,
                      std::uint64_t bytes) {
  Intent out = intent;
  const Place* home = place_of(found, path);
  const bool may_vanish = home != nullptr && home->is_volatile.value_or(false);
  if (!out.at(Slot::durability) && !may_vanish) {
    out.set(word("persist"));
  }
  if (bytes > 0 && out.total_size().value_or(0) < bytes) {
    out.set(word("totalsize", {bytes}));
  }
  return out;
}

Result<Placed> place_new(Catalog& catalog, const Discovery& found, const Plan& plan, const std::string& path,
                         bool folder) {
  SLUICE_TRY(const Spot spot, open_spot(path));
  SLUICE_CHECK(check_folder(spot));
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(spot.path));
  SLUICE_CHECK(check_unplaced(catalog, spot));
  SLUICE_TRY(const auto there, spot.look());
  if (there) {
    SLUICE_CHECK(check_data(spot, *there));
    return fail(EEXIST, fmt::format("{} is there already", quote(spot.path)))
        .advise("--adopt moves its data");
  }
  SLUICE_TRY(const Place* chosen, chosen_place(found, plan, spot.path));
  if (chosen == place_of(found, spot.path)) {
    return stays(spot, *chosen);
  }
  SLUICE_TRY(const Box box, choose_box(*chosen, spot.path));
  PlacementRow row{.path = spot.path,
                   .target = box.target(spot.name),
                   .place = chosen->id,
                   .intent = print(plan.intent),
                   .kind = std::string(folder ? placement::fresh_folder : placement::fresh),
                   .state = std::string(placement::placing),
                   .since = time(nullptr),
                   .size = 0,
                   .checksum = {},
                   .aside = {},
                   .facts = "{}"};
  SLUICE_CHECK(catalog.add_placement(row, plan.intent.total_size().value_or(0)));
  step("place: row written");
  const auto make = [&]() -> Status {
    SLUICE_TRY(const UniqueFd inside, make_box(box, spot.path, false));
    step("place: folder made");
    // As the program would make it; the folder around it keeps others out.
    if (folder && mkdirat(inside.get(), spot.name.c_str(), 0777) != 0) {
      return Errno().fail(fmt::format("cannot make {}", quote(row.target)));
    }
    if (folder) {
      fsync(inside.get());
      step("place: target made");
    }
    // Fails where something has come meanwhile.
    if (symlinkat(row.target.c_str(), spot.folder.get(), spot.name.c_str()) != 0) {
      return Errno().fail(fmt::format("cannot make a link at {}", quote(spot.path)));
    }
    step("place: link made");
    return spot.sync_folder();
  };
  if (Status made = make(); !made) {
    SLUICE_CHECK(mend(catalog, row));
    return std::move(made).error();
  }
  row.state = placement::placed;
  SLUICE_CHECK(catalog.put_placement(row, std::nullopt));
  step("place: done");
  return Placed{.path = row.path, .target = row.target, .place = row.place};
}

Result<std::optional<Placed>> find_placed(Catalog& catalog, const std::string& path) {
  SLUICE_TRY(const Spot spot, open_spot(path));
  SLUICE_TRY(const auto row, catalog.find_placement(spot.path));
  if (!row || !spot.links_to(row->target)) {
    return std::optional<Placed>();
  }
  return std::optional(Placed{.path = row->path, .target = row->target, .place = row->place});
}

}  // namespace sluice
