#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/verb.h"
#include "run/recover.h"

namespace sluice {
namespace {

constexpr int could_not = 1;
constexpr int wrong_usage = 2;
constexpr int failed_to_run = 125;  // of a verb that leaves 1 and 2 to its program

// Standard output may be a full disk or a closed pipe; both must be noticed.
int print_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = sys().write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done < 0) {
      log::error("{}", Errno().fail("cannot write to standard output").text());
      return could_not;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

int report(const Error& error, std::string_view verb) {
  log::error("{}{}", verb.empty() ? std::string{} : fmt::format("{}: ", verb), error.text());
  log::debug("the error arose at {}", error.origin_text());
  return error.usage ? wrong_usage : could_not;
}

// As the program ended that we ran; without a core of our own.
void end_by(int signal_number) {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(signal_number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal_number);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal_number);
}

void set_log_level(const std::string& name) {
  log::set_level(name == "error"   ? log::Level::error
                 : name == "info"  ? log::Level::info
                 : name == "debug" ? log::Level::debug
                                   : log::Level::warn);
}

// Keys of sluice.toml: every setting of every verb, and the tables that places reads.
std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> out = {"place", "device"};
  for (const Verb* verb : verbs()) {
    for (const Option* row : rows_of(*verb)) {
      if (row->setting && std::find(out.begin(), out.end(), row->name) == out.end()) {
        out.push_back(row->name);
      }
    }
  }
  return out;
}

Result<int> run_verb(const Verb& verb, std::span<const std::string> arguments) {
  const auto rows = rows_of(verb);
  SLUICE_TRY(const Options typed, Options::parse_command_line(rows, arguments, verb.runs_program));
  if (typed.flag("help")) {
    return print_all(help_text(verb, style_of(STDOUT_FILENO, ColourChoice::automatic)));
  }
  const std::size_t operands = typed.operands().size();
  if (operands < verb.least_operands) {
    return bad_input("too few operands", fmt::format("usage: {}", synopsis(verb)));
  }
  if (operands > verb.most_operands) {
    return bad_input(fmt::format("unexpected operand {}", quote(typed.operands()[verb.most_operands])),
                     fmt::format("usage: {}", synopsis(verb)));
  }
  std::string only = typed.text("config");
  if (only.empty()) {
    only = environment("SLUICE_CONFIG");
  }
  Config config;
  if (verb.configured) {
    SLUICE_TRY(config, Config::load(only));
    SLUICE_CHECK(config.check_keys(known_keys()));
    for (const std::string& warning : config.warnings()) {
      log::warn("{}", warning);
    }
  }
  SLUICE_TRY(const Options options, Options::parse(rows, arguments, config, verb.runs_program));
  set_log_level(options.text("log-level"));
  const std::string colour = options.text("color");
  const ColourChoice choice = colour == "always"  ? ColourChoice::always
                              : colour == "never" ? ColourChoice::never
                                                  : ColourChoice::automatic;
  const Context context{.verb = verb,
                        .options = options,
                        .config = config,
                        .style = style_of(STDOUT_FILENO, choice),
                        .json = !verb.runs_program && options.flag("json")};
  if (verb.name == "run") {
    for (const std::string& line : describe(recover_leftovers())) {
      log::warn("{}", line);
    }
  } else if (verb.name != "recover") {
    // Only who asks for it has files written.
    if (const std::string left = describe_leftovers(); !left.empty()) {
      log::warn("{}", left);
    }
  }
  SLUICE_TRY(const Output output, verb.run(context));
  if (WIFSIGNALED(output.ended)) {
    end_by(WTERMSIG(output.ended));
  }
  const bool as_json = context.json && !output.json.is_null();
  const int printed = print_all(as_json ? write_json(output.json, 2) + "\n" : output.text);
  return printed != 0 ? printed : output.status;
}

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

// The words begin with no verb's name: a group's, or a mistake.
int run_group(const std::string& first, std::span<const std::string> rest) {
  if (verbs_of(first).empty()) {
    return report(unknown_verb(first), {});
  }
  if (rest.empty()) {
    return report(which_verb(first), {});
  }
  if (asks_for_help(rest.front())) {
    return print_all(group_text(first, style_of(STDOUT_FILENO, ColourChoice::automatic)));
  }
  return report(unknown_verb(first + " " + rest.front()), {});
}

}  // namespace

int run_program(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    return report(bad_input("what shall I do?", "`sluice help` lists the verbs"), {});
  }
  const std::string& first = arguments.front();
  if (first == "--version") {
    return print_all(fmt::format("sluice {}\n", SLUICE_VERSION));
  }
  if (asks_for_help(first)) {
    return print_all(overview_text(style_of(STDOUT_FILENO, ColourChoice::automatic)));
  }
  auto rest = arguments.subspan(1);
  const Verb* verb = rest.empty() ? nullptr : find_verb(first + " " + rest.front());
  if (verb != nullptr) {
    rest = rest.subspan(1);
  } else {
    verb = find_verb(first);
  }
  if (verb == nullptr) {
    return run_group(first, rest);
  }
  auto status = run_verb(*verb, rest);
  if (status) {
    return *status;
  }
  const int failed = report(status.error(), verb->name);
  return verb->runs_program ? failed_to_run : failed;
}

}  // namespace sluice
