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
#include "move/home.h"
#include "placing/words.h"

namespace sluice {
namespace {

constexpr useconds_t grace = 1000;
constexpr useconds_t again = 100'000;
constexpr double patience = 10;  // seconds for whoever came while it was copied
constexpr int most_restarts = 20;
constexpr std::string_view exchange_advice =
    "the file system of that folder must be able to exchange two names at once";

std::string tried_name(const PlacementRow& row) {
  return row.aside + "-";
}

}  // namespace

std::string aside_name(const std::string& name) {
  return aside_name(name, std::random_device{}());
}

std::optional<std::string> name_of_aside(std::string_view aside) {
  constexpr std::string_view mark = ".sluice-";
  constexpr std::size_t digits = 8;
  constexpr std::size_t end = mark.size() + digits;
  if (aside.size() < end + 2 || !aside.starts_with('.') ||
      aside.substr(aside.size() - end, mark.size()) != mark ||
      aside.find_first_not_of("0123456789abcdef", aside.size() - digits) != std::string_view::npos) {
    return {};
  }
  return std::string(aside.substr(1, aside.size() - end - 1));
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
      .advise(std::string(exchange_advice));
}

Status try_exchange(const Spot& spot, const PlacementRow& row) {
  const int folder = spot.folder.get();
  const std::string other = tried_name(row);
  if (symlinkat(row.target.c_str(), folder, row.aside.c_str()) != 0 ||
      symlinkat(row.target.c_str(), folder, other.c_str()) != 0) {
    return Errno().fail(fmt::format("cannot make a link beside {}", quote(spot.path)));
  }
  step("exchange: links made");
  Status tried = renameat2(folder, row.aside.c_str(), folder, other.c_str(), RENAME_EXCHANGE) == 0
                     ? Status()
                     : Errno()
                           .fail(fmt::format("cannot move {}", quote(spot.path)))
                           .advise("nothing was copied; " + std::string(exchange_advice));
  unlinkat(folder, row.aside.c_str(), 0);
  remove_tried(spot, row);
  return tried;
}

void remove_tried(const Spot& spot, const PlacementRow& row) {
  if (!row.aside.empty() && spot.links_to(tried_name(row), row.target)) {
    unlinkat(spot.folder.get(), tried_name(row).c_str(), 0);
  }
}

std::string facts_of(const struct stat& about) {
  return write_json(Json{
      {"inode", about.st_ino}, {"seconds", about.st_mtim.tv_sec}, {"nanoseconds", about.st_mtim.tv_nsec}});
}

bool is_meant(const PlacementRow& row, const struct stat& about) {
  const Json facts = Json::parse(row.facts, nullptr, false);
  return facts.is_object() && facts.value("inode", std::uint64_t{0}) == about.st_ino;
}

int compare_time(const PlacementRow& row, const struct stat& about) {
  const Json facts = Json::parse(row.facts, nullptr, false);
  if (!facts.is_object() || !facts.contains("seconds")) {
    return 0;
  }
  const std::pair then(facts.value("seconds", std::int64_t{0}), facts.value("nanoseconds", std::int64_t{0}));
  const std::pair<std::int64_t, std::int64_t> now(about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  return now < then ? -1 : now == then ? 0 : 1;
}

Status journal(Catalog& catalog, PlacementRow& row, std::string_view state) {
  row.state = state;
  if (state == placement::returning) {
    const auto spot = open_spot(row.path);
    if (spot && doubt_of(row.target, *spot) != "") {
      mark_box(row.target, row.path);
    }
  }
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
