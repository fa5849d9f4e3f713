// The volume as a plug-in of nbdkit, for virtual machines and remote clients:
//
//   nbdkit nbdkit-sluice-plugin.so NAME [volumes=DIR]
//
// The engine runs on a thread of its own, with the volume's control socket, so `sluice volume stat` and its
// kin work as they do for a volume that is a file. nbdkit's threads hand requests over and wait. TLS, limits
// and filters are nbdkit's.
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>
#include <sys/eventfd.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "fronts/volume/server.h"
#include "service/memory.h"
#include "tier/blocking.h"

namespace sluice::volume {
namespace {

constexpr std::size_t largest_request = 32 << 20;

std::string volume_name;
std::string volumes;

// One request of one of nbdkit's threads. Its buffer is aligned, which nbdkit's is not.
struct Waiting {
  tier::Request request{};
  bool done = false;
};

class Engine {
 public:
  // Returns when the volume can be used, or an error.
  Status start(const std::string& folder, const std::string& name) {
    folder_ = std::make_unique<VolumeFolder>(folder, name);
    wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_) {
      return Errno().fail("cannot make an eventfd");
    }
    thread_ = std::thread([this] { run(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_ || ended_; });
    return ready_ ? Status() : result_;
  }

  void stop() {
    if (!thread_.joinable()) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
    if (!result_) {
      nbdkit_error("%s", result_.error().text().c_str());
    }
  }

  // 0 or errno.
  int perform(Waiting& waiting) {
    std::unique_lock lock(mutex_);
    if (ended_) {
      return ESHUTDOWN;
    }
    waiting.request.owner = &waiting;
    waiting.request.done = [](tier::Request& request) { static_cast<Waiting*>(request.owner)->done = true; };
    new_.push_back(&waiting);
    lock.unlock();
    wake();
    lock.lock();
    changed_.wait(lock, [&] { return waiting.done || ended_; });
    return waiting.done ? waiting.request.error : ESHUTDOWN;
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t done = sys().write(wake_.get(), &one, sizeof one);
  }

  void run() {
    Status result = serve();
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    ended_ = true;
    changed_.notify_all();
  }

  Status serve() {
    SLUICE_TRY(const UniqueFd lock, lock_volume(*folder_));
    SLUICE_TRY(const UniqueFd claim, folder_->claim());
    SLUICE_TRY(service::Reactor reactor, service::Reactor::create());
    SLUICE_TRY(const auto server, VolumeServer::open(*folder_, reactor));
    for (const std::string& warning : service::never_wait_for_memory()) {
      nbdkit_debug("%s", warning.c_str());
    }
    size_ = server->engine().size();
    SLUICE_CHECK(reactor.watch(wake_.get(), [this] {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = sys().read(wake_.get(), &count, sizeof count);
    }));
    {
      const std::lock_guard guard(mutex_);
      ready_ = true;
      changed_.notify_all();
    }
    std::vector<Waiting*> taken;
    const Status ran = reactor.run([&](service::Instant now) {
      {
        const std::lock_guard guard(mutex_);
        taken.swap(new_);
        if (stopping_) {
          reactor.stop();
        }
      }
      // Completions happen on this thread; those who wait look under the mutex.
      std::unique_lock guard(mutex_);
      for (Waiting* const waiting : taken) {
        server->engine().submit(waiting->request, now);
      }
      taken.clear();
      const service::Instant next = server->advance(now);
      changed_.notify_all();
      return next;
    });
    const Status closed = server->close();
    return ran ? closed : ran;
  }

