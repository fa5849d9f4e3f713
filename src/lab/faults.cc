#include "lab/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace sluice::lab {
namespace {

constexpr std::uint64_t sector = 512;

struct Command {
  std::string_view name;
  std::string_view form;
  std::string_view help;
};
constexpr std::array commands = std::to_array<Command>({
    {"eio", "eio [read|write|flush|any]... [range=FROM-TO] [rate=P] [count=N]",
     "requests fail with EIO: those that touch the range, each with the probability, so many of them at "
     "most. "
     "Several may be given"},
    {"delay", "delay TIME [read|write|flush|any]... [range=FROM-TO] [rate=P] [count=N]",
     "requests take TIME longer"},
    {"torn", "torn [at=N] [keep=SIZE] [then=ok|eio|power-cut]",
     "of the N-th write from now on (default the next) only the first SIZE bytes are written (default half, "
     "in "
     "whole sectors), safely; then it is reported as done, as failed, or the power goes"},
    {"power-cut", "power-cut [survive=P]",
     "everything since the last flush is lost (with survive, each block of it but for that probability), "
     "requests "
     "under way fail, and so does every other until `revive`"},
    {"revive", "revive", "the power is back"},
    {"full", "full", "writes fail with ENOSPC, as those of a thin device whose pool is full"},
    {"read-only", "read-only", "writes fail with EROFS"},
    {"hang", "hang [read|write|flush|any]", "requests are taken and never answered, until `release`"},
    {"release", "release", "what hangs is answered"},
    {"clear", "clear", "no fault any more, and what hangs is answered; a device without power stays dead"},
});

std::optional<Ops> parse_ops(std::string_view word) {
  if (word == "any") {
    return Ops{};
  }
  const Ops out{.read = word == "read", .write = word == "write", .flush = word == "flush"};
  return out.read || out.write || out.flush ? std::optional(out) : std::nullopt;
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> out;
  for (const Command& command : commands) {
    out.push_back(command.name);
  }
  return out;
}

Error wrong_word(std::string_view command, std::string_view word) {
  for (const Command& row : commands) {
    if (row.name == command) {
      return bad_input(fmt::format("{} does not know {}", command, quote(word)),
                       fmt::format("usage: {}", row.form));
    }
  }
  return bad_input(fmt::format("what is {}?", quote(word)));
}

// "rate=0.5" -> "0.5" for "rate"
std::optional<std::string_view> value_of(std::string_view word, std::string_view name) {
  if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
    return word.substr(name.size() + 1);
  }
  return {};
}

Result<double> parse_probability(std::string_view text) {
  SLUICE_TRY(const double value, parse_number(text));
  if (!(value >= 0 && value <= 1)) {
    return bad_input(fmt::format("{} is no probability", quote(text)), "from 0 to 1");
  }
  return value;
}

Result<std::pair<std::uint64_t, std::uint64_t>> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return bad_input(fmt::format("{} is no range", quote(text)), "FROM-TO, such as 1M-2M or 1M-");
  }
  SLUICE_TRY(const std::uint64_t from, parse_size(text.substr(0, dash)));
  std::uint64_t to = UINT64_MAX;
  if (dash + 1 < text.size()) {
    SLUICE_TRY(to, parse_size(text.substr(dash + 1)));
  }
  if (to <= from) {
    return bad_input(fmt::format("the range {} is empty", quote(text)));
  }
  return std::pair(from, to);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> fault_commands() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Command& command : commands) {
    out.emplace_back(command.form, command.help);
  }
  return out;
}

Status Faults::add_rule(std::string_view command, const Words& words) {
  Rule rule{.fails = words[0] == "eio", .text = std::string(command)};
  std::size_t first = 1;
  bool named = false;
  if (!rule.fails) {
    if (words.size() < 2) {
      return bad_input("delay by how much?",
                       "usage: delay TIME [read|write|flush|any]..., such as `delay 2s write`");
    }
    SLUICE_TRY(const Duration delay, parse_duration(words[1]));
    rule.delay = Instant(static_cast<Instant::rep>(std::min(delay.in_seconds(), 1e6) * 1e9));
    first = 2;
  }
  for (std::size_t i = first; i < words.size(); ++i) {
    if (const auto ops = parse_ops(words[i])) {
      rule.ops = named ? Ops{.read = rule.ops.read || ops->read,
                             .write = rule.ops.write || ops->write,
                             .flush = rule.ops.flush || ops->flush}
                       : *ops;
      named = true;
    } else if (const auto range = value_of(words[i], "range")) {
      SLUICE_TRY(std::tie(rule.from, rule.to), parse_range(*range));
    } else if (const auto rate = value_of(words[i], "rate")) {
      SLUICE_TRY(rule.rate, parse_probability(*rate));
    } else if (const auto count = value_of(words[i], "count")) {
      SLUICE_TRY(rule.left, parse_count(*count));
      if (rule.left == 0) {
        return bad_input("count=0", "a fault that never happens is none");
      }
    } else {
      return wrong_word(words[0], words[i]);
    }
  }
  if (rules_.size() >= 1000) {
    return bad_input("there are 1000 faults already", "`clear` first");
  }
  rules_.push_back(std::move(rule));
  return {};
}

