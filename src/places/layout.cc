#include "places/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace sluice {
namespace {

constexpr unsigned most_disks = 65536;
constexpr unsigned deepest = 8;

struct Rule {
  std::string_view name;
  Scheme scheme;
  unsigned fewest;  // members
};

constexpr std::array rules = {
    Rule{"single", Scheme::single, 1}, Rule{"raid0", Scheme::raid0, 1},     Rule{"raid1", Scheme::raid1, 2},
    Rule{"raid4", Scheme::raid4, 3},   Rule{"raid5", Scheme::raid5, 3},     Rule{"raid6", Scheme::raid6, 4},
    Rule{"raid10", Scheme::raid10, 4}, Rule{"replica", Scheme::replica, 1}, Rule{"mds", Scheme::mds, 1}};

constexpr std::array<std::string_view, rules.size()> names = [] {
  std::array<std::string_view, rules.size()> out{};
  std::transform(rules.begin(), rules.end(), out.begin(), [](const Rule& rule) { return rule.name; });
  return out;
}();

const Rule& rule_of(Scheme scheme) {
  return *std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.scheme == scheme; });
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Layout> whole() {
    SLUICE_TRY(Layout out, layout(1));
    if (blanks(); at_ != text_.size()) {
      return wrong("nothing more was expected");
    }
    if (total_ > most_disks) {
      return bad_input(fmt::format("layout {} has {} disks", quote(text_), total_),
                       fmt::format("at most {} are possible", most_disks));
    }
    return out;
  }

 private:
  Result<Layout> layout(unsigned depth) {
    if (depth > deepest) {
      return bad_input(fmt::format("layout {} is nested too deeply", quote(text_)),
                       fmt::format("at most {} levels are possible", deepest));
    }
    SLUICE_TRY(const Rule* const rule, name());
    Layout out{.scheme = rule->scheme, .disks = 1, .parity = 0, .members = {}};
    unsigned data = 0;
    if (take(':')) {
      SLUICE_TRY(data, number());
      if (rule->scheme == Scheme::single) {
        return wrong("single has no number");
      }
      if (rule->scheme == Scheme::mds) {
        if (!take('+')) {
          return wrong("mds needs data and parity pieces, such as mds:4+2");
        }
        SLUICE_TRY(out.parity, number());
      }
      out.disks = data + out.parity;
    } else if (rule->scheme == Scheme::mds) {
      return wrong("mds needs data and parity pieces, such as mds:4+2");
    }
    const bool counted = data != 0 || out.parity != 0;
    if (take('(')) {
      SLUICE_TRY(out.members, members(depth));
      if (rule->scheme == Scheme::single) {
        return wrong("single has no members");
      }
      if (counted && out.members.size() != out.disks) {
        return bad_input(fmt::format("layout {}: {} says {} disks but has {} members", quote(text_),
                                     rule->name, out.disks, out.members.size()),
                         "make the number and the members agree");
      }
      out.disks = static_cast<unsigned>(out.members.size());
      simplify(out);
    } else if (!counted && rule->scheme != Scheme::single) {
      return wrong(fmt::format("{0} needs a number of disks, such as {0}:{1}", rule->name, rule->fewest));
    }
    if (out.members.empty()) {
      total_ += out.disks;
    }
    return checked(std::move(out), *rule);
  }

  // Members that are all plain disks are the same as none.
  static void simplify(Layout& layout) {
    if (std::all_of(layout.members.begin(), layout.members.end(),
                    [](const Layout& member) { return member == Layout{}; })) {
      layout.members.clear();
    }
  }

  Result<std::vector<Layout>> members(unsigned depth) {
    std::vector<Layout> out;
    do {
      SLUICE_TRY(Layout member, layout(depth + 1));
      out.push_back(std::move(member));
      if (out.size() > most_disks) {
        return bad_input("layout has too many members", fmt::format("at most {} are possible", most_disks));
      }
    } while (take(','));
    if (!take(')')) {
      return wrong("',' or ')' was expected");
    }
    return out;
  }

  Result<Layout> checked(Layout layout, const Rule& rule) const {
    const auto refuse = [&](std::string_view why) {
      return bad_input(fmt::format("layout {}: {}", quote(text_), why));
    };
    if (rule.scheme == Scheme::mds && (layout.parity >= layout.disks || layout.parity == 0)) {
      return refuse("mds needs at least one data and one parity piece, such as mds:4+2");
    }
    if (layout.disks < rule.fewest) {
      return refuse(fmt::format("{} needs at least {} disks, not {}", rule.name, rule.fewest, layout.disks));
    }
    if (rule.scheme == Scheme::raid10 && layout.disks % 2 != 0) {
      return refuse(fmt::format("raid10 needs an even number of disks, not {}", layout.disks));
    }
    return layout;
  }

  Result<const Rule*> name() {
    blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           ((text_[at_] >= 'a' && text_[at_] <= 'z') || (text_[at_] >= 'A' && text_[at_] <= 'Z') ||
            (at_ > start && text_[at_] >= '0' && text_[at_] <= '9'))) {
      ++at_;
    }
    const std::string word = lower(text_.substr(start, at_ - start));
    for (const Rule& rule : rules) {
      if (rule.name == word) {
        return &rule;
      }
    }
    const std::string hint = did_you_mean(word, names);
    return bad_input(
        fmt::format("layout {}: column {}: {} is no layout", quote(text_), start + 1, quote(word)),
        hint.empty() ? fmt::format("known are {}", fmt::join(names, ", ")) : hint);
  }

  Result<unsigned> number() {
    blanks();
    const std::size_t start = at_;
    unsigned out = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      out = std::min(out * 10 + static_cast<unsigned>(text_[at_] - '0'), most_disks + 1);
      ++at_;
    }
    if (at_ == start) {
      return wrong("a number was expected");
    }
    if (out == 0 || out > most_disks) {
      return bad_input(fmt::format("layout {}: column {}: a number from 1 to {} was expected, not {}",
                                   quote(text_), start + 1, most_disks, text_.substr(start, at_ - start)));
    }
    return out;
  }

  Error wrong(std::string_view what) const {
    return bad_input(fmt::format("layout {}: column {}: {}", quote(text_), at_ + 1, what));
  }

  bool take(char c) {
    blanks();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
  }

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t total_ = 0;  // simple disks seen so far
};

}  // namespace

unsigned Layout::tolerated() const {
  switch (scheme) {
    case Scheme::single:
    case Scheme::raid0:
      return 0;
    case Scheme::raid1:
    case Scheme::replica:
      return disks > 0 ? disks - 1 : 0;
    case Scheme::raid4:
    case Scheme::raid5:
    case Scheme::raid10:
      return 1;
    case Scheme::raid6:
      return 2;
    case Scheme::mds:
      return parity;
  }
  return 0;
}

Result<Layout> parse_layout(std::string_view text) {
  return Parser(text).whole();
}

std::string print(const Layout& layout) {
  std::string out(rule_of(layout.scheme).name);
  if (layout.scheme == Scheme::mds) {
    out += fmt::format(":{}+{}", layout.disks - layout.parity, layout.parity);
  } else if (layout.members.empty() && layout.scheme != Scheme::single) {
    out += fmt::format(":{}", layout.disks);
  }
  for (std::size_t i = 0; i < layout.members.size(); ++i) {
    out += (i == 0 ? "(" : ",") + print(layout.members[i]);
  }
  return layout.members.empty() ? out : out + ")";
}

}  // namespace sluice
