#include "learn/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/units.h"
#include "pipeline/heard.h"

namespace sluice {
namespace {

std::string percent(double share) {
  return share >= 1 ? "all" : fmt::format("{:.{}f} %", share * 100, share > 0.99 ? 1 : 0);
}

std::string of(double share, std::string_view what) {
  return share >= 1 ? fmt::format("all {}", what) : fmt::format("{} of {}", percent(share), what);
}

std::uint64_t calls(const std::unique_ptr<Observed>& observed) {
  return observed ? observed->calls : 0;
}

double read_share(const ObservedFile& observed) {
  const auto bytes = static_cast<double>(observed.bytes());
  return bytes == 0 ? -1 : static_cast<double>(observed.read ? observed.read->bytes : 0) / bytes;
}

std::string operation_of(const ObservedFile& observed) {
  const double read = read_share(observed);
  return read < 0                         ? ""
         : read >= cut::one_operation     ? "read"
         : read <= 1 - cut::one_operation ? "write"
                                          : "readwrite";
}

// Large requests are as good as many.
double weight_of(const ObservedFile& observed) {
  constexpr double piece = 64 << 10;
  return std::max(static_cast<double>(observed.requests()), static_cast<double>(observed.bytes()) / piece);
}

PatternJudgement pattern_of(const Observed& requests, const ObservedFile& observed) {
  const std::uint64_t request = std::max<std::uint64_t>(requests.sizes.typical(), 1);
  const std::uint64_t slots = observed.size / std::max<std::uint64_t>(observed.files, 1) / request;
  PatternJudgement out = judge(requests.pattern, slots);
  // Threads that take one piece after another of a file are random each, and sequential together.
  if (out.pattern == AccessPattern::random || out.pattern == AccessPattern::mixed) {
    const PatternJudgement together = judge(requests.together, slots);
    if (together.pattern == AccessPattern::sequential && together.looked_at * 2 >= out.looked_at) {
      return together;
    }
  }
  return out;
}

std::string name_of(const PatternJudgement& pattern) {
  switch (pattern.pattern) {
    case AccessPattern::sequential:
      return "sequential";
    case AccessPattern::random:
      return "random";
    case AccessPattern::strided:
      return fmt::format("strided({})", print_size(static_cast<std::uint64_t>(pattern.distance)));
    default:
      return "";
  }
}

struct CommonPattern {
  PatternJudgement judged;
  std::string trouble;  // why it is not that of all requests
};

// Of reads and writes together: of those that are nearly all, or where both are alike.
CommonPattern pattern_of(const ObservedFile& observed) {
  const std::uint64_t reads = calls(observed.read);
  const std::uint64_t writes = calls(observed.write);
  const Observed* more = writes > reads ? observed.write.get() : observed.read.get();
  const Observed* less = writes > reads ? observed.read.get() : observed.write.get();
  CommonPattern out;
  if (more == nullptr) {
    return out;
  }
  out.judged = pattern_of(*more, observed);
  const auto share = static_cast<double>(more->calls) / static_cast<double>(reads + writes);
  if (less != nullptr && share < cut::one_operation) {
    const PatternJudgement other = pattern_of(*less, observed);
    if (other.pattern != AccessPattern::none && name_of(other) != name_of(out.judged)) {
      out.trouble = fmt::format("but {} are {}", writes > reads ? "reads" : "writes",
                                name_of(other).empty() ? "mixed" : name_of(other));
    }
  }
  return out;
}

// For people: four digits of binary, rounded up.
std::uint64_t round_up(std::uint64_t bytes) {
  const int shift = std::max(static_cast<int>(std::bit_width(bytes)) - 5, 0);
  const std::uint64_t unit = std::uint64_t{1} << static_cast<unsigned>(shift);
  return (bytes + unit - 1) / unit * unit;
}

double sync_share(const ObservedFile& observed) {
  const std::uint64_t writes = calls(observed.write);
  return writes == 0
             ? -1
             : std::min(static_cast<double>(observed.synced_writes) / static_cast<double>(writes), 1.0);
}

double passes(const ObservedFile& observed) {
  return observed.passes_different <= 0 ? -1 : observed.passes_read / observed.passes_different;
}

std::pair<std::uint64_t, double> request_size(const ObservedFile& observed) {
  const std::string operation = operation_of(observed);
  RequestSizes sizes;
  if (observed.read && operation != "write") {
    sizes.add(observed.read->sizes);
  }
  if (observed.write && operation != "read") {
    sizes.add(observed.write->sizes);
  }
  const std::uint64_t typical = sizes.typical();
  return {typical, sizes.near(typical)};
}

const char* reuse_of(double times) {
  return times < cut::once ? "once" : times < cut::often ? "seldom" : "often";
}

class Words {
 public:
  explicit Words(const ObservedFile& observed) : observed_(observed) {}

