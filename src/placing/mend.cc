#include "placing/mend.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/step.h"
#include "base/text.h"
#include "placing/spot.h"
#include "placing/words.h"

namespace sluice {
namespace {

Status forget(Catalog& catalog, const PlacementRow& row) {
  SLUICE_CHECK(catalog.remove_placement(row.path));
  step("mend: row removed");
  return {};
}

Status settle(Catalog& catalog, PlacementRow row) {
  row.state = placement::placed;
  row.aside.clear();
  SLUICE_CHECK(catalog.put_placement(row, std::nullopt));
  step("mend: row settled");
  return {};
}

// Nobody can have written anything yet, unless the link is there.
Status mend_placing(Catalog& catalog, const PlacementRow& row) {
  const auto spot = open_spot(row.path);
  if (spot && spot->links_to(row.target)) {
    return settle(catalog, row);
  }
  if (const auto target = open_target(row.target)) {
    unlinkat(target->folder.get(), target->name.c_str(), AT_REMOVEDIR);
  }
  remove_box(row.target);
  return forget(catalog, row);
}

}  // namespace

Status mend(Catalog& catalog, const PlacementRow& row) {
  if (row.state == placement::placing) {
    return mend_placing(catalog, row);
  }
  return {};
}

Result<std::vector<std::string>> mend_all(Catalog& catalog) {
  SLUICE_TRY(const std::vector<PlacementRow> all, catalog.placements());
  std::vector<std::string> out;
  for (const PlacementRow& one : all) {
    if (one.state == placement::placed) {
      continue;
    }
    const auto lock = catalog.lock_placement(one.path);
    if (!lock && lock.error().number == EAGAIN) {
      continue;  // it is being worked on
    }
    if (!lock) {
      out.push_back(lock.error().text());
      continue;
    }
    // It may have been finished before the lock was had.
    SLUICE_TRY(const auto row, catalog.find_placement(one.path));
    if (!row || row->state == placement::placed) {
      continue;
    }
    if (const Status mended = mend(catalog, *row); !mended) {
      out.push_back(mended.error().text());
    }
  }
  return out;
}

}  // namespace sluice
