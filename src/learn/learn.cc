#include "learn/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <numeric>
#include <set>

#include "base/json.h"
#include "base/reach.h"
#include "base/sys.h"
#include "intent/parse.h"
#include "learn/families.h"
#include "learn/names.h"
#include "pipeline/heard.h"

namespace sluice {
namespace {

constexpr std::size_t most_paths = 8;  // of a family that are named
constexpr std::size_t none = static_cast<std::size_t>(-1);

std::string folder_in(const Json& about) {
  return about.is_object() && about.contains("folder") && about["folder"].is_string() &&
                 !about.contains("folder_base64")
             ? about["folder"].get<std::string>()
             : "";
}

bool lies_below(std::string_view path, std::string_view folder) {
  return !folder.empty() && path.starts_with(folder) && path.size() > folder.size() &&
         (folder.ends_with('/') || path[folder.size()] == '/');
}

// Programs, libraries, configuration: nobody would put them elsewhere.
bool is_system(std::string_view path, const ObservedFile& file) {
  constexpr std::array<std::string_view, 10> folders = {"/usr/",  "/lib/", "/lib64/", "/lib32/", "/etc/",
                                                        "/proc/", "/sys/", "/bin/",   "/sbin/",  "/boot/"};
  return !file.write && (std::any_of(folders.begin(), folders.end(),
                                     [&](std::string_view one) { return path.starts_with(one); }) ||
                         (path.starts_with("/dev/") && !path.starts_with("/dev/shm/")));
}

// A name for a group or stream: what all of its files have in their names.
std::string tag_of(std::string_view glob) {
  const std::string_view name = glob.substr(glob.rfind('/') + 1);
  std::string out;
  for (const char c : name.substr(0, name.find_first_of("*?[\\"))) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-';
    out += fits ? std::string(1, c) : "";
  }
  while (!out.empty() && std::string_view("._-").find(out.back()) != std::string_view::npos) {
    out.pop_back();
  }
  while (!out.empty() && std::string_view("._-").find(out.front()) != std::string_view::npos) {
    out.erase(0, 1);
  }
  return out.empty() ? "files" : out;
}

// What learn() has in hand.
struct Draft {
  Family family;
  ObservedFile observed;
  std::size_t group = none;  // the family that stands for the group
  double together = 0;       // share of its requests that follow one on another file of it
};

// Families of which requests follow one another while both are open are a group. One that is only read is in
// none with one that is only written: that is a way from one to the other.
class Groups {
 public:
  Groups(std::vector<Draft>& drafts, const std::vector<ObservedFile>& files,
         const std::vector<std::size_t>& family_of)
      : drafts_(drafts) {
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> edges;
    for (std::size_t i = 0; i < files.size(); ++i) {
      for (const auto& entry : files[i].partners.entries()) {
        const std::size_t other = entry.count == 0 ? none : family_of[static_cast<std::size_t>(entry.value)];
        if (family_of[i] != none && other != none) {
          edges[{family_of[i], other}] += entry.count;
        }
      }
    }
    parent_.resize(drafts.size());
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    // Of three that take turns each follows one of the others only.
    for (const auto& [pair, count] : edges) {
      const auto [one, other] = pair;
      if (share(one, count) >= cut::interleaved &&
          share(other, drafts_[other].observed.interleaved) >= cut::interleaved && may_be(one, other)) {
        parent_[root(one)] = root(other);
        for (const std::size_t member : {one, other}) {
          drafts_[member].group = member;
          drafts_[member].together = share(member, drafts_[member].observed.interleaved);
        }
      }
    }
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      drafts_[i].group = drafts_[i].group == none ? none : root(i);
    }
  }

 private:
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) {
      i = parent_[i] = parent_[parent_[i]];
    }
    return i;
  }
  [[nodiscard]] double share(std::size_t family, std::uint64_t count) const {
    constexpr std::uint64_t few = 4;
    return count < few
               ? 0
               : static_cast<double>(count) / static_cast<double>(drafts_[family].observed.requests());
  }
  [[nodiscard]] bool may_be(std::size_t a, std::size_t b) const {
    const auto& one = drafts_[a].observed;
    const auto& two = drafts_[b].observed;
    return !(!one.write && !two.read) && !(!one.read && !two.write);
  }

  std::vector<Draft>& drafts_;
  std::vector<std::size_t> parent_;
};

bool is_scratch(std::string_view path) {
  return path.starts_with("/tmp/") || path.starts_with("/var/tmp/") || path.starts_with("/dev/shm/") ||
         path.find("/tmp") != std::string_view::npos || path.find("/scratch/") != std::string_view::npos ||
         path.ends_with(".tmp") || path.find(".tmp.") != std::string_view::npos;
}

// Whether none of these files is there any more.
bool all_gone(const std::vector<std::string>& paths) {
  return !paths.empty() && std::none_of(paths.begin(), paths.end(), [](const std::string& path) {
    struct stat info {};
    return !answers(path, file_patience) || sys().stat(path.c_str(), &info) == 0 || errno != ENOENT;
  });
}