  std::vector<LearnedWord> all() {
    durability();
    total_size();
    pattern();
    operation();
    size();
    sync();
    reuse();
    heard();
    return std::move(out_);
  }

 private:
  void say(std::string word, double confidence, std::string evidence) {
    out_.push_back({.word = std::move(word),
                    .confidence = std::clamp(confidence, 0.0, 1.0),
                    .evidence = std::move(evidence),
                    .doubtful = confidence < cut::doubt,
                    .confirm = false});
  }

  void durability() {
    if (observed_.synced_files == 0 || !observed_.write) {
      return;
    }
    const auto share = static_cast<double>(observed_.synced_files) / static_cast<double>(observed_.files);
    say("persist", share >= cut::synced ? share : cut::doubt / 2,
        fmt::format("the program syncs {}, so it counts on what it wrote",
                    observed_.files == 1 ? "it" : of(share, "files")));
  }

  void total_size() {
    if (observed_.size == 0) {
      return;
    }
    const double n = weight_of(observed_);
    const std::string seen = fmt::format("{} in {} file{}", human_size(observed_.size), observed_.files,
                                         observed_.files == 1 ? "" : "s");
    if (observed_.unknown_sizes > 0) {
      say(fmt::format("totalsize({})", print_size(round_up(observed_.size))), cut::doubt / 2,
          fmt::format("{} were added to what was there before, which nobody saw", seen));
    } else if (observed_.write) {
      say(fmt::format("totalsize({})", print_size(round_up(observed_.size))),
          std::min(observed_.made_files == observed_.files ? 0.95 : 0.8, 0.5 + sure_share(n, n)),
          fmt::format("{}, rounded up; more where another run writes more", seen));
    } else {
      say(fmt::format("totalsize({})", print_size(round_up(observed_.size))), std::min(0.7, sure_share(n, n)),
          fmt::format("{} as far as it was read", seen));
    }
  }

  void pattern() {
    const auto [judged, trouble] = pattern_of(observed_);
    const auto n = static_cast<double>(judged.looked_at);
    const double sure = sure_share(static_cast<double>(judged.agree), n);
    const auto doubt = [clear = trouble.empty()](double value) {
      return clear ? value : std::min(value, cut::doubt / 2);
    };
    const std::string behind = trouble.empty() ? "" : fmt::format(", {}", trouble);
    switch (judged.pattern) {
      case AccessPattern::none:
        return;
      case AccessPattern::sequential:
        return say("sequential", doubt(sure),
                   fmt::format("{} go on where one before ended{}",
                               of(judged.sequential, fmt::format("{} requests", judged.looked_at)), behind));
      case AccessPattern::strided:
        return say(name_of(judged), doubt(sure),
                   fmt::format("{} are {} from begin to begin{}", of(judged.strided, "jumps"),
                               human_size(static_cast<std::uint64_t>(judged.distance)), behind));
      case AccessPattern::random:
        return say("random", doubt(sure_share(n - judged.sequential * n / 2, n)),
                   fmt::format("{} go on where one before ended, and jumps have no common distance{}",
                               judged.sequential <= 0
                                   ? "no requests"
                                   : of(judged.sequential, fmt::format("{} requests", judged.looked_at)),
                               behind));
      case AccessPattern::backward:
        return say("sequential", cut::doubt / 2,
                   fmt::format("{} go back by {}: backwards, for which there is no word",
                               of(judged.strided, "jumps"),
                               human_size(static_cast<std::uint64_t>(-judged.distance))));
      case AccessPattern::mixed:
        return say("random", cut::doubt / 2,
                   fmt::format("{} go on where one before ended, the rest does not",
                               of(judged.sequential, fmt::format("{} requests", judged.looked_at))));
    }
  }

