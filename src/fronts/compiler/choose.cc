#include "fronts/compiler/choose.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace sluice {
namespace {

constexpr auto patience = std::chrono::seconds(60);

bool can_run(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

// Installed, the plug-in lies in PREFIX/lib/sluice or PREFIX/lib/ARCHITECTURE/sluice; built, in
// BUILD/lib/sluice.
std::string find_program(const std::string& plugin) {
  std::string folder = absolute(plugin, current_folder());
  for (int up = 0; up < 4 && folder != "/"; ++up) {
    folder = folder_of(folder);
    if (std::string found = folder + "/bin/sluice"; can_run(found)) {
      return found;
    }
  }
  const std::string path = environment("PATH");
  for (const std::string_view part : split(path, ':')) {
    if (std::string found = fmt::format("{}/sluice", part); part.starts_with('/') && can_run(found)) {
      return found;
    }
  }
  return {};
}

std::string text_in(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

// Nothing where the answer is not what docs/schema/advise.json says.
std::optional<Choice> read_answer(const std::string& text) {
  const Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains("ranking") || !answer["ranking"].is_array()) {
    return std::nullopt;
  }
  Choice out;
  for (const Json& row : answer["ranking"]) {
    // A name that is no UTF-8 could not be written into a program unharmed.
    if (row.is_object() && row.contains("path") && row["path"].is_string() && !row.contains("path_base64")) {
      out.folder = row["path"];
      return out;
    }
  }
  for (const Json& row : answer.value("rejected", Json::array())) {
    const std::string place = text_in(row.value("place", Json()));
    for (const Json& because : row.value("because", Json::array())) {
      out.reasons.push_back(fmt::format("{}: {}", place, text_in(because)));
    }
  }
  return out;
}

}  // namespace

Result<Choice> choose_place(const std::string& words, const std::string& program, const std::string& plugin) {
  const std::string found = program.empty() ? find_program(plugin) : absolute(program, current_folder());
  if (found.empty()) {
    return fail("the program sluice was not found", "say where it is with -fplugin-arg-sluice-program=PATH");
  }
  std::vector<Subprocess> started;
  started.push_back(Subprocess::start(Command::at(found, {"advise", "--json", words})));
  const Outcome outcome =
      Subprocess::finish(std::move(started), std::chrono::steady_clock::now() + patience).front();
  if (!outcome.found) {
    return fail(fmt::format("cannot run {}", quote(found)),
                "say where it is with -fplugin-arg-sluice-program=PATH");
  }
  if (!outcome.finished) {
    return fail(fmt::format("{} did not answer in time", quote(found)));
  }
  // 1 means that no place can take the data, and is an answer too.
  auto choice = outcome.status <= 1 ? read_answer(outcome.output) : std::nullopt;
  if (!choice) {
    return fail(fmt::format("{} advise gave no plan (exit status {})", quote(found), outcome.status));
  }
  return std::move(*choice);
}

}  // namespace sluice
