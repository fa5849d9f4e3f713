#include "placing/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "base/files.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "intent/attribute.h"
#include "placing/place.h"
#include "placing/spot.h"
#include "plan/json.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds lasting(60);
constexpr int most_tries = 3;  // somebody else places the same file, or takes it away again

constexpr Option option_strict = {.name = "strict-constraints",
                                  .type = OptionType::flag,
                                  .help = "an open fails where no place keeps the constraints",
                                  .setting = true};

// Never destroyed: threads may be at it while the process ends, and a child must not close the database that
// its parent has open.
std::atomic<Session*> current = nullptr;

// What the path itself is: nothing, something of the user's, or a link of ours, whose target it gives.
struct There {
  bool exists = false;
  std::string target;
};

There look_at(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    return {.exists = errno != ENOENT, .target = {}};
  }
  if (!S_ISLNK(found.st_mode) || found.st_uid != geteuid()) {
    return {.exists = true, .target = {}};
  }
  std::array<char, 4096> link = {};
  const ssize_t length = readlink(path.c_str(), link.data(), link.size());
  std::string target(link.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return {.exists = true, .target = is_in_own_folder(target) ? std::move(target) : std::string()};
}

// Free space as it is now; a mount that needs a network is left as it was seen.
void look_at_space(std::vector<Place>& places) {
  for (Place& place : places) {
    struct statvfs found {};
    if (place.reach == Reach::reachable && place.media.value_or(Media::network) != Media::network &&
        place.free && !place.quota && statvfs(place.path.c_str(), &found) == 0) {
      place.free.value = static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize;
    }
  }
}

}  // namespace

Session& Session::of_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    current = new Session;
    pthread_atfork([] { current.load()->declared_mutex_.lock(); },
                   [] { current.load()->declared_mutex_.unlock(); },
                   [] {
                     auto* child = new Session;
                     child->declared_ = current.load()->declared_;
                     current = child;
                   });
  });
  return *current;
}

void Session::declare(const std::string& path, Intent intent) {
  const std::lock_guard guard(declared_mutex_);
  const bool below = path.ends_with('/');
  declared_[absolute(path, current_folder()) + (below ? "/" : "")] = std::move(intent);
}

Status Session::begin() {
  if (begun_) {
    return {};
  }
  SLUICE_TRY(config_, Config::load(environment("SLUICE_CONFIG")));
  static constexpr std::array rows = {&option_timeout, &option_catalog, &option_rules, &option_strict};
  SLUICE_TRY(const Options options, Options::parse(rows, {}, config_));
  options_ = {.discover = {.system = {}, .timeout = options.duration("timeout"), .progress = {}},
              .catalog = options.text("catalog"),
              .remember = false,
              .profiles = true};
  strict_ = options.flag("strict-constraints");
  rules_ = {};
  for (const Options::Value& file : options.all("rules")) {
    SLUICE_CHECK(rules_.load(file.text));
  }
  begun_ = true;
  return {};
}

bool Session::is_stale() {
  if (!storage_ || std::chrono::steady_clock::now() - looked_ > lasting) {
    return true;
  }
  pollfd one{.fd = mounts_.get(), .events = POLLPRI, .revents = 0};
  return poll(&one, 1, 0) > 0;
}

Status Session::look_at_storage() {
  if (!is_stale()) {
    look_at_space(storage_->found.places);
    return {};
  }
  // Opened first: what changes while the storage is looked at is noticed the next time.
  mounts_ = UniqueFd(open("/proc/self/mounts", O_RDONLY | O_CLOEXEC));
  SLUICE_TRY(storage_, survey(config_, options_));
  looked_ = std::chrono::steady_clock::now();
  return {};
}

Intent Session::merged(const std::string& path, const Intent& said, std::optional<Statement> attribute) {
  std::vector<Statement> statements = rules_.matching(path);
  if (attribute) {
    statements.push_back(std::move(*attribute));
  }
  statements.push_back({.intent = said, .strength = Strength::pragma, .origin = "pragma", .literals = 0});
  const std::lock_guard guard(declared_mutex_);
  for (const auto& [declared, intent] : declared_) {
    if (declared == path || (declared.ends_with('/') && path.starts_with(declared))) {
      statements.push_back(
          {.intent = intent, .strength = Strength::api, .origin = "declared", .literals = declared.size()});
    }
  }
  return merge(std::move(statements)).intent;
}

Result<std::string> Session::plan(const std::string& path, const Intent& said) {
  const std::lock_guard guard(mutex_);
  SLUICE_CHECK(begin());
  SLUICE_CHECK(look_at_storage());
  Intent intent = said;
  if (!path.empty()) {
    const std::string whole = absolute(path, current_folder());
    SLUICE_TRY(auto attribute, attribute_statement(whole, rules_.sigdefs()));
    intent = placing_intent(storage_->found, whole, merged(whole, said, std::move(attribute)));
  }
  const Plan plan = make_plan(intent, storage_->found.places, storage_->profiles);
  return write_json(to_json(plan, storage_->warnings), 2);
}

Result<std::string> Session::place(const std::string& path, const Intent& said) {
  SLUICE_CHECK(begin());
  const Intent intent = merged(path, said, std::nullopt);  // what is not there yet has no attribute
  if (intent.empty()) {
    return path;
  }
  SLUICE_CHECK(look_at_storage());
  const Plan plan =
      make_plan(placing_intent(storage_->found, path, intent), storage_->found.places, storage_->profiles);
  const Ranked* chosen = plan.chosen();
  if (chosen != nullptr && chosen->where == place_of(storage_->found, path)) {
    return path;
  }
  if (catalog_ == nullptr) {
    SLUICE_TRY(catalog_, open_catalog(options_.catalog, Catalog::Mode::write));
  }
  SLUICE_TRY(const Placed placed, place_new(*catalog_, storage_->found, plan, path));
  return placed.target;
}

Result<std::string> Session::path_to_open(const std::string& path, const Intent& said, bool creates) {
  const std::string whole = absolute(path, current_folder());
  const std::lock_guard guard(mutex_);
  for (int i = 0; i < most_tries; ++i) {
    const There there = look_at(whole);
    if (!there.target.empty()) {
      return there.target;
    }
    if (there.exists || !creates || path.empty() || path.ends_with('/')) {
      return path;
    }
    Result<std::string> out = place(whole, said);
    if (out) {
      return *out == whole ? path : *out;
    }
    if (out.error().number == EEXIST || out.error().number == EAGAIN) {
      usleep(1000);  // another was faster
      continue;
    }
    if (strict_) {
      return out;
    }
    tell_once(out.error());
    return path;
  }
  return path;
}

void Session::tell_once(const Error& error) {
  if (!std::exchange(told_, true)) {
    log::warn("{}; the path is used as it is, and so are others for which the same holds", error.text());
  }
}

}  // namespace sluice
