// Moves what is at a path to a place, and puts a link there.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

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

  Status run(bool wide) {
    SLUICE_TRY(const UniqueFd inside, make_box(box_, spot_.path, wide));
    step("adopt: folder made");
    SLUICE_CHECK(until_undisturbed([&] { return attempt(inside.get()); }));
    SLUICE_CHECK(remove_tree(spot_.folder.get(), row_.aside));
    return spot_.sync_folder();
  }

 private:
  // The link is at the path and the old data aside, or everything is as it was but for a copy.
  Status attempt(int inside) {
    const LeaseSignals untold;
    SLUICE_CHECK(remove_tree(inside, spot_.name));
    SLUICE_TRY(const Tree tree, look_at_tree(spot_.folder.get(), spot_.name, spot_.path, true));
    TreeCopy copy(go_on_);
    SLUICE_CHECK(copy.run(tree, spot_.folder.get(), spot_.name, inside, spot_.name));
    row_.facts = facts_of(tree.entries.front().about);
    row_.checksum = copy.checksum();
    row_.size = tree.size;
    SLUICE_CHECK(journal(catalog_, row_, placement::linking));
    if (symlinkat(row_.target.c_str(), spot_.folder.get(), row_.aside.c_str()) != 0) {
      return Errno().fail(fmt::format("cannot make a link beside {}", quote(spot_.path)));
    }
    step("adopt: link made");
    SLUICE_CHECK(swap_names(spot_, row_.aside));
    step("adopt: link in place");
    wait_for_lookups();
    const auto now = look_at_tree(spot_.folder.get(), row_.aside, spot_.path, true);
    if (copy.undisturbed() && now && is_unchanged(tree, *now)) {
      return spot_.sync_folder();
    }
    // Somebody had it before the link came, and writes to the old data: then that is the file again.
    SLUICE_CHECK(swap_names(spot_, row_.aside));
    step("adopt: link taken back");
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
  SLUICE_TRY(const Place* chosen, chosen_place(plan, spot.path));
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
  if (Status done = adoption.run(wide); !done) {
    SLUICE_CHECK(mend(catalog, row));
    return std::move(done).error();
  }
  row.state = placement::placed;
  row.aside.clear();
  row.facts = "{}";
  SLUICE_CHECK(catalog.put_placement(row, still_promised(promised, row.size)));
  step("adopt: done");
  return Placed{.path = row.path, .target = row.target, .place = row.place};
}

}  // namespace sluice