  void operation() {
    const std::string word = operation_of(observed_);
    const double read = read_share(observed_);
    if (word.empty()) {
      return;
    }
    const double share = word == "read" ? read : word == "write" ? 1 - read : 1 - std::abs(read - 0.5);
    const double n = weight_of(observed_);
    say(word, sure_share(share * n, n),
        word == "readwrite" ? fmt::format("{} read, {} written", human_size(observed_.read->bytes),
                                          human_size(observed_.write->bytes))
                            : fmt::format("{} {}", of(share, human_size(observed_.bytes())),
                                          word == "read" ? "are read" : "are written"));
  }

  void size() {
    const auto [typical, near] = request_size(observed_);
    if (typical == 0) {
      return;
    }
    const double n = weight_of(observed_);
    say(fmt::format("size-per-IO({})", print_size(typical)),
        near >= cut::alike_sizes ? sure_share(near * n, n) : cut::doubt / 2,
        fmt::format("{} are within a factor of 2 of it", of(near, "requests")));
  }

  void sync() {
    const double share = sync_share(observed_);
    if (share <= 0) {
      return;
    }
    const auto n = static_cast<double>(calls(observed_.write));
    const std::string told = fmt::format("{} are followed by a sync or synced themselves",
                                         of(share, fmt::format("{} writes", observed_.write->calls)));
    if (share >= cut::synced) {
      say("sync", sure_share(share * n, n), told);
    } else if (share >= cut::synced / 3) {
      say("sync", cut::doubt / 2, fmt::format("only {}", told));
    }
  }

  void reuse() {
    const double times = passes(observed_);
    if (times < 0) {
      return;
    }
    const double n = weight_of(observed_);
    // What another run does with it is not known.
    say(fmt::format("reuse({})", reuse_of(times)), 0.9 * sure_share(n, n),
        fmt::format("what is read at all is read {:.1f} times in this run", std::max(times, 1.0)));
  }

  // Weakest: only where nothing that was seen says otherwise.
  void heard() {
    const auto has = [&](std::string_view start) {
      return std::any_of(out_.begin(), out_.end(), [&](const LearnedWord& word) {
        return !word.doubtful && word.word.substr(0, word.word.find('(')) == start;
      });
    };
    const bool patterned = has("sequential") || has("random") || has("strided");
    for (const HeardWord& word : heard_words) {
      if ((observed_.heard & word.bit) == 0) {
        continue;
      }
      const std::string_view name = word.text.substr(0, word.text.find('('));
      if (word.group == heard_lifetime) {
        say(std::string(word.text), cut::doubt + 0.1, "the program told the kernel so (F_SET_RW_HINT)");
      } else if ((word.group == heard_pattern && patterned) || has(name)) {
        continue;
      } else {
        say(std::string(word.text), cut::doubt - 0.1,
            "the program told the kernel so; nothing else shows it");
      }
    }
  }

