#include "lab/wire_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sluice::lab {
namespace {

using Kind = WireCommand::Kind;

struct Word {
  std::string_view name;
  Kind kind;
  std::string_view argument;  // how it is called in messages; "" = takes none
  std::string_view help;
};

constexpr std::array words = std::to_array<Word>({
    {"status", Kind::status, "", ""},
    {"stall", Kind::stall, "",
     "every frame is held; nothing is lost up to 256 MiB, then what comes is dropped"},
    {"release", Kind::release, "", "what is held goes on"},
    {"cut", Kind::cut, "", "every TCP connection is reset at both ends; new ones work"},
    {"down", Kind::down, "", "every frame is lost"},
    {"up", Kind::up, "", "the link works again"},
    {"loss", Kind::loss, "P", "each frame is lost with this probability, always the same ones"},
    {"set", Kind::rtt, "rtt=TIME", ""},
    {"clear", Kind::clear, "", "release, up and loss 0"},
});

Error unknown(std::string_view word) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Word& known : words) {
    names.push_back(known.name);
    all += (all.empty() ? "" : ", ") + std::string(known.name) + (known.argument.empty() ? "" : " ") +
           std::string(known.argument);
  }
  const std::string meant = did_you_mean(word, names);
  return bad_input(fmt::format("a net cannot {}", quote(word)), meant.empty() ? "it knows " + all : meant);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> wire_commands() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Word& word : words) {
    if (!word.help.empty()) {
      out.emplace_back(fmt::format("{}{}{}", word.name, word.argument.empty() ? "" : " ", word.argument),
                       word.help);
    }
  }
  return out;
}

Status check_rtt(Duration rtt) {
  if (rtt > Duration(10, 0)) {
    return bad_input(fmt::format("a round-trip time of {} is too long", print(rtt)), "10s is the most");
  }
  return {};
}

Result<WireCommand> parse_wire_command(std::string_view line) {
  const auto parts = split_blanks(line);
  if (parts.empty()) {
    return unknown("");
  }
  const auto word =
      std::find_if(words.begin(), words.end(), [&](const Word& known) { return known.name == parts[0]; });
  if (word == words.end()) {
    return unknown(parts[0]);
  }
  if (parts.size() != (word->argument.empty() ? 1 : 2)) {
    return bad_input(
        fmt::format("{} takes {}", word->name,
                    word->argument.empty() ? "no argument" : "one argument, " + std::string(word->argument)));
  }
  WireCommand out{.kind = word->kind, .loss = 0, .rtt = {}};
  if (out.kind == Kind::loss) {
    const auto share = parse_number(parts[1]);
    if (!share || !(*share >= 0 && *share <= 1)) {
      return bad_input(fmt::format("{} is no probability", quote(parts[1])),
                       "a number from 0 (nothing is lost) to 1 (everything)");
    }
    out.loss = *share;
  } else if (out.kind == Kind::rtt) {
    constexpr std::string_view name = "rtt=";
    if (!parts[1].starts_with(name)) {
      return bad_input(fmt::format("cannot set {}", quote(parts[1])),
                       "only rtt=TIME can be set while a net runs");
    }
    SLUICE_TRY(out.rtt, parse_duration(parts[1].substr(name.size())));
    SLUICE_CHECK(check_rtt(out.rtt));
  }
  return out;
}

}  // namespace sluice::lab
