#include "learn/families.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>

#include "intent/glob.h"
#include "learn/names.h"

namespace sluice {
namespace {

constexpr std::size_t most_values = 64;    // of a part of the name by which files are told apart
constexpr std::size_t most_literals = 16;  // files that get a rule each, where no glob fits

constexpr std::size_t chance_letters = 6;

using Group = std::vector<std::size_t>;

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

// Of capitals, small letters and digits at least two kinds.
bool is_mixed(std::string_view text) {
  const auto has = [&](int (*is)(int)) {
    return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return is(c) != 0; }) ? 1 : 0;
  };
  return has(std::isupper) + has(std::islower) + has(std::isdigit) >= 2;
}

class Families {
 public:
  Families(const std::vector<NamedFile>& files, const std::vector<std::string>& folders)
      : files_(files), folders_(folders) {
    sorted_.resize(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      sorted_[i] = i;
    }
    std::sort(sorted_.begin(), sorted_.end(),
              [&](std::size_t a, std::size_t b) { return files_[a].path < files_[b].path; });
    family_.assign(files.size(), none);
    chance_.assign(files.size(), false);
  }

  std::vector<Family> make(bool by_name) {
    if (by_name) {
      find_chance();
    }
    std::unordered_map<std::string, Group> groups;
    std::vector<const std::string*> order;
    for (const std::size_t i : sorted_) {
      if (files_[i].wanted) {
        const auto [at, is_new] =
            groups.try_emplace(by_name ? skeleton_of(parts(i)) : std::string(files_[i].path));
        at->second.push_back(i);
        if (is_new) {
          order.push_back(&at->first);
        }
      }
    }
    // The largest first: smaller ones may turn out to belong to them.
    std::vector<Group> all;
    for (const std::string* skeleton : order) {
      split(std::move(groups[*skeleton]), all);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Group& a, const Group& b) { return a.size() > b.size(); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const std::size_t file : all[i]) {
        family_[file] = i;
      }
    }
    std::vector<Family> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      settle(i, all, out, by_name);
    }
    return out;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  [[nodiscard]] std::vector<NamePart> parts(std::size_t file) const {
    const std::string_view path = files_[file].path;
    std::size_t fixed = 0;
    for (const std::string& folder : folders_) {
      const bool below = !folder.empty() && path.starts_with(folder) && path.size() > folder.size() &&
                         (folder.ends_with('/') || path[folder.size()] == '/');
      fixed = below ? std::max(fixed, folder.size()) : fixed;
    }
    if (!chance_[file]) {
      return parts_of(path, fixed);
    }
    std::vector<NamePart> out = parts_of(path.substr(0, path.size() - chance_letters), fixed);
    out.push_back({.text_of = path.substr(path.size() - chance_letters), .kind = NamePart::stamp});
    return out;
  }

  // Names that end in six letters drawn by chance, as mkstemp() makes them: they are known by each other.
  void find_chance() {
    std::unordered_map<std::string, Group> groups;
    for (const std::size_t i : sorted_) {
      const std::string_view path = files_[i].path;
      const std::size_t front = path.size() < chance_letters ? 0 : path.size() - chance_letters;
      if (files_[i].wanted && front > 0 && path[front - 1] != '/' && is_plain(path.substr(front))) {
        groups[std::string(path.substr(0, front))].push_back(i);
      }
    }
    for (const auto& [front, group] : groups) {
      std::size_t odd = 0;  // mixed as no word is
      bool differ = group.size() > 1;
      for (const std::size_t i : group) {
        const std::string_view one = files_[i].path.substr(front.size());
        const std::string_view first = files_[group.front()].path.substr(front.size());
        std::size_t others = 0;
        for (std::size_t letter = 0; letter < chance_letters; ++letter) {
          others += one[letter] != first[letter] ? 1U : 0U;
        }
        differ = differ && (i == group.front() || others >= 4);
        odd += is_mixed(one) ? 1U : 0U;
      }
      for (const std::size_t i : group) {
        chance_[i] = differ && odd * 2 >= group.size();
      }
    }
  }

  [[nodiscard]] bool alike(const Group& group) const {
    // What is not known agrees with everything, so each has to agree with all that is known so far.
    Behaviour known;
    for (const std::size_t file : group) {
      const Behaviour& one = files_[file].behaviour;
      if (!known.agrees(one)) {
        return false;
      }
      known.operation = known.operation.empty() ? one.operation : known.operation;
      known.pattern = known.pattern.empty() ? one.pattern : known.pattern;
      known.reuse = known.reuse.empty() ? one.reuse : known.reuse;
      known.sync = known.sync ? known.sync : one.sync;
      known.persist = known.persist ? known.persist : one.persist;
      known.request = known.request == 0 ? one.request : known.request;
    }
    return true;
  }

  // By the value of one part of the name, where that makes groups that are alike: the part with the fewest.
  void split(Group group, std::vector<Group>& out) const {
    if (group.size() < 2 || alike(group)) {
      out.push_back(std::move(group));
      return;
    }
    std::vector<std::vector<NamePart>> names;
    for (const std::size_t file : group) {
      names.push_back(parts(file));
    }
    std::map<std::string_view, Group> best;
    std::size_t best_good = 0;  // files in groups that are alike
    for (std::size_t part = 0; part < names.front().size(); ++part) {
      std::map<std::string_view, Group> values;
      for (std::size_t i = 0; i < group.size() && values.size() <= most_values; ++i) {
        values[names[i][part].text_of].push_back(group[i]);
      }
      if (values.size() < 2 || values.size() > most_values ||
          (values.size() == group.size() && group.size() > most_literals)) {
        continue;
      }
      std::size_t good = 0;
      for (const auto& [value, files] : values) {
        good += alike(files) ? files.size() : 0;
      }
      if (good > best_good || (good == best_good && good > 0 && values.size() < best.size())) {
        best_good = good;
        best = std::move(values);
      }
    }
    if (best_good == 0) {
      out.push_back(std::move(group));
      return;
    }
    for (auto& [value, files] : best) {
      split(std::move(files), out);
    }
  }

  // Files that the glob matches and that are not of the family.
  [[nodiscard]] Group strangers(const std::string& pattern, std::size_t family) const {
    Group out;
    const auto glob = Glob::parse(pattern);
    if (!glob) {
      return out;
    }
    const std::string& prefix = glob->prefix();
    auto at =
        std::lower_bound(sorted_.begin(), sorted_.end(), prefix,
                         [&](std::size_t file, const std::string& text) { return files_[file].path < text; });
    for (; at != sorted_.end() && files_[*at].path.starts_with(prefix); ++at) {
      if (family_[*at] != family && glob->matches(files_[*at].path)) {
        out.push_back(*at);
      }
    }
    return out;
  }

  void settle(std::size_t family, std::vector<Group>& all, std::vector<Family>& out, bool by_name) {
    Group& group = all[family];
    if (group.empty()) {
      return;  // it went to a larger one
    }
    const bool good = alike(group);
    std::vector<std::vector<NamePart>> names;
    for (const std::size_t file : group) {
      names.push_back(by_name ? parts(file) : parts_of(files_[file].path, files_[file].path.size()));
    }
    for (const Width width : {Width::any, Width::digits, Width::letters}) {
      std::string pattern = glob_of(names, width);
      const Group others = strangers(pattern, family);
      Group together = group;
      together.insert(together.end(), others.begin(), others.end());
      if (others.empty() || (good && alike(together))) {
        for (const std::size_t file : others) {
          if (family_[file] != none) {
            std::erase(all[family_[file]], file);
            family_[file] = family;
            group.push_back(file);
          }
        }
        out.push_back({.pattern = std::move(pattern), .files = group, .alike = good});
        return;
      }
    }
    // No glob: the first ones by name.
    for (std::size_t i = 0; i < std::min(group.size(), most_literals); ++i) {
      out.push_back({.pattern = glob_text(files_[group[i]].path), .files = {group[i]}, .alike = true});
    }
  }

  const std::vector<NamedFile>& files_;
  const std::vector<std::string>& folders_;
  std::vector<std::size_t> sorted_;  // by path
  std::vector<std::size_t> family_;  // by file
  std::vector<bool> chance_;         // by file: it ends in letters drawn by chance
};

}  // namespace

std::vector<Family> families_of(const std::vector<NamedFile>& files, const std::vector<std::string>& folders,
                                bool by_name) {
  return Families(files, folders).make(by_name);
}

}  // namespace sluice
