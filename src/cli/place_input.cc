#include "cli/place_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"

namespace sluice {

Result<Storage> read_places(const Context& context, bool remember, bool profiles) {
  Progress progress;
  const StorageOptions options{.discover = {.system = context.options.text("system"),
                                            .timeout = context.options.duration("timeout"),
                                            .progress = [&](std::string_view text) { progress.show(text); }},
                               .catalog = context.options.text("catalog"),
                               .remember = remember,
                               .profiles = profiles,
                               .corrections = context.options.text("corrections") == "on"};
  SLUICE_TRY(Storage storage, survey(context.config, options));
  for (const std::string& warning : storage.warnings) {
    log::warn("{}", warning);
  }
  return storage;
}

Result<Place> named_place(const std::vector<Place>& places, const std::string& name) {
  const std::string typed = absolute(name, current_folder());
  const auto found = std::find_if(places.begin(), places.end(), [&](const Place& place) {
    return place.name == name || place.path == typed || place.mount == typed;
  });
  if (found == places.end()) {
    std::vector<std::string_view> known;
    for (const Place& place : places) {
      known.push_back(place.name);
    }
    const std::string advice = did_you_mean(name, known);
    return bad_input(fmt::format("no place is called {}", quote(name)),
                     advice.empty() ? "`sluice places` lists them" : advice);
  }
  return *found;
}

}  // namespace sluice
