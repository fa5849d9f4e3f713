#include "placing/transfer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "base/clock.h"
#include "base/json.h"
#include "base/step.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr useconds_t grace = 1000;
constexpr useconds_t again = 100'000;
constexpr double patience = 10;  // seconds for whoever came while it was copied
constexpr int most_restarts = 20;

}  // namespace

std::string aside_name(const std::string& name) {
  return fmt::format(".{}.sluice-{:08x}", name.substr(0, 200), std::random_device{}());
}

Status until_undisturbed(const std::function<Status()>& attempt) {
  double disturbed = 0;
  for (int restarts = 0;;) {
    Status done = attempt();
    const bool came = !done && done.error().number == ECANCELED;
    const bool stays =
        !done && done.error().number == EBUSY && disturbed > 0 && steady_seconds() < disturbed + patience;
    if (!came && !stays) {
      return done;
    }
    if (came && ++restarts > most_restarts) {
      return fail(EBUSY, fmt::format("it was written to {} times while it was copied", restarts))
          .advise("try again when it is left alone");
    }
    disturbed = came ? steady_seconds() : disturbed;
    usleep(again);
  }
}

Status swap_names(const Spot& spot, const std::string& other) {
  if (renameat2(spot.folder.get(), other.c_str(), spot.folder.get(), spot.name.c_str(), RENAME_EXCHANGE) ==
      0) {
    return {};
  }
  return Errno()
      .fail(fmt::format("cannot put {} in its place", quote(spot.path)))
      .advise("the file system of that folder must be able to exchange two names at once");
}

std::string facts_of(const struct stat& about) {
  return write_json(Json{{"device", about.st_dev}, {"inode", about.st_ino}});
}

bool is_meant(const PlacementRow& row, const struct stat& about) {
  const Json facts = Json::parse(row.facts, nullptr, false);
  return facts.is_object() && facts.value("inode", std::uint64_t{0}) == about.st_ino &&
         facts.value("device", std::uint64_t{0}) == about.st_dev;
}

Status journal(Catalog& catalog, PlacementRow& row, std::string_view state) {
  row.state = state;
  SLUICE_CHECK(catalog.put_placement(row, std::nullopt));
  step(row.state.c_str());
  return {};
}

std::uint64_t still_promised(std::uint64_t promised, std::uint64_t size) {
  return promised > size ? promised - size : 0;
}

void wait_for_lookups() {
  usleep(grace);
}

}  // namespace sluice