Status Faults::set_torn(const Words& words) {
  Torn torn;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (const auto at = value_of(words[i], "at")) {
      SLUICE_TRY(torn.in, parse_count(*at));
      if (torn.in == 0) {
        return bad_input("at=0", "writes are counted from 1");
      }
    } else if (const auto keep = value_of(words[i], "keep")) {
      SLUICE_TRY(torn.keep, parse_size(*keep));
    } else if (const auto then = value_of(words[i], "then");
               then && (*then == "ok" || *then == "eio" || *then == "power-cut")) {
      torn.then = *then;
    } else {
      return wrong_word("torn", words[i]);
    }
  }
  torn_ = torn;
  return {};
}

Result<Faults::Told> Faults::tell(std::string_view command) {
  const Words words = split_blanks(command);
  const std::string_view name = words.empty() ? std::string_view{} : words[0];
  Told out;
  if (name == "eio" || name == "delay") {
    SLUICE_CHECK(add_rule(command, words));
    return out;
  }
  if (name == "torn") {
    SLUICE_CHECK(set_torn(words));
    return out;
  }
  std::size_t known = 1;  // words that this command understands
  if (name == "power-cut") {
    out.action = Action::power_cut;
    if (const auto survive = words.size() > 1 ? value_of(words[1], "survive") : std::nullopt) {
      SLUICE_TRY(out.survive, parse_probability(*survive));
      known = 2;
    }
  } else if (name == "hang") {
    hang_ = Ops{};
    if (const auto ops = words.size() > 1 ? parse_ops(words[1]) : std::nullopt) {
      hang_ = ops;
      known = 2;
    }
  } else if (name == "revive") {
    out.action = Action::revive;
  } else if (name == "release" || name == "clear") {
    out.action = name == "clear" ? Action::clear : Action::release;
  } else if (name != "full" && name != "read-only") {
    const std::string meant = did_you_mean(name, command_names());
    return bad_input(fmt::format("unknown fault {}", quote(name)),
                     meant.empty() ? "`sluice lab fault --help` lists them" : meant);
  }
  if (words.size() > known) {
    hang_ = name == "hang" ? std::nullopt : hang_;
    return wrong_word(name, words[known]);
  }
  full_ = name == "full" || (full_ && name != "clear");
  read_only_ = name == "read-only" || (read_only_ && name != "clear");
  if (out.action == Action::release || out.action == Action::clear) {
    hang_.reset();
  }
  if (out.action == Action::clear) {
    rules_.clear();
    torn_.reset();
  }
  return out;
}

Verdict Faults::judge(Op op, std::uint64_t offset, std::uint64_t length) {
  Verdict out;
  for (Rule& rule : rules_) {
    const bool touches = op == Op::flush || (offset < rule.to && offset + length > rule.from);
    if (!rule.ops.has(op) || !touches || rule.left == 0 ||
        (rule.rate < 1 && !std::bernoulli_distribution(rule.rate)(random_))) {
      continue;
    }
    rule.left -= rule.left == UINT64_MAX ? 0 : 1;
    out.delay += rule.delay;
    out.error = rule.fails ? EIO : out.error;
  }
  std::erase_if(rules_, [](const Rule& rule) { return rule.left == 0; });
  if (op != Op::write && op != Op::discard) {
    return out;
  }
  if (read_only_) {
    out.error = EROFS;
  }
  if (op == Op::discard) {
    return out;
  }
  if (full_) {
    out.error = ENOSPC;
  }
  if (torn_ && out.error == 0 && --torn_->in == 0) {
    out.keep = std::min(length, torn_->keep.value_or(length / 2 / sector * sector));
    out.torn_error = torn_->then == "ok" ? 0 : EIO;
    out.power_cut = torn_->then == "power-cut";
    torn_.reset();
  }
  return out;
}

Json Faults::json() const {
  Json out = Json::array();
  for (const Rule& rule : rules_) {
    out.push_back(rule.text);
  }
  if (torn_) {
    out.push_back(fmt::format("torn at={}{} then={}", torn_->in,
                              torn_->keep ? fmt::format(" keep={}", print_size(*torn_->keep)) : "",
                              torn_->then));
  }
  if (hang_) {
    out.push_back(fmt::format("hang {}", hang_->read && hang_->write ? "any"
                                         : hang_->read               ? "read"
                                         : hang_->write              ? "write"
                                                                     : "flush"));
  }
  if (full_) {
    out.push_back("full");
  }
  if (read_only_) {
    out.push_back("read-only");
  }
  return out;
}

}  // namespace sluice::lab
