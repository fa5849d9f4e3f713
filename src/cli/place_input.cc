#include "cli/place_input.h"

#include "base/log.h"

namespace sluice {

Result<Storage> read_places(const Context& context, bool remember) {
  Progress progress;
  const StorageOptions options{.discover = {.system = context.options.text("system"),
                                            .timeout = context.options.duration("timeout"),
                                            .progress = [&](std::string_view text) { progress.show(text); }},
                               .catalog = context.options.text("catalog"),
                               .remember = remember};
  SLUICE_TRY(Storage storage, survey(context.config, options));
  for (const std::string& warning : storage.warnings) {
    log::warn("{}", warning);
  }
  return storage;
}

}  // namespace sluice