void propose_temp(LearnedFamily& out, const ObservedFile& observed, std::string_view folder, bool look) {
  if (!observed.write || observed.made_files == 0 || observed.synced_files > 0 ||
      observed.renamed_files > 0) {
    return;
  }
  const bool removed = observed.removed_files == observed.files;
  const bool gone = removed || (look && all_gone(out.files));
  // Where the program was started says nothing.
  const bool scratch = std::any_of(out.files.begin(), out.files.end(), [&](const std::string& path) {
    return is_scratch(std::string_view(path).substr(lies_below(path, folder) ? folder.size() : 0));
  });
  if (!gone && !scratch) {
    return;
  }
  out.words.push_back(
      {.word = "temp",
       .confidence = removed ? 0.6
                     : gone  ? 0.4
                             : 0.2,
       .evidence = fmt::format("made by the program, never synced, {}; it may then be lost with the machine",
                               removed ? "and removed by it"
                               : gone  ? "and not there any more"
                                       : "and named like something temporary"),
       .doubtful = true,
       .confirm = true});
}

// In the order of the vocabulary, said ones first; no two that contradict each other are said.
void put_in_order(std::vector<LearnedWord>& words) {
  const auto slot = [](const LearnedWord& word) {
    const WordInfo* info = find_word(std::string_view(word.word).substr(0, word.word.find('(')));
    return info == nullptr ? slot_count : static_cast<std::size_t>(info->slot);
  };
  std::stable_sort(words.begin(), words.end(), [&](const LearnedWord& a, const LearnedWord& b) {
    return std::tuple(a.confirm, a.doubtful, slot(a)) < std::tuple(b.confirm, b.doubtful, slot(b));
  });
  std::string said;
  for (LearnedWord& word : words) {
    if (!word.doubtful && !parse_intent(said + word.word)) {
      word.doubtful = true;
      word.evidence += ", but another word says otherwise";
    } else if (!word.doubtful) {
      said += word.word + " ";
    }
  }
  std::stable_partition(words.begin(), words.end(), [](const LearnedWord& word) { return !word.doubtful; });
}

class Learning {
 public:
  Learning(TraceReader& trace, const LearnSettings& settings) : trace_(trace), settings_(settings) {}

