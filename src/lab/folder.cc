#include "lab/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/text.h"

namespace sluice::lab {
namespace {

// What makes a folder a lab, so that nothing of somebody's own is ever taken for one.
constexpr std::string_view marker = "This folder is a lab of Sluice's; `sluice lab down` removes it.\n";

bool same_file(int fd, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  return fstat(fd, &ours) == 0 && sys().stat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

}  // namespace

const Option option_lab = {.name = "lab",
                           .type = OptionType::path,
                           .argument = "DIR",
                           .help =
                               "the lab's folder; by default /run/sluice-lab for root, and for others "
                               "sluice-lab in $XDG_RUNTIME_DIR or sluice-lab-UID in /tmp",
                           .setting = true};

std::string lab_folder(const Options& options) {
  if (options.given("lab")) {
    // Without links: the kernel's tables have the true path.
    const std::string path = absolute(options.text("lab"), current_folder());
    std::error_code error;
    const std::string real = std::filesystem::weakly_canonical(path, error);
    return error ? path : real;
  }
  if (geteuid() == 0) {
    return "/run/sluice-lab";
  }
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  return runtime.starts_with('/') ? runtime + "/sluice-lab" : fmt::format("/tmp/sluice-lab-{}", geteuid());
}

bool is_lab(const std::string& lab) {
  const auto text = read_file(lab + "/lock", 4096);
  // Whoever made it may have been killed before it could say so; then it had made nothing else.
  return text &&
         (*text == marker || (text->empty() && *list_folder(lab) == std::vector<std::string>{"lock"}));
}

void remove_if_empty(const std::string& lab) {
  const auto names = list_folder(lab);
  if (names && *names == std::vector<std::string>{"lock"} && is_lab(lab)) {
    sys().unlink((lab + "/lock").c_str());
    rmdir(lab.c_str());
  }
}

Result<UniqueFd> lock_lab(const std::string& lab) {
  struct stat found {};
  const bool existed = sys().stat(lab.c_str(), &found) == 0;
  SLUICE_CHECK(make_folders(lab));
  if (sys().stat(lab.c_str(), &found) != 0) {
    return Errno().fail(fmt::format("cannot look at {}", quote(lab)));
  }
  if (found.st_uid != geteuid()) {
    return fail(fmt::format("{} belongs to somebody else", quote(lab)), "choose another folder with --lab");
  }
  SLUICE_TRY(const auto names, list_folder(lab));
  const bool empty = names.empty() || names == std::vector<std::string>{"lock"};
  if (!empty && !is_lab(lab)) {
    return bad_input(fmt::format("{} is no lab, and not empty", quote(lab)),
                     "choose a new folder with --lab");
  }
  // Its places are for everybody; its members have folders of their own that are not.
  if (!existed && chmod(lab.c_str(), 0755) != 0) {
    return Errno().fail(fmt::format("cannot open {} to others", quote(lab)));
  }
  const std::string path = lab + "/lock";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    UniqueFd out(sys().open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!out) {
      if (errno == ENOENT) {  // the folder went away: a `down` was faster
        SLUICE_CHECK(make_folders(lab));
        continue;
      }
      return Errno().fail(fmt::format("cannot open {}", quote(path)));
    }
    if (flock(out.get(), LOCK_EX | LOCK_NB) == 0) {
      if (same_file(out.get(), path)) {
        if (sys().pwrite(out.get(), marker.data(), marker.size(), 0) != static_cast<ssize_t>(marker.size())) {
          return Errno().fail(fmt::format("cannot write {}", quote(path)));
        }
        return out;
      }
      continue;  // the one before us removed the lab
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Errno().fail(fmt::format("cannot lock {}", quote(path)));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(fmt::format("another `sluice lab` command is at work in {}", quote(lab)),
                  fmt::format("wait for it or end it; `fuser -v {}` names it", path));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string Member::kind() const {
  auto text = read_file(file("kind"), 64);
  return text ? std::string(trim(*text)) : std::string{};
}

Status Member::create(std::string_view kind) const {
  SLUICE_CHECK(check_member_name(name()));
  if (sys().mkdir(path().c_str(), 0700) != 0) {
    const Errno number;
    if (errno == EEXIST) {
      return fail(fmt::format("the lab has {} already", quote(name())),
                  fmt::format("choose another name, or `sluice lab down {}` first", name()));
    }
    return number.fail(fmt::format("cannot create {}", quote(path())));
  }
  return write_file(file("kind"), std::string(kind) + "\n");
}

Status Member::remove() const {
  constexpr std::array<std::string_view, 8> ours = {"disk",  "control", "backing", "hosts",
                                                    "place", "log",     "server",  "kind"};
  auto names = list_folder(path());
  if (!names) {
    return names.error().number == ENOENT ? Status{} : Status(std::move(names).error());
  }
  for (const std::string& name : *names) {
    if (std::find(ours.begin(), ours.end(), name) == ours.end() && !name.starts_with(unfinished)) {
      return fail(fmt::format("{} holds what the lab did not make: {}", quote(path()), quote(name)),
                  "move that away and run `sluice lab down` again");
    }
  }
  std::stable_partition(names->begin(), names->end(), [](const std::string& name) { return name != "kind"; });
  for (const std::string& name : *names) {
    if (sys().unlink(file(name).c_str()) != 0 && errno != ENOENT) {
      return Errno().fail(fmt::format("cannot remove {}", quote(file(name))));
    }
  }
  if (rmdir(path().c_str()) != 0 && errno != ENOENT) {
    return Errno().fail(fmt::format("cannot remove {}", quote(path())));
  }
  return {};
}

Status check_member_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> taken = {"lock", "mnt", "sluice.toml"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto good = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > 32 || !letter(name.front()) ||
      !std::all_of(name.begin(), name.end(), good)) {
    return bad_input(fmt::format("{} cannot be a name in the lab", quote(name)),
                     "a letter, then letters, digits, '.', '_' and '-', 32 at most");
  }
  if (std::find(taken.begin(), taken.end(), name) != taken.end()) {
    return bad_input(fmt::format("the lab uses the name {} itself", quote(name)), "choose another");
  }
  return {};
}

std::vector<Member> members(const std::string& lab, std::string_view kind) {
  std::vector<Member> out;
  auto names = list_folder(lab);
  for (std::string& name : names ? *names : std::vector<std::string>{}) {
    Member member(lab, std::move(name));
    struct stat found {};
    if (check_member_name(member.name()) && sys().stat(member.path().c_str(), &found) == 0 &&
        S_ISDIR(found.st_mode) && (kind.empty() || member.kind() == kind)) {
      out.push_back(std::move(member));
    }
  }
  return out;
}

Result<Member> find_member(const std::string& lab, const std::string& name) {
  std::vector<std::string> names;
  for (Member& member : members(lab)) {
    if (member.name() == name) {
      return std::move(member);
    }
    names.push_back(member.name());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string meant = did_you_mean(name, views);
  return bad_input(fmt::format("the lab {} has no {}", quote(lab), quote(name)),
                   !meant.empty()  ? meant
                   : names.empty() ? "it is empty"
                                   : fmt::format("it has {}", join(names, ", ")));
}

}  // namespace sluice::lab
