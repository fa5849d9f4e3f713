#include "fronts/compiler/gcc/match.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fronts/compiler/choose.h"
#include "fronts/compiler/gcc/calls.h"
#include "fronts/compiler/gcc/inject.h"
#include "fronts/compiler/gcc/pragmas.h"
#include "fronts/compiler/gcc/settings.h"
#include "fronts/compiler/source.h"
#include "fronts/compiler/statement.h"
//
#include "fronts/compiler/gcc/headers.inc"

namespace sluice {
namespace {

// A call's own place. Instances of a template share it; two calls in one macro differ in the second.
struct Spot {
  Position used;
  std::pair<std::string, Position> spelled;
  auto operator<=>(const Spot&) const = default;
};

struct Call {
  cgraph_node* function;
  gcall* statement;
  OpeningCall about;
  SourcePosition where;
  Spot spot;
};

// The statement that a pragma, or several of one macro, are about.
struct Region {
  std::vector<const Pragma*> pragmas;
  StatementText text;

  [[nodiscard]] bool holds(const SourcePosition& at) const {
    const Pragma& first = *pragmas.front();
    if (first.file != at.file) {
      return false;
    }
    if (first.loose) {
      return first.location <= at.location && at.position.line <= text.end.line;
    }
    // Column 0: GCC ran out of room for columns.
    return (first.from <= at.position || (at.position.column == 0 && first.from.line == at.position.line)) &&
           at.position <= text.end;
  }
};

std::vector<Region> regions() {
  // Text that was preprocessed elsewhere may come without its file; then what is next to the pragma counts.
  constexpr unsigned nearby = 3;
  std::vector<Region> out;
  for (const Pragma& pragma : pragmas()) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Region& region) {
      return region.pragmas.front()->file == pragma.file && region.pragmas.front()->from == pragma.from;
    });
    if (same == out.end()) {
      const LineSource lines = source_lines(pragma.file);
      Region region{.pragmas = {&pragma}, .text = {}};
      if (lines(1)) {
        region.text = read_statement(lines, pragma.from);
      } else {
        region.text.end = {.line = pragma.from.line + nearby, .column = ~0U};
      }
      out.push_back(std::move(region));
    } else if (pragma.in_macro || pragma.words != same->pragmas.back()->words) {
      same->pragmas.push_back(&pragma);
    }
  }
  return out;
}

Spot spot_of(location_t location) {
  const expanded_location spelled =
      expand_location(linemap_resolve_location(line_table, location, LRK_SPELLING_LOCATION, nullptr));
  return {.used = where_used(location).position,
          .spelled = {spelled.file != nullptr ? spelled.file : "",
                      {.line = static_cast<unsigned>(spelled.line),
                       .column = static_cast<unsigned>(spelled.column)}}};
}

// The text of a macro's use need not end with the statement in it: then the next pragma's is in it, too, and
// a call there is about the one nearest before it.
const Region* region_of(const std::vector<Region>& all, const SourcePosition& at) {
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const Region& region) { return region.holds(at); });
  return found == all.rend() ? nullptr : &*found;
}

struct Compiled {
  std::vector<Call> calls;        // in any of the regions, in no order
  std::set<const Region*> alive;  // those of which anything became code
};

// Notes what one statement of the code means for the regions.
void look_at(gimple* statement, cgraph_node* node, const std::vector<Region>& all, Compiled& out) {
  if (gimple_location(statement) == UNKNOWN_LOCATION || is_gimple_debug(statement)) {
    return;
  }
  const SourcePosition where = where_used(gimple_location(statement));
  bool inside = false;
  for (const Region& region : all) {
    if (region.holds(where)) {
      out.alive.insert(&region);
      inside = true;
    }
  }
  auto* call = dyn_cast<gcall*>(statement);
  if (!inside || call == nullptr || gimple_call_internal_p(call)) {
    return;
  }
  if (auto about = opening_call(call)) {
    out.calls.push_back({.function = node,
                         .statement = call,
                         .about = std::move(*about),
                         .where = where,
                         .spot = spot_of(gimple_location(call))});
  }
}

