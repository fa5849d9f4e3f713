#include "lab/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/json.h"
#include "base/step.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "fuse/session.h"
#include "lab/calibrate.h"
#include "lab/device.h"
#include "lab/service.h"
#include "service/memory.h"

namespace sluice::lab {
namespace {

constexpr std::uint64_t largest_device = std::uint64_t{1} << 50;
constexpr unsigned most_background = 256;
constexpr unsigned largest_request = 1U << 20;

// More than that was never seen on a machine that had time for us.
constexpr Instant usual_overhead = std::chrono::microseconds(300);

class Server {
 public:
  Server(Reactor& reactor, Device& device, std::vector<std::string> warnings)
      : reactor_(reactor), device_(device), warnings_(std::move(warnings)) {}

  Status run(const Member& member, std::optional<Instant> overhead, const Ready& ready);

 private:
  static Server& of(fuse_req_t request) { return *static_cast<Server*>(fuse_req_userdata(request)); }
  static std::uint64_t id_of(fuse_req_t request) { return reinterpret_cast<std::uintptr_t>(request); }
  static const fuse_lowlevel_ops& operations();

  void attributes(fuse_req_t request) const;
  void take_requests();
  Instant advance(Instant now);
  void reply(Answer& answer);
  Status calibrate(const Member& member, const Ready& ready);
  Result<Json> command(std::string_view line);
  [[nodiscard]] bool within(off_t offset, std::size_t length) const {
    return offset >= 0 && static_cast<std::uint64_t>(offset) + length <= device_.size();
  }

  Reactor& reactor_;
  Device& device_;
  std::unique_ptr<FuseSession> session_;
  Answer answer_;
  UniqueFd calibration_;
  time_t started_ = time(nullptr);
  std::vector<std::string> warnings_;
  std::uint64_t answers_ = 0;
  double late_sum_ = 0;
  double late_most_ = 0;
};

void Server::attributes(fuse_req_t request) const {
  struct stat out {};
  out.st_ino = FUSE_ROOT_ID;
  out.st_mode = S_IFREG | 0600;
  out.st_nlink = 1;
  out.st_uid = geteuid();
  out.st_gid = getegid();
  out.st_size = static_cast<off_t>(device_.size());
  out.st_blocks = out.st_size / 512;
  out.st_blksize = block_size;
  out.st_atime = out.st_mtime = out.st_ctime = started_;
  fuse_reply_attr(request, &out, 3600);
}

const fuse_lowlevel_ops& Server::operations() {
  static const fuse_lowlevel_ops out = [] {
    fuse_lowlevel_ops ops{};
    ops.init = [](void*, fuse_conn_info* connection) {
      connection->want &=
          ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                                 FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE);
      connection->want |= connection->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ);
      connection->max_read = largest_request;
      connection->max_background = most_background;
      connection->congestion_threshold = most_background;
    };
    ops.getattr = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) { of(request).attributes(request); };
    // A device does not change its size, mode or owner; times do not matter.
    ops.setattr = [](fuse_req_t request, fuse_ino_t, struct stat*, int what, fuse_file_info*) {
      const int refused = FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
      (what & refused) != 0 ? void(fuse_reply_err(request, EPERM)) : of(request).attributes(request);
    };
    // libfuse 3.14 does not know parallel direct writes, so the reply is put together here.
    ops.open = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) {
      fuse_open_out reply{};
      reply.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
      fuse_reply_buf(request, reinterpret_cast<const char*>(&reply), sizeof reply);
    };
    ops.read = [](fuse_req_t request, fuse_ino_t, std::size_t length, off_t offset, fuse_file_info*) {
      Server& server = of(request);
      const auto at = static_cast<std::uint64_t>(offset);
      if (at >= server.device_.size()) {
        fuse_reply_buf(request, nullptr, 0);
        return;
      }
      server.device_.read(id_of(request), at, std::min<std::uint64_t>(length, server.device_.size() - at),
                          monotonic_now());
    };
    ops.write = [](fuse_req_t request, fuse_ino_t, const char* data, std::size_t length, off_t offset,
                   fuse_file_info*) {
      Server& server = of(request);
      if (!server.within(offset, length)) {
        fuse_reply_err(request, ENOSPC);
        return;
      }
      server.device_.write(id_of(request), static_cast<std::uint64_t>(offset),
                           {reinterpret_cast<const std::byte*>(data), length}, monotonic_now());
    };
    ops.fsync = [](fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
      of(request).device_.flush(id_of(request), monotonic_now());
    };
    ops.fallocate = [](fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
                       fuse_file_info*) {
      Server& server = of(request);
      // To write zeros is a write; the kernel does it by itself when we cannot.
      if ((mode & FALLOC_FL_PUNCH_HOLE) == 0) {
        fuse_reply_err(request, EOPNOTSUPP);
      } else if (length < 0 || !server.within(offset, static_cast<std::size_t>(length))) {
        fuse_reply_err(request, EINVAL);
      } else {
        server.device_.discard(id_of(request), static_cast<std::uint64_t>(offset),
                               static_cast<std::uint64_t>(length), monotonic_now());
      }
    };
    return ops;
  }();
  return out;
}