  std::unique_ptr<VolumeFolder> folder_;
  UniqueFd wake_;
  std::thread thread_;
  std::mutex mutex_;  // of what follows, and of Waiting::done
  std::condition_variable changed_;
  std::vector<Waiting*> new_;
  bool ready_ = false;
  bool stopping_ = false;
  bool ended_ = false;
  Status result_;
  std::uint64_t size_ = 0;
};

Engine& engine() {
  static Engine out;
  return out;
}

int transfer(tier::Op op, void* data, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  // A buffer for each of nbdkit's threads, kept.
  thread_local tier::Buffer buffer;
  const bool moves = op == tier::Op::read || op == tier::Op::write;
  if (moves && buffer.size() < count) {
    buffer = tier::Buffer(count);
  }
  Waiting waiting;
  waiting.request.op = op;
  waiting.request.fua = (flags & NBDKIT_FLAG_FUA) != 0;
  waiting.request.offset = offset;
  waiting.request.length = count;
  waiting.request.data = buffer.data();
  if (op == tier::Op::write) {
    std::memcpy(buffer.data(), data, count);
  }
  if (const int error = engine().perform(waiting); error != 0) {
    nbdkit_set_error(error);
    return -1;
  }
  if (op == tier::Op::read) {
    std::memcpy(data, buffer.data(), count);
  }
  return 0;
}

int config(const char* key, const char* value) {
  if (std::strcmp(key, "volume") == 0) {
    volume_name = value;
  } else if (std::strcmp(key, "volumes") == 0) {
    volumes = absolute(value, current_folder());
  } else {
    nbdkit_error("unknown parameter '%s'", key);
    return -1;
  }
  return 0;
}

int config_complete() {
  if (volume_name.empty()) {
    nbdkit_error("which volume? give its name");
    return -1;
  }
  if (volumes.empty()) {
    volumes = default_volumes_folder();
  }
  return 0;
}

int after_fork() {
  if (const Status started = engine().start(volumes, volume_name); !started) {
    nbdkit_error("%s", started.error().text().c_str());
    return -1;
  }
  return 0;
}

nbdkit_plugin make_plugin() {
  nbdkit_plugin out{};
  out.name = "sluice";
  out.longname = "Sluice volumes";
  out.description = "a volume of Sluice, over several kinds of storage";
  out.config = config;
  out.config_complete = config_complete;
  out.config_help = "[volume=]NAME   the volume\nvolumes=DIR     where volumes are described";
  out.magic_config_key = "volume";
  out.after_fork = after_fork;
  out.cleanup = [] { engine().stop(); };
  out.open = [](int) -> void* { return NBDKIT_HANDLE_NOT_NEEDED; };
  out.get_size = [](void*) { return static_cast<std::int64_t>(engine().size()); };
  out.block_size = [](void*, std::uint32_t* minimum, std::uint32_t* preferred, std::uint32_t* maximum) {
    *minimum = *preferred = tier::block_size;
    *maximum = largest_request;
    return 0;
  };
  out.can_multi_conn = [](void*) { return 1; };
  out.can_fua = [](void*) { return NBDKIT_FUA_NATIVE; };
  out.can_fast_zero = [](void*) { return 1; };
  out.pread = [](void*, void* data, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
    return transfer(tier::Op::read, data, count, offset, flags);
  };
  out.pwrite = [](void*, const void* data, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
    return transfer(tier::Op::write, const_cast<void*>(data), count, offset, flags);
  };
  out.zero = [](void*, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
    return transfer(tier::Op::zero, nullptr, count, offset, flags);
  };
  out.trim = out.zero;
  out.flush = [](void*, std::uint32_t) { return transfer(tier::Op::flush, nullptr, 0, 0, 0); };
  return out;
}

nbdkit_plugin plugin = make_plugin();

}  // namespace
}  // namespace sluice::volume

// As NBDKIT_REGISTER_PLUGIN has it, which names no namespace.
extern "C" __attribute__((visibility("default"))) nbdkit_plugin* plugin_init() {
  nbdkit_plugin& plugin = sluice::volume::plugin;
  plugin._struct_size = sizeof plugin;
  plugin._api_version = NBDKIT_API_VERSION;
  plugin._thread_model = NBDKIT_THREAD_MODEL_PARALLEL;
  return &plugin;
}