Compiled look(const std::vector<Region>& all) {
  Compiled out;
  cgraph_node* node = nullptr;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node) {
    function* body = DECL_STRUCT_FUNCTION(node->decl);
    if (body == nullptr || body->cfg == nullptr) {
      continue;
    }
    basic_block block = nullptr;
    FOR_EACH_BB_FN(block, body) {
      for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        look_at(gsi_stmt(at), node, all, out);
      }
    }
  }
  return out;
}

// Of what the stub is told; nothing where the call is to be left alone, which has been said then.
std::optional<Injection> decide(const Pragma& pragma) {
  if (!settings().compile_time) {
    return Injection{.link = false, .text = pragma.words};
  }
  static std::map<std::string, Result<Choice>> chosen;
  auto found = chosen.find(pragma.words);
  if (found == chosen.end()) {
    found =
        chosen.emplace(pragma.words, choose_place(pragma.words, settings().program, settings().plugin)).first;
  }
  const Result<Choice>& choice = found->second;
  if (!choice) {
    warning_at(pragma.location, OPT_Wpragmas, "no place can be chosen, and the call is left alone: %s",
               choice.error().text().c_str());
    return std::nullopt;
  }
  if (choice->folder.empty()) {
    const bool said =
        warning_at(pragma.location, OPT_Wpragmas, "no place can take this, and the call is left alone: %s",
                   pragma.words.c_str());
    for (const std::string& reason : said ? choice->reasons : std::vector<std::string>()) {
      inform(pragma.location, "%s", reason.c_str());
    }
    return std::nullopt;
  }
  return Injection{.link = true, .text = choice->folder};
}

bool applies(const Call& call) {
  if (call.about.no_char_path) {
    warning_at(gimple_location(call.statement), OPT_Wpragmas,
               "argument %u of %qD is no %<char*%>, and the call is left alone", call.about.path + 1,
               gimple_call_fndecl(call.statement));
  }
  return !call.about.no_char_path;
}

// Code that was never compiled, such as a template without instances, or that is dead, leaves only its text
// to look at.
void warn_no_opener(const Pragma& pragma, const Region& region, const Compiled& compiled) {
  if (compiled.alive.count(&region) == 0 && names_opener(region.text.words, settings().openers)) {
    return;
  }
  warning_at(pragma.location, OPT_Wpragmas, "no call in the statement after %<#pragma sig%> opens a file");
}

}  // namespace

void apply_pragmas() {
  const std::vector<Region> all = regions();
  const Compiled compiled = look(all);
  std::map<cgraph_node*, std::vector<std::pair<const Call*, Injection>>> work;
  for (const Region& region : all) {
    std::map<Spot, std::vector<const Call*>> spots;
    for (const Call& call : compiled.calls) {
      if (region_of(all, call.where) == &region) {
        spots[call.spot].push_back(&call);
      }
    }
    auto spot = spots.begin();
    for (const Pragma* pragma : region.pragmas) {
      if (spot == spots.end()) {
        warn_no_opener(*pragma, region, compiled);
        continue;
      }
      const auto injection = decide(*pragma);
      for (const Call* call : spot->second) {
        if (injection && applies(*call)) {
          work[call->function].emplace_back(call, *injection);
        }
      }
      ++spot;
    }
    if (spot != spots.end()) {
      warning_at(gimple_location(spot->second.front()->statement), OPT_Wpragmas,
                 "%<#pragma sig%> is about the first call that opens a file; this one is left alone");
    }
  }
  for (auto& [node, calls] : work) {
    push_cfun(DECL_STRUCT_FUNCTION(node->decl));
    for (auto& [call, injection] : calls) {
      inject(call->statement, call->about, injection);
    }
    cgraph_edge::rebuild_edges();
    pop_cfun();
  }
}

}  // namespace sluice