void Server::take_requests() {
  // Answers that become due meanwhile must not wait for a long row of requests.
  constexpr int at_once = 64;
  for (int i = 0; i < at_once; ++i) {
    const FuseSession::Got got = session_->receive();
    if (got == FuseSession::Got::end) {
      reactor_.stop();
    }
    if (got != FuseSession::Got::request) {
      return;
    }
    if (device_.next_event() <= monotonic_now()) {
      return;
    }
  }
}

Instant Server::advance(Instant now) {
  while (device_.next(now, answer_)) {
    reply(answer_);
    device_.recycle(std::move(answer_.data));
    answer_.data = {};
  }
  return device_.next_event();
}

void Server::reply(Answer& answer) {
  // How late the answer is, against what the model said; the time that the overhead stands for comes after.
  const double late = std::max(0.0, std::chrono::duration<double>(monotonic_now() - answer.due).count());
  ++answers_;
  late_sum_ += late;
  late_most_ = std::max(late_most_, late);
  auto* request = reinterpret_cast<fuse_req_t>(answer.id);
  if (answer.error != 0 || answer.op == Op::flush || answer.op == Op::discard) {
    fuse_reply_err(request, answer.error);
  } else if (answer.op == Op::write) {
    fuse_reply_write(request, answer.length);
  } else {
    fuse_reply_buf(request, reinterpret_cast<const char*>(answer.data.data()), answer.data.size());
  }
}

Result<Json> Server::command(std::string_view line) {
  if (calibration_) {
    return fail("the device is still starting", "try again in a moment");
  }
  SLUICE_TRY(Json out, device_.command(line, monotonic_now()));
  out["answers"] = answers_;
  out["late_mean"] = answers_ > 0 ? late_sum_ / static_cast<double>(answers_) : 0.0;
  out["late_most"] = late_most_;
  out["warnings"] = warnings_;
  return out;
}

// A child reads from the device as a user would, while it keeps 1 ms; what is more than that is overhead.
Status Server::calibrate(const Member& member, const Ready& ready) {
  const Model model = device_.model();
  Model fixed;
  fixed.read_latency = calibration_latency;
  SLUICE_CHECK(device_.set_model(fixed, monotonic_now()));
  SLUICE_TRY(calibration_, start_calibration(device_file(member), [this] { session_->abandon(); }));
  return reactor_.watch(calibration_.get(), [this, model, ready] {
    auto overhead = read_calibration(calibration_.get());
    reactor_.forget(calibration_.get());
    calibration_.reset();
    if (!overhead) {
      warnings_.push_back("latencies will be longer than asked: " + overhead.error().text());
    } else if (*overhead > usual_overhead) {
      warnings_.push_back(
          fmt::format("this machine is busy or slow: it adds {} to a request, of which {} are "
                      "taken off; start the device again when it is quiet",
                      human_duration(std::chrono::duration<double>(*overhead).count()),
                      human_duration(std::chrono::duration<double>(usual_overhead).count())));
      overhead = usual_overhead;
    }
    device_.set_overhead(overhead.value_or(Instant::zero()));
    if (const Status set = device_.set_model(model, monotonic_now()); !set) {
      warnings_.push_back(set.error().text());
    }
    device_.reset_counts();
    answers_ = 0;
    late_sum_ = late_most_ = 0;
    ready();
  });
}

