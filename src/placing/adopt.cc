// Moves what is at a path to a place, and puts a link there.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/files.h"
#include "base/step.h"
#include "base/text.h"
#include "placing/check.h"
#include "placing/mend.h"
#include "placing/place.h"
#include "placing/transfer.h"
#include "placing/words.h"

namespace sluice {
namespace {

class Adoption {
 public:
  Adoption(Catalog& catalog, const Spot& spot, const Box& box, PlacementRow& row, const GoOn& go_on)
      : catalog_(catalog), spot_(spot), box_(box), row_(row), go_on_(go_on) {}

  // False where something of the old data stays aside, because somebody came to it after all.
  Result<bool> run(bool wide) {
    SLUICE_TRY(const UniqueFd inside, make_box(box_, spot_.path, wide));
    step("adopt: folder made");
    SLUICE_CHECK(try_exchange(spot_, row_));
    SLUICE_CHECK(until_undisturbed([&] { return attempt(inside.get()); }));
    SLUICE_TRY(const bool removed, std::move(removed_));
    SLUICE_CHECK(spot_.sync_folder());
    return removed;
  }

 private:
  // The link is at the path and the old data gone or aside, or everything is as it was but for a copy.
  Status attempt(int inside) {
    const LeaseSignals untold;
    SLUICE_CHECK(remove_tree(inside, spot_.name));
    SLUICE_TRY(Tree tree, look_at_tree(spot_.folder.get(), spot_.name, spot_.path, true));
    const struct stat& about = tree.entries.front().about;
    SLUICE_CHECK(check_data(spot_, about));  // again: it may be another one since the last attempt
    row_.kind = S_ISDIR(about.st_mode) ? placement::folder : placement::file;
    TreeCopy copy(go_on_);
    SLUICE_CHECK(copy.run(tree, spot_.folder.get(), spot_.name, inside, spot_.name));
    SLUICE_TRY(const Tree made, look_at_tree(inside, spot_.name, row_.target, false));
    row_.facts = facts_of(about);
    row_.checksum = copy.checksum();
    row_.size = tree.size;
    SLUICE_CHECK(journal(catalog_, row_, placement::linking));
    if (symlinkat(row_.target.c_str(), spot_.folder.get(), row_.aside.c_str()) != 0) {
      return Errno().fail(fmt::format("cannot make a link beside {}", quote(spot_.path)));
    }
    step("adopt: link made");
    if (!copy.undisturbed()) {
      return begin_again();  // before anybody can come to the copy
    }
    SLUICE_CHECK(swap_names(spot_, row_.aside));
    step("adopt: link in place");
    wait_for_lookups();
    if (copy.is_left(tree, spot_.folder.get(), row_.aside)) {
      SLUICE_CHECK(spot_.sync_folder());
      removed_ = copy.remove_source(tree, spot_.folder.get(), row_.aside);
      return {};
    }
    // Somebody had it before the link came, and is in the old data or writes to it: then that is the file
    // again.
    SLUICE_CHECK(swap_names(spot_, row_.aside));
    step("adopt: link taken back");
    wait_for_lookups();
    if (!spot_.links_to(row_.aside, row_.target) || !is_left_alone(made, inside, spot_.name)) {
      // Unless somebody else has come by the link, or replaced it: nothing of either goes.
      SLUICE_CHECK(swap_names(spot_, row_.aside));
      removed_ = false;
      return {};
    }
    return begin_again();
  }

  // The data is at its path, and the link aside.
  Status begin_again() {
    if (unlinkat(spot_.folder.get(), row_.aside.c_str(), 0) != 0) {
      return Errno().fail(fmt::format("cannot remove the link beside {}", quote(spot_.path)));
    }
    SLUICE_CHECK(journal(catalog_, row_, placement::adopting));
    return fail(ECANCELED, "somebody came to write");
  }

  Catalog& catalog_;
  const Spot& spot_;
  const Box& box_;
  PlacementRow& row_;
  const GoOn& go_on_;
  Result<bool> removed_ = true;
};

}  // namespace

Result<std::optional<std::uint64_t>> data_size(const std::string& path) {
  SLUICE_TRY(const Spot spot, open_spot(path));
  SLUICE_TRY(const auto there, spot.look());
  if (!there) {
    return std::optional<std::uint64_t>();
  }
  SLUICE_CHECK(check_data(spot, *there));
  SLUICE_TRY(const Tree tree, look_at_tree(spot.folder.get(), spot.name, spot.path, true));
  return std::optional(tree.room);
}

Result<Placed> adopt(Catalog& catalog, const Discovery& found, const Plan& plan, const std::string& path,
                     const GoOn& go_on) {
  SLUICE_TRY(const Spot spot, open_spot(path));
  SLUICE_CHECK(check_folder(spot));
  SLUICE_TRY(const UniqueFd lock, catalog.lock_placement(spot.path));
  SLUICE_CHECK(check_unplaced(catalog, spot));
  SLUICE_TRY(const auto there, spot.look());
  if (!there) {
    return fail(ENOENT, fmt::format("nothing is at {}", quote(spot.path)));
  }
  SLUICE_CHECK(check_data(spot, *there));
  SLUICE_TRY(const Place* chosen, chosen_place(found, plan, spot.path));
  if (chosen == place_of(found, spot.path)) {
    return Placed{.path = spot.path, .target = spot.path, .place = chosen->id};
  }
  SLUICE_TRY(const Box box, choose_box(*chosen, spot.path));
  PlacementRow row{.path = spot.path,
                   .target = box.target(spot.name),
                   .place = chosen->id,
                   .intent = print(plan.intent),
                   .kind = std::string(S_ISDIR(there->st_mode) ? placement::folder : placement::file),
                   .state = std::string(placement::adopting),
                   .since = time(nullptr),
                   .size = 0,
                   .checksum = {},
                   .aside = aside_name(spot.name),
                   .facts = "{}"};
  const std::uint64_t promised = plan.intent.total_size().value_or(0);
  SLUICE_CHECK(catalog.add_placement(row, promised));
  step("adopt: row written");
  Adoption adoption(catalog, spot, box, row, go_on);
  const bool wide = (there->st_mode & (S_IRWXG | S_IRWXO)) != 0;
  auto removed = adoption.run(wide);
  if (!removed) {
    SLUICE_CHECK(mend(catalog, row));
    return std::move(removed).error();
  }
  const std::string aside = folder_of(spot.path) + "/" + row.aside;
  row.state = placement::placed;
  row.aside.clear();
  row.facts = "{}";
  SLUICE_CHECK(catalog.put_placement(row, still_promised(promised, row.size)));
  step("adopt: done");
  if (!*removed) {
    return fail(
        fmt::format("{} is placed, but somebody came to the old data meanwhile: what is not as it was "
                    "copied is {} now",
                    quote(spot.path), quote(aside)),
        "put what is needed of that in its place, and remove the rest");
  }
  return Placed{.path = row.path, .target = row.target, .place = row.place};
}

}  // namespace sluice
