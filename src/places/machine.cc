#include "places/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "base/files.h"
#include "base/mountinfo.h"
#include "base/text.h"
#include "places/probe.h"

namespace sluice {
namespace {

class ThisMachine final : public Machine {
 public:
  [[nodiscard]] Result<std::string> read(const std::string& path) const override { return read_file(path); }
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const override {
    return list_folder(path).value_or(std::vector<std::string>{});
  }
  [[nodiscard]] std::string link(const std::string& path) const override {
    return read_link(path).value_or(std::string{});
  }

  [[nodiscard]] User user() const override {
    User out{.id = geteuid(), .folders = {}};
    for (const std::string& folder : {current_folder(), environment("HOME"), environment("TMPDIR"),
                                      std::string("/var/tmp"), std::string("/tmp")}) {
      if (folder.starts_with('/')) {
        out.folders.push_back(absolute(folder, "/"));
      }
    }
    return out;
  }

  [[nodiscard]] Answers ask(std::span<const Question> questions, std::span<const Tool> tools,
                            Duration timeout, const Waiting& waiting) const override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout.whole_seconds()) +
                          std::chrono::nanoseconds(timeout.nanoseconds());
    std::vector<Subprocess> running;
    for (const Tool& tool : tools) {
      running.push_back(Subprocess::start(tool));
    }
    Answers out;
    out.mounts = probe_mounts(questions, timeout, waiting);
    if (waiting && !running.empty()) {
      waiting("waiting for storage tools");
    }
    out.tools = Subprocess::finish(std::move(running), deadline);
    return out;
  }
};

class RecordedMachine final : public Machine {
 public:
  explicit RecordedMachine(std::string folder) : folder_(std::move(folder)) {
    const std::string text = read_file(folder_ + "/answers").value_or(std::string{});
    for (const std::string_view line : split(text, '\n')) {
      const std::size_t blank = std::min(line.find(' '), line.size());
      if (!line.empty() && !line.starts_with('#')) {
        answers_.emplace(undo_octal(line.substr(0, blank)), parse_answer(line.substr(blank)));
      }
    }
  }

  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    return read_file(folder_ + path);
  }
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const override {
    return list_folder(folder_ + path).value_or(std::vector<std::string>{});
  }
  [[nodiscard]] std::string link(const std::string& path) const override {
    return read_link(folder_ + path).value_or(std::string{});
  }
  [[nodiscard]] User user() const override { return {.id = 1000, .folders = {}}; }

  [[nodiscard]] Answers ask(std::span<const Question> questions, std::span<const Tool> tools,
                            Duration timeout, const Waiting& /*waiting*/) const override {
    Answers out;
    for (const Question& question : questions) {
      auto found = answers_.find(question.folder);
      if (found == answers_.end()) {
        found = answers_.find("*");
      }
      out.mounts.push_back(found != answers_.end() ? found->second
                                                   : Answer{.note = "no answer was recorded"});
      if (out.mounts.back().note == "hang") {
        out.mounts.back().note = fmt::format("no answer within {}", print(timeout));
      }
    }
    for (const Tool& tool : tools) {
      std::string name = join(tool.words(), "_");
      std::replace(name.begin(), name.end(), '/', '%');
      Outcome outcome;
      if (Result<std::string> text = read_file(folder_ + "/tools/" + name)) {
        outcome = {
            .found = true, .finished = true, .truncated = false, .status = 0, .output = std::move(*text)};
      }
      out.tools.push_back(std::move(outcome));
    }
    return out;
  }

 private:
  static std::uint64_t to_number(std::string_view text) { return parse_count(text).value_or(0); }

  static Answer parse_answer(std::string_view words) {
    Answer out{.reach = Reach::reachable};
    for (const std::string_view word : split_blanks(words)) {
      const std::size_t equals = word.find('=');
      const std::string_view key = word.substr(0, equals);
      const std::string_view value =
          equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
      if (key == "hang") {
        out = Answer{.note = "hang"};
      } else if (key == "denied") {
        out = Answer{.reach = Reach::denied, .note = "Permission denied"};
      } else if (key == "errno") {
        char buffer[128];
        out = Answer{.note = strerror_r(static_cast<int>(to_number(value)), buffer, sizeof buffer)};
      } else if (key == "file") {
        out.is_folder = false;
      } else if (key == "ro") {
        out.read_only = true;
      } else if (key == "writable") {
        out.writable = true;
      } else if (key == "bsize") {
        out.transfer = to_number(value);
      } else if (key == "frsize") {
        out.block = to_number(value);
      } else if (key == "blocks") {
        out.blocks = to_number(value);
      } else if (key == "bavail") {
        out.available = to_number(value);
      } else if (key == "uuid") {
        out.uuid = value;
      } else if (key == "folder") {
        out.usable = undo_octal(value);
      } else if (key == "quota") {
        const std::vector<std::string_view> parts = split(value, ':');
        out.quota =
            Quota{.limit = to_number(parts[0]), .left = to_number(parts.back()), .whose = "user 1000"};
      }
    }
    return out;
  }

  std::string folder_;
  std::unordered_map<std::string, Answer> answers_;
};

}  // namespace

std::string Machine::line(const std::string& path) const {
  const std::string text = read(path).value_or(std::string{});
  return std::string(trim(std::string_view(text).substr(0, text.find('\n'))));
}

std::uint64_t Machine::number(const std::string& path) const {
  return parse_count(line(path)).value_or(0);
}

std::unique_ptr<Machine> this_machine() {
  return std::make_unique<ThisMachine>();
}
std::unique_ptr<Machine> recorded_machine(std::string folder) {
  return std::make_unique<RecordedMachine>(std::move(folder));
}

}  // namespace sluice