Status Server::run(const Member& member, std::optional<Instant> overhead, const Ready& ready) {
  const std::string file = device_file(member);
  const UniqueFd point(sys().open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!point) {
    return Errno().fail(fmt::format("cannot create {}", quote(file)));
  }
  std::string options =
      fmt::format("fsname=sluice-lab-{},subtype=sluice-lab,max_read={}", member.name(), largest_request);
  options += geteuid() == 0 ? ",allow_other,default_permissions" : "";
  SLUICE_TRY(session_, FuseSession::mount(operations(), this, file, options));
  SLUICE_CHECK(reactor_.watch(session_->fd(), [this] { take_requests(); }));
  SLUICE_TRY(const auto control, ControlServer::listen(member, reactor_, [this](std::string_view line) {
               return command(line);
             }));
  if (overhead) {
    device_.set_overhead(*overhead);
    ready();
  } else {
    SLUICE_CHECK(calibrate(member, ready));
  }
  return reactor_.run([this](Instant now) { return advance(now); });
}

Status serve(const Member& member, const DeviceOptions& options, const Ready& ready) {
  SLUICE_TRY(auto store, options.backing.empty() ? memory_store(options.size)
                                                 : file_store(options.backing, options.size));
  SLUICE_TRY(auto platter, Platter::create(std::move(store), options.size));
  std::vector<std::string> warnings = service::never_wait_for_memory();
  Device device(options.model, std::move(platter));
  SLUICE_TRY(Reactor reactor, Reactor::create());
  Server server(reactor, device, std::move(warnings));
  return server.run(member, options.overhead, ready);
}

}  // namespace

Status check(const DeviceOptions& options) {
  SLUICE_CHECK(check_member_name(options.name));
  SLUICE_CHECK(check(options.model));
  if (options.size == 0 || options.size % block_size != 0 || options.size > largest_device) {
    return bad_input(fmt::format("a device cannot have {} bytes", options.size),
                     fmt::format("from 4K to {}, in multiples of 4K", print_size(largest_device)));
  }
  return {};
}

std::string device_file(const Member& member) {
  return member.file("disk");
}

Result<Json> device_status(const Member& member) {
  SLUICE_TRY(const Json status, ask(member, "status"));
  Json out = {{"name", member.name()}, {"pid", member.server()}};
  put_bytes(out, "file", device_file(member));
  put_bytes(out, "control", member.file("control"));
  out.update(status);
  return out;
}

Result<Json> start_device(const std::string& lab, UniqueFd& lock, const DeviceOptions& options) {
  SLUICE_CHECK(check(options));
  struct stat found {};
  const bool existed = !options.backing.empty() && sys().stat(options.backing.c_str(), &found) == 0;
  if (existed && options.remove_backing) {
    return fail(fmt::format("{} exists, and would be removed with the device", quote(options.backing)),
                "move it away, or choose another --backing");
  }
  const Member member(lab, options.name);
  SLUICE_CHECK(member.create("device"));
  step("device folder");
  if (!options.place.empty()) {
    SLUICE_CHECK(write_file(member.file("place"), options.place));
  }
  if (options.remove_backing && !options.backing.empty()) {
    SLUICE_CHECK(write_file(member.file("backing"), options.backing));
  }
  const auto body = [&](const Ready& ready) { return serve(member, options, ready); };
  Status started;
  if (options.foreground) {
    started = serve_here(member, lock, [&](const Ready& ready) {
      return serve(member, options, [&] {
        ready();
        options.announce();
      });
    });
  } else if (auto pid = start_server(member, lock, body); !pid) {
    started = std::move(pid).error();
  }
  if (!started) {
    [[maybe_unused]] const Status removed = remove_device(member);
    if (!existed && !options.backing.empty()) {
      sys().unlink(options.backing.c_str());
    }
    remove_if_empty(lab);
    return std::move(started).error();
  }
  if (options.foreground) {
    SLUICE_CHECK(remove_device(member));
    remove_if_empty(lab);
    return Json();
  }
  step("device served");
  return device_status(member);
}

Status remove_device(const Member& member) {
  SLUICE_CHECK(end_server(member));
  const std::string file = device_file(member);
  // Dead servers leave their mount behind.
  while (umount2(file.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (errno == EPERM) {
    [[maybe_unused]] const auto done = run_tool({"fusermount3", {"-u", "-z", "--", file}});
  }
  if (const auto backing = read_file(member.file("backing"), 65536)) {
    sys().unlink(backing->c_str());
  }
  return member.remove();
}

}  // namespace sluice::lab
