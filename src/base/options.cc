#include "base/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <cassert>

#include "base/files.h"
#include "base/text.h"

namespace sluice {
namespace {

using Rows = std::span<const Option* const>;

// "1..1000", "1..", "..8" as bounds in the option's own unit.
template <class T, class Parse>
Status check_range(const Option& row, T value, Parse parse) {
  if (row.range.empty()) {
    return {};
  }
  const std::size_t dots = row.range.find("..");
  assert(dots != std::string_view::npos);
  const std::string_view low = row.range.substr(0, dots);
  const std::string_view high = row.range.substr(dots + 2);
  if ((!low.empty() && value < *parse(low)) || (!high.empty() && value > *parse(high))) {
    return bad_input("it is out of range", fmt::format("allowed is {}", row.range));
  }
  return {};
}

Status check_value(const Option& row, const std::string& text) {
  switch (row.type) {
    case OptionType::flag:
      if (text != "true" && text != "false" && text != "1" && text != "0") {
        return bad_input(fmt::format("{} is neither true nor false", quote(text)));
      }
      return {};
    case OptionType::text:
      return {};
    case OptionType::path:
      if (text.empty()) {
        return bad_input("the path is empty");
      }
      return {};
    case OptionType::size: {
      SLUICE_TRY(const auto value, parse_size(text));
      return check_range(row, value, parse_size);
    }
    case OptionType::duration: {
      SLUICE_TRY(const auto value, parse_duration(text));
      return check_range(row, value, parse_duration);
    }
    case OptionType::count: {
      SLUICE_TRY(const auto value, parse_count(text));
      return check_range(row, value, parse_count);
    }
    case OptionType::choice: {
      const auto choices = split(row.range, '|');
      if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
        return {};
      }
      std::string advice = did_you_mean(text, choices);
      return bad_input(fmt::format("unknown choice {}", quote(text)),
                       advice.empty() ? fmt::format("allowed are {}", fmt::join(choices, ", ")) : advice);
    }
  }
  return {};
}

Status check(const Option& row, const Options::Value& value) {
  Status status = check_value(row, value.text);
  if (!status) {
    return std::move(status).error().within(fmt::format("option --{} ({})", row.name, value.origin));
  }
  return {};
}

Error unknown_option(Rows rows, std::string_view typed) {
  std::vector<std::string> names;
  for (const Option* row : rows) {
    names.push_back(fmt::format("--{}", row->name));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string advice = did_you_mean(typed.substr(0, typed.find('=')), views);
  return bad_input(fmt::format("unknown option {}", quote(typed)),
                   advice.empty() ? "--help lists the options" : advice);
}

}  // namespace

Result<Options> Options::parse_command_line(Rows rows, std::span<const std::string> arguments,
                                            bool stop_at_operand) {
  if (arguments.empty()) {
    return Options{};  // getopt_long keeps state of its own and must not be called from several threads
  }
  // getopt_long wants C arrays; a value of 1000 + index in `rows` tells long options from letters.
  constexpr int first_long = 1000;
  std::string letters = stop_at_operand ? "+:" : ":";
  std::vector<std::string> names;
  names.reserve(rows.size());
  std::vector<option> longs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Option& row = *rows[i];
    const int takes = row.type == OptionType::flag ? no_argument : required_argument;
    names.emplace_back(row.name);
    longs.push_back({names.back().c_str(), takes, nullptr, first_long + static_cast<int>(i)});
    if (row.letter != 0) {
      letters += row.letter;
      letters += takes == required_argument ? ":" : "";
    }
  }
  longs.push_back({nullptr, 0, nullptr, 0});

  std::vector<std::string> copies = {"sluice"};
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(copies.size() + 1);
  for (std::string& copy : copies) {
    argv.push_back(copy.data());
  }
  argv.push_back(nullptr);
  const int argc = static_cast<int>(copies.size());

