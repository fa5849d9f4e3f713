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
#include <memory>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "intent/attribute.h"
#include "placing/place.h"
#include "placing/spot.h"
#include "plan/json.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds lasting(60);
constexpr std::chrono::seconds longest_fork(2);
constexpr int most_tries = 100;  // somebody else places the same file, or takes it away again

constexpr Option option_strict = {.name = "strict-constraints",
                                  .type = OptionType::flag,
                                  .help = "an open fails where no place keeps the constraints",
                                  .setting = true};

// Never destroyed: threads may be at it while the process ends.
std::atomic<Session*> current = nullptr;

thread_local bool has_turn = false;  // or waits for it: what forks then is a handler of a signal
thread_local bool forks = false;     // has the turn in order to fork

// Before any thread can have begun.
[[maybe_unused]] const int told_of_forks =
    pthread_atfork(Session::before_fork, Session::after_fork_in_parent, Session::after_fork_in_child);

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

void Turn::lock() {
  has_turn = true;
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [this] { return !taken_ && forks_ == 0; });
  taken_ = true;
}

void Turn::unlock() {
  {
    const std::lock_guard guard(mutex_);
    taken_ = stuck_ = false;
  }
  changed_.notify_all();
  has_turn = false;
}

bool Turn::lock_for_fork() {
  if (has_turn) {
    return false;
  }
  std::unique_lock guard(mutex_);
  ++forks_;
  const bool free = changed_.wait_for(guard, longest_fork, [this] { return !taken_ || stuck_; }) && !taken_;
  --forks_;
  (free ? taken_ : stuck_) = true;
  return free;
}

Session& Session::of_process() {
  Session* found = current;
  if (found == nullptr) {
    auto own = std::make_unique<Session>();
    if (current.compare_exchange_strong(found, own.get())) {
      found = own.release();
    }
  }
  return *found;
}

void Session::before_fork() {
  Session* parent = current;
  forks = parent != nullptr && parent->turn_.lock_for_fork();
}

void Session::after_fork_in_parent() {
  if (std::exchange(forks, false)) {
    current.load()->turn_.unlock();
  }
}

void Session::after_fork_in_child() {
  const Session* parent = current;
  const bool whole = std::exchange(forks, false);
  if (parent == nullptr) {
    return;
  }
  auto* child = new Session;
  child->parent_ = parent;
  child->cut_off_ = parent->cut_off_ || !whole;
  if (whole) {
    child->declared_ = parent->declared_;
  }
  current = child;
}

void Session::declare(const std::string& path, Intent intent) {
  std::string whole = absolute(path, current_folder()) + (path.ends_with('/') ? "/" : "");
  const std::lock_guard guard(turn_);
  declared_[std::move(whole)] = std::move(intent);
}

const char* Session::keep(const std::string& path) {
  const std::lock_guard guard(turn_);
  return kept_.insert(path).first->c_str();
}

Status Session::begin() {
  if (begun_) {
    return {};
  }
  SLUICE_TRY(config_, Config::load(environment("SLUICE_CONFIG")));
  for (const std::string& warning : config_.warnings()) {
    log::warn("{}", warning);
  }
  static constexpr std::array rows = {&option_timeout, &option_catalog, &option_corrections, &option_rules,
                                      &option_strict};
  SLUICE_TRY(const Options options, Options::parse(rows, {}, config_));
  options_ = {.discover = {.system = {}, .timeout = options.duration("timeout"), .progress = {}},
              .catalog = options.text("catalog"),
              .remember = false,
              .profiles = true,
              .corrections = options.text("corrections") == "on"};
  strict_ = options.flag("strict-constraints");
  rules_ = {};
  for (const Options::Value& file : options.all("rules")) {
    SLUICE_CHECK(rules_.load(file.text));
  }
  begun_ = true;
  return {};
}

bool Session::is_stale() {
  return mounts_changed() || !storage_ || std::chrono::steady_clock::now() - looked_ > lasting;
}

bool Session::mounts_changed() {
  struct stat now {};
  if (mounts_ >= 0 &&
      (fstat(mounts_, &now) != 0 || now.st_dev != mounts_file_.st_dev || now.st_ino != mounts_file_.st_ino)) {
    mounts_ = -1;
    return true;
  }
  pollfd one{.fd = mounts_, .events = POLLPRI, .revents = 0};
  return poll(&one, 1, 0) > 0;
}

Status Session::look_at_storage() {
  if (cut_off_) {
    return fail("this process was forked while another thread of its parent was placing a file",
                "fork before, or exec a program");
  }
  if (!is_stale()) {
    look_at_space(storage_->found.places);
    return {};
  }
  // First: what changes while the storage is looked at is noticed the next time.
  if (mounts_ < 0) {
    mounts_ = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
    fstat(mounts_, &mounts_file_);
  }
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
  for (const auto& [declared, intent] : declared_) {
    if (declared == path || (declared.ends_with('/') && path.starts_with(declared))) {
      statements.push_back(
          {.intent = intent, .strength = Strength::api, .origin = "declared", .literals = declared.size()});
    }
  }
  return merge(std::move(statements)).intent;
}

Result<std::string> Session::plan(const std::string& path, const Intent& said) {
  const std::lock_guard guard(turn_);
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
  SLUICE_TRY(const auto catalog, open_catalog(options_.catalog, Catalog::Mode::write));
  SLUICE_TRY(const Placed placed, place_new(*catalog, storage_->found, plan, path));
  return placed.target;
}

Result<std::string> Session::path_to_open(const std::string& path, const Intent& said, bool creates) {
  const std::string whole = absolute(path, current_folder());
  const std::lock_guard guard(turn_);
  bool has_row = false;
  for (int i = 1;; ++i) {
    const There there = look_at(path);
    if (!there.target.empty()) {
      return there.target;
    }
    if (there.exists || !creates || path.empty() || path.ends_with('/') ||
        access(folder_of(path).c_str(), F_OK) != 0) {
      return path;
    }
    Result<std::string> out = place(whole, said);
    if (out) {
      return *out == whole ? path : *out;
    }
    // Another is at it, or was faster; a placement whose link was removed is EEXIST again and again.
    const int number = out.error().number;
    if (i < most_tries && (number == EAGAIN || (number == EEXIST && !std::exchange(has_row, true)))) {
      usleep(10'000);
      continue;
    }
    if (strict_) {
      return out;
    }
    tell_once(out.error());
    return path;
  }
}

void Session::tell_once(const Error& error) {
  if (!std::exchange(told_, true)) {
    log::warn("{}; the path is used as it is, and so are others for which the same holds", error.text());
  }
}

}  // namespace sluice