  Result<Lessons> run() {
    SLUICE_CHECK(observe());
    out_.about = trace_.about();
    out_.trouble = trace_.trouble();
    out_.events = trace_.events();
    out_.hashed = out_.about->is_object() && out_.about->value("hashed", false);
    const std::string traced = folder_in(*out_.about);
    out_.folder = settings_.folder.empty() ? traced : settings_.folder;
    make_families(traced);
    filter();
    const Groups groups(drafts_, files_, family_of_);
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      out_.families.push_back(learned(i));
    }
    return std::move(out_);
  }

 private:
  Status observe() {
    Observer observer;
    TraceEvent event;
    for (;;) {
      SLUICE_TRY(const bool more, trace_.next(event));
      if (!more) {
        break;
      }
      if (event.point == settings_.point && event.operation != TraceEvent::started) {
        observer.add(event);
      }
    }
    files_ = observer.finish();
    return {};
  }

  void make_families(std::string_view traced) {
    std::vector<NamedFile> named;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const ObservedFile& file = files_[i];
      const std::string& path = trace_.path(static_cast<std::uint32_t>(i));
      if (file.files == 0 || !path.starts_with('/')) {
        continue;
      }
      out_.files += 1;
      out_.bytes += file.bytes();
      const bool named_by =
          settings_.files.empty() || std::any_of(settings_.files.begin(), settings_.files.end(),
                                                 [&](const Glob& glob) { return glob.matches(path); });
      const bool system = settings_.files.empty() && is_system(path, file) && !lies_below(path, traced);
      out_.left_out_unwanted += named_by ? 0 : 1;
      out_.left_out_system += system ? 1 : 0;
      named.push_back({.path = path, .behaviour = behaviour_of(file), .wanted = named_by && !system});
      numbers.push_back(i);
    }
    for (Family& family : families_of(named, {out_.folder, std::string(traced)}, !out_.hashed)) {
      Draft draft;
      for (std::size_t& file : family.files) {
        file = numbers[file];
        draft.observed.add(files_[file]);
      }
      draft.family = std::move(family);
      drafts_.push_back(std::move(draft));
    }
  }

  void filter() {
    constexpr std::uint64_t enough = std::uint64_t{1} << 20U;
    constexpr std::uint64_t share = 100;  // one in so many
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    for (const Draft& draft : drafts_) {
      calls += draft.observed.calls;
      bytes += draft.observed.bytes();
    }
    out_.minimum_bytes = settings_.minimum_bytes.value_or(std::min(enough, bytes / share));
    const bool by_calls = !settings_.minimum_bytes;
    std::erase_if(drafts_, [&](const Draft& draft) {
      const bool matters = draft.observed.bytes() >= out_.minimum_bytes ||
                           (by_calls && draft.observed.calls * share / 5 >= calls);
      const bool out = draft.observed.requests() == 0 || !matters;
      out_.left_out_small += out ? draft.observed.files : 0;
      return out;
    });
    std::stable_sort(drafts_.begin(), drafts_.end(), [](const Draft& a, const Draft& b) {
      return std::pair(a.observed.bytes(), a.observed.calls) >
             std::pair(b.observed.bytes(), b.observed.calls);
    });
    for (std::size_t i = settings_.most_families; i < drafts_.size(); ++i) {
      out_.left_out_more += drafts_[i].observed.files;
    }
    drafts_.erase(
        drafts_.begin() + static_cast<std::ptrdiff_t>(std::min(drafts_.size(), settings_.most_families)),
        drafts_.end());
    family_of_.assign(files_.size(), none);
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      for (const std::size_t file : drafts_[i].family.files) {
        family_of_[file] = i;
      }
    }
  }

  [[nodiscard]] LearnedFamily learned(std::size_t number) const {
    const Draft& draft = drafts_[number];
    const ObservedFile& observed = draft.observed;
    LearnedFamily out;
    out.pattern = draft.family.pattern;
    const std::string below = glob_text(out_.folder) + (out_.folder.ends_with('/') ? "" : "/");
    out.glob = !out_.folder.empty() && out.pattern.starts_with(below) && out.pattern.size() > below.size()
                   ? out.pattern.substr(below.size())
                   : out.pattern;
    std::vector<Behaviour> behaviours;
    for (const std::size_t file : draft.family.files) {
      behaviours.push_back(behaviour_of(files_[file]));
      if (out.files.size() < most_paths) {
        out.files.push_back(trace_.path(static_cast<std::uint32_t>(file)));
      }
    }
    out.words = words_of(observed, behaviours);
    out.file_count = observed.files;
    out.created = observed.created_files;
    out.opens = observed.opens;
    out.calls = observed.calls;
    out.syncs = observed.syncs;
    out.processes = observed.processes;
    out.size = observed.size;
    out.read = requests_of(observed, false);
    out.write = requests_of(observed, true);
    out.seconds = static_cast<double>(observed.nanoseconds) / 1e9;
    out.open_seconds = static_cast<double>(observed.open_nanoseconds) / 1e9;
    out.measures = measures_of(observed);
    for (const auto& [site, opens] : observed.sites) {
      out.sites.push_back({.site = trace_.path(site), .opens = opens});
    }
    out.exact = draft.family.alike;
    add_shared_words(number, out);
    propose_temp(out, observed, folder_in(*out_.about), settings_.look && !out_.hashed);
    put_in_order(out.words);
    return out;
  }

  // A name for the family that no other has.
  [[nodiscard]] std::string tag_in(std::size_t number) const {
    const std::string tag = tag_of(drafts_[number].family.pattern);
    const auto before = std::count_if(drafts_.begin(), drafts_.begin() + static_cast<std::ptrdiff_t>(number),
                                      [&](const Draft& one) { return tag_of(one.family.pattern) == tag; });
    return before == 0 ? tag : fmt::format("{}-{}", tag, before + 1);
  }

  // What a family has in common with others, or its files with each other.
  void add_shared_words(std::size_t number, LearnedFamily& out) const {
    const Draft& draft = drafts_[number];
    const std::string tag = tag_in(draft.group == none ? number : draft.group);
    if (draft.group != none) {
      out.words.push_back(
          {.word = fmt::format("group({})", tag),
           .confidence = std::min(draft.together, 0.95),
           .evidence = fmt::format("{:.0f} % of the requests follow one of the same thread on another "
                                   "file of the group, both open",
                                   std::min(draft.together, 1.0) * 100),
           .doubtful = false,
           .confirm = false});
    }
    const bool heard = (draft.observed.heard & heard_lifetime) != 0;
    if (!heard && out.file_count > 1 && out.write.calls > 0) {
      const bool only = out.write.bytes > 9 * out.read.bytes;
      out.words.push_back({.word = fmt::format("stream({}{})", tag, only ? ", write-intensive" : ""),
                           .confidence = 0.7,
                           .evidence = fmt::format("{} files of one kind are written", out.file_count),
                           .doubtful = false,
                           .confirm = false});
    }
  }

  TraceReader& trace_;
  const LearnSettings& settings_;
  Lessons out_;
  std::vector<ObservedFile> files_;     // by number of the path
  std::vector<std::size_t> family_of_;  // by number of the path
  std::vector<Draft> drafts_;
};

}  // namespace

Result<Lessons> learn(TraceReader& trace, const LearnSettings& settings) {
  return Learning(trace, settings).run();
}

std::string LearnedFamily::intent() const {
  std::string out;
  for (const LearnedWord& word : words) {
    if (!word.doubtful && !word.confirm) {
      out += fmt::format("{}{}", out.empty() ? "" : " ", word.word);
    }
  }
  return out;
}

}  // namespace sluice