  const ObservedFile& observed_;
  std::vector<LearnedWord> out_;
};

}  // namespace

double sure_share(double part, double all) {
  if (all <= 0) {
    return 0;
  }
  constexpr double z = 1.96;
  const double share = std::min(part / all, 1.0);
  const double middle = share + z * z / (2 * all);
  const double width = z * std::sqrt(share * (1 - share) / all + z * z / (4 * all * all));
  return std::max((middle - width) / (1 + z * z / all), 0.0);
}

bool Behaviour::agrees(const Behaviour& other) const {
  constexpr std::uint64_t factor = 4;
  const auto same = [](const std::string& a, const std::string& b) {
    return a.empty() || b.empty() || a == b;
  };
  return same(operation, other.operation) && same(pattern, other.pattern) && same(reuse, other.reuse) &&
         (!sync || !other.sync || *sync == *other.sync) &&
         (!persist || !other.persist || *persist == *other.persist) &&
         (request == 0 || other.request == 0 ||
          (request <= other.request * factor && other.request <= request * factor));
}

Behaviour behaviour_of(const ObservedFile& observed) {
  constexpr double few = 8;  // requests of which nothing is concluded
  Behaviour out;
  out.operation = operation_of(observed);
  const auto [judged, trouble] = pattern_of(observed);
  if (static_cast<double>(judged.looked_at) >= few && trouble.empty()) {
    out.pattern = name_of(judged);
  }
  if (observed.write) {
    out.persist = observed.synced_files > 0;
    const double share = sync_share(observed);
    // One that is in between is no witness for either.
    out.sync = share >= cut::synced      ? std::optional(true)
               : share < cut::synced / 2 ? std::optional(false)
                                         : std::nullopt;
  }
  if (static_cast<double>(calls(observed.read)) >= few && passes(observed) >= 0) {
    out.reuse = reuse_of(passes(observed));
  }
  if (static_cast<double>(observed.requests()) >= few) {
    const auto [typical, near] = request_size(observed);
    out.request = near >= cut::alike_sizes ? typical : 0;
  }
  return out;
}

LearnedMeasures measures_of(const ObservedFile& observed) {
  const auto [judged, trouble] = pattern_of(observed);
  const auto n = static_cast<double>(observed.requests());
  return {.sequential = judged.sequential,
          .strided = judged.strided,
          .read = read_share(observed),
          .synced = sync_share(observed),
          .passes = passes(observed),
          .spread = request_size(observed).second,
          .interleaved = n == 0 ? -1 : static_cast<double>(observed.interleaved) / n};
}

LearnedRequests requests_of(const ObservedFile& observed, bool write) {
  const auto& one = write ? observed.write : observed.read;
  LearnedRequests out;
  if (one) {
    const PatternJudgement judged = pattern_of(*one, observed);
    constexpr std::array<const char*, 6> names = {"", "sequential", "strided", "random", "backward", "mixed"};
    out = {.calls = one->calls,
           .bytes = one->bytes,
           .seconds = static_cast<double>(one->nanoseconds) / 1e9,
           .typical = one->sizes.typical(),
           .pattern = names[static_cast<std::size_t>(judged.pattern)]};
  }
  return out;
}

std::vector<LearnedWord> words_of(const ObservedFile& observed, const std::vector<Behaviour>& files) {
  std::vector<LearnedWord> out = Words(observed).all();
  const Behaviour all = behaviour_of(observed);
  // What one file is sure not to be, the family is not said to be.
  const auto differs = [&](const auto& clear) {
    Behaviour asked;
    clear(asked);
    return std::any_of(files.begin(), files.end(),
                       [&](const Behaviour& file) { return !file.agrees(asked); });
  };
  const auto doubt = [&](std::string_view start) {
    for (LearnedWord& word : out) {
      if (word.word.substr(0, word.word.find('(')) == start && !word.doubtful) {
        word.doubtful = true;
        word.confidence = std::min(word.confidence, cut::doubt / 2);
        word.evidence += ", but not in every file";
      }
    }
  };
  if (files.size() > 1) {
    if (differs([&](Behaviour& asked) { asked.pattern = all.pattern; })) {
      for (const char* word : {"sequential", "random", "strided"}) {
        doubt(word);
      }
    }
    if (differs([&](Behaviour& asked) { asked.operation = all.operation; })) {
      for (const char* word : {"read", "write", "readwrite"}) {
        doubt(word);
      }
    }
    if (differs([&](Behaviour& asked) { asked.sync = all.sync; })) {
      doubt("sync");
    }
    if (differs([&](Behaviour& asked) { asked.persist = all.persist; })) {
      doubt("persist");
    }
    if (differs([&](Behaviour& asked) { asked.reuse = all.reuse; })) {
      doubt("reuse");
    }
    if (differs([&](Behaviour& asked) { asked.request = all.request; })) {
      doubt("size-per-IO");
    }
  }
  return out;
}

}  // namespace sluice
