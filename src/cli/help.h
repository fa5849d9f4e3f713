// Help, manual pages, completion and their JSON: all from the verbs' tables.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "base/terminal.h"
#include "cli/verb.h"

namespace sluice {

std::string synopsis(const Verb& verb);         // "sluice advise [OPTION]... [INTENT...]"
std::string overview_text(const Style& style);  // sluice --help
std::string group_text(std::string_view group, const Style& style);  // sluice lab --help
std::string help_text(const Verb& verb, const Style& style);         // sluice VERB --help
std::string overview_man();                                          // sluice.1
std::string verb_man(const Verb& verb);                              // sluice-VERB.1
std::string bash_completion();
Json help_json();

}  // namespace sluice
