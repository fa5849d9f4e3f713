// One row an option. From the rows follow the parser, --help, the manual page, the environment variable, the
// configuration key and the shell completion; nothing about an option is written anywhere else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "base/units.h"

namespace sluice {

enum class OptionType { flag, text, path, size, duration, count, choice };

struct Option {
  std::string_view name;  // "log-level": --log-level, and for a setting SLUICE_LOG_LEVEL and key log-level
  char letter = 0;        // 'j' for -j, 0 for none
  OptionType type = OptionType::flag;
  std::string_view argument = {};  // what the help calls its value: FILE
  std::string_view range =
      {};  // choice: "auto|always|never"; count, size, duration: "1..1000" (either end open)
  std::string_view fallback = {};  // default, as it would be typed; "" = none
  std::string_view help = {};      // one sentence without a full stop
  bool setting = false;            // also an environment variable and a configuration key
  bool repeatable = false;         // may be given several times
};

// The values in force after one parse, each with where it came from.
class Options {
 public:
  struct Value {
    std::string text;
    std::string origin;  // "--catalog", "SLUICE_CATALOG", "/etc/sluice/sluice.toml:3" or "default"
  };

  // Parses argv[1..] by the rows. With arguments: from one thread at a time. Values come from the command
  // line, then the environment, then the configuration, then the row's default; each is checked against its
  // row. With `stop_at_operand`, everything from the first operand on is left alone (for verbs that run a
  // program).
  static Result<Options> parse(std::span<const Option* const> rows, std::span<const std::string> arguments,
                               const Config& config, bool stop_at_operand = false);
  // Only the command line, for options that say where the configuration is.
  static Result<Options> parse_command_line(std::span<const Option* const> rows,
                                            std::span<const std::string> arguments,
                                            bool stop_at_operand = false);

  // REQUIRES for all: the option is among the rows and of that type.
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] bool given(std::string_view name) const;        // a value from anywhere, the default included
  [[nodiscard]] std::string text(std::string_view name) const;  // "" when not given
  [[nodiscard]] std::vector<Value> all(std::string_view name) const;
  [[nodiscard]] std::uint64_t count(std::string_view name) const;  // also size
  [[nodiscard]] Duration duration(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }

 private:
  std::map<std::string, std::vector<Value>, std::less<>> values_;
  std::vector<std::string> operands_;
};

// "log-level" -> "SLUICE_LOG_LEVEL"
std::string environment_name(std::string_view option);
// "-c, --catalog=FILE" as help and manual show it.
std::string option_heading(const Option& option);
// The help sentence with range, default, environment variable and key.
std::string option_text(const Option& option);

}  // namespace sluice