  Options out;
  optind = 0;  // GNU: start anew, so that parse may be called again
  opterr = 0;
  for (;;) {
    const int found = getopt_long(argc, argv.data(), letters.c_str(), longs.data(), nullptr);
    if (found == -1) {
      break;
    }
    if (found == '?' || found == ':') {
      const std::string_view last = argv[static_cast<std::size_t>(optind - 1)];
      const bool is_letter = optopt > 0 && optopt < first_long;
      const std::string shown = is_letter ? fmt::format("-{}", static_cast<char>(optopt)) : std::string(last);
      if (found == ':') {
        return bad_input(fmt::format("option {} needs a value", quote(shown)));
      }
      if (optopt >= first_long) {
        return bad_input(fmt::format("option {} takes no value", quote(last.substr(0, last.find('=')))));
      }
      return unknown_option(rows, shown);
    }
    std::size_t index = 0;
    if (found >= first_long) {
      index = static_cast<std::size_t>(found - first_long);
    } else {
      while (rows[index]->letter != found) {
        ++index;
      }
    }
    const Option& row = *rows[index];
    Value value{.text = row.type == OptionType::flag ? "true"
                        : optarg != nullptr          ? optarg
                                                     : "",
                .origin = fmt::format("--{}", row.name)};
    auto& list = out.values_[std::string(row.name)];
    if (!list.empty() && !row.repeatable && row.type != OptionType::flag) {
      return bad_input(fmt::format("option --{} is given twice", row.name));
    }
    SLUICE_CHECK(check(row, value));
    list.push_back(std::move(value));
  }
  for (int i = optind; i < argc; ++i) {
    out.operands_.emplace_back(argv[static_cast<std::size_t>(i)]);
  }
  return out;
}

Result<Options> Options::parse(Rows rows, std::span<const std::string> arguments, const Config& config,
                               bool stop_at_operand) {
  SLUICE_TRY(Options out, parse_command_line(rows, arguments, stop_at_operand));
  for (const Option* row : rows) {
    auto& list = out.values_[std::string(row->name)];
    if (!list.empty()) {
      continue;
    }
    if (row->setting) {
      const std::string variable = environment_name(row->name);
      if (std::string text = environment(variable.c_str()); !text.empty()) {
        list.push_back({.text = std::move(text), .origin = variable});
      } else {
        SLUICE_TRY(auto setting, config.find(row->name));
        for (std::string& value : setting ? setting->values : std::vector<std::string>{}) {
          if (row->type == OptionType::path && !value.empty()) {
            value = absolute(value, setting->folder);
          }
          list.push_back({.text = std::move(value), .origin = setting->origin});
        }
      }
      if (list.size() > 1 && !row->repeatable) {
        return bad_input(fmt::format("{}: key {} takes one value", list.back().origin, quote(row->name)));
      }
      for (const Value& value : list) {
        SLUICE_CHECK(check(*row, value));
      }
    }
    if (list.empty() && !row->fallback.empty()) {
      list.push_back({.text = std::string(row->fallback), .origin = "default"});
    }
  }
  return out;
}

bool Options::flag(std::string_view name) const {
  const std::string value = text(name);
  return value == "true" || value == "1";
}

bool Options::given(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && !found->second.empty();
}

std::string Options::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? std::string{} : found->second.back().text;
}

std::vector<Options::Value> Options::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<Value>{} : found->second;
}

std::uint64_t Options::count(std::string_view name) const {
  auto value = parse_size(text(name));  // a count is a size without unit
  assert(value);
  return *value;
}

Duration Options::duration(std::string_view name) const {
  auto value = parse_duration(text(name));
  assert(value);
  return *value;
}

std::string environment_name(std::string_view option) {
  std::string out = "SLUICE_";
  for (const char c : option) {
    out += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return out;
}

std::string option_heading(const Option& option) {
  std::string out = option.letter != 0 ? fmt::format("-{}, ", option.letter) : std::string{};
  out += fmt::format("--{}", option.name);
  if (option.type == OptionType::choice) {
    out += fmt::format("={}", option.range);
  } else if (option.type != OptionType::flag) {
    out += fmt::format("={}", option.argument);
  }
  return out;
}

std::string option_text(const Option& option) {
  std::string out(option.help);
  if (option.type != OptionType::choice && !option.range.empty()) {
    out += fmt::format(" ({})", option.range);
  }
  if (!option.fallback.empty()) {
    out += fmt::format("; default {}", option.fallback);
  }
  if (option.repeatable) {
    out += "; may be given several times";
  }
  if (option.setting) {
    out += fmt::format("; also {} and the key {} of sluice.toml", environment_name(option.name), option.name);
  }
  return out;
}

}  // namespace sluice
