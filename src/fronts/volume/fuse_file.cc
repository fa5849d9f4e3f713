#include "fronts/volume/fuse_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "fronts/volume/server.h"
#include "fuse/session.h"
#include "service/memory.h"
#include "tier/blocking.h"

namespace sluice::volume {
namespace {

using service::Instant;
using service::monotonic_now;

constexpr unsigned largest_request = 1U << 20;
constexpr std::size_t most_requests = 64;

class FuseFile {
 public:
  FuseFile(service::Reactor& reactor, VolumeServer& server)
      : reactor_(reactor), server_(server), memory_(most_requests * slot_size), slots_(most_requests) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      // So that the data of a write, which lies behind the kernel's headers, is aligned.
      slots_[i].memory = memory_.data() + i * slot_size + tier::block_size - FuseSession::write_data_at;
      slots_[i].data = memory_.data() + i * slot_size + tier::block_size;
      slots_[i].file = this;
      slots_[i].next = free_;
      free_ = &slots_[i];
    }
  }

  Status run(const VolumeFolder& folder, const service::Ready& ready);

 private:
  static constexpr std::size_t slot_size = FuseSession::receive_size + tier::block_size;
  struct Slot {
    std::byte* memory = nullptr;
    std::byte* data = nullptr;
    tier::Request request{};
    fuse_req_t reply = nullptr;
    FuseFile* file = nullptr;
    Slot* next = nullptr;
  };

  static FuseFile& of(fuse_req_t request) { return *static_cast<FuseFile*>(fuse_req_userdata(request)); }
  static const fuse_lowlevel_ops& operations();
  void attributes(fuse_req_t request) const;
  void submit(fuse_req_t request, tier::Op op, std::uint64_t offset, std::uint64_t length);
  void done(Slot& slot);
  void take_requests();

  service::Reactor& reactor_;
  VolumeServer& server_;
  std::unique_ptr<FuseSession> session_;
  tier::Buffer memory_;
  std::vector<Slot> slots_;
  Slot* free_ = nullptr;
  Slot* current_ = nullptr;  // that is being received; null when its request was submitted
  std::size_t open_ = 0;
  bool paused_ = false;
  time_t started_ = time(nullptr);
};

void FuseFile::attributes(fuse_req_t request) const {
  struct stat out {};
  out.st_ino = FUSE_ROOT_ID;
  out.st_mode = S_IFREG | 0600;
  out.st_nlink = 1;
  out.st_uid = geteuid();
  out.st_gid = getegid();
  out.st_size = static_cast<off_t>(server_.engine().size());
  out.st_blocks = out.st_size / 512;
  out.st_blksize = tier::block_size;
  out.st_atime = out.st_mtime = out.st_ctime = started_;
  fuse_reply_attr(request, &out, 0);
}

const fuse_lowlevel_ops& FuseFile::operations() {
  static const fuse_lowlevel_ops out = [] {
    fuse_lowlevel_ops ops{};
    ops.init = [](void*, fuse_conn_info* connection) {
      connection->want &=
          ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                                 FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE);
      connection->want |= connection->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ);
      connection->max_read = largest_request;
      connection->max_write = largest_request;
      connection->max_background = 4 * most_requests;
      connection->congestion_threshold = 4 * most_requests;
    };
    ops.getattr = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) { of(request).attributes(request); };
    ops.setattr = [](fuse_req_t request, fuse_ino_t, struct stat*, int what, fuse_file_info*) {
      const int refused = FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
      (what & refused) != 0 ? void(fuse_reply_err(request, EPERM)) : of(request).attributes(request);
    };
    // The loop driver asks for it before it believes in discards.
    ops.statfs = [](fuse_req_t request, fuse_ino_t) {
      struct statvfs reply {};
      reply.f_bsize = reply.f_frsize = tier::block_size;
      reply.f_blocks = of(request).server_.engine().size() / tier::block_size;
      fuse_reply_statfs(request, &reply);
    };
    // libfuse 3.14 does not know parallel direct writes, so the reply is put together here.
    ops.open = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) {
      fuse_open_out reply{};
      reply.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
      fuse_reply_buf(request, reinterpret_cast<const char*>(&reply), sizeof reply);
    };
    ops.read = [](fuse_req_t request, fuse_ino_t, std::size_t length, off_t offset, fuse_file_info*) {
      const std::uint64_t size = of(request).server_.engine().size();
      const auto at = static_cast<std::uint64_t>(offset);
      if (at >= size) {
        fuse_reply_buf(request, nullptr, 0);
        return;
      }
      of(request).submit(request, tier::Op::read, at, std::min<std::uint64_t>(length, size - at));
    };
    ops.write = [](fuse_req_t request, fuse_ino_t, const char*, std::size_t length, off_t offset,
                   fuse_file_info*) {
      of(request).submit(request, tier::Op::write, static_cast<std::uint64_t>(offset), length);
    };
    ops.fsync = [](fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
      of(request).submit(request, tier::Op::flush, 0, 0);
    };
    ops.fallocate = [](fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
                       fuse_file_info*) {
      if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) {
        fuse_reply_err(request, EOPNOTSUPP);
      } else {
        of(request).submit(request, tier::Op::zero, static_cast<std::uint64_t>(offset),
                           static_cast<std::uint64_t>(length));
      }
    };
    return ops;
  }();
  return out;
}

void FuseFile::submit(fuse_req_t request, tier::Op op, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t size = server_.engine().size();
  if (offset > size || length > size - offset) {
    fuse_reply_err(request, ENOSPC);
    return;
  }
  if ((offset | length) % tier::block_size != 0) {
    fuse_reply_err(request, EINVAL);  // the loop device has sectors of 4 KiB
    return;
  }
  Slot& slot = *std::exchange(current_, nullptr);
  slot.reply = request;
  slot.request = {};
  slot.request.op = op;
  slot.request.offset = offset;
  slot.request.length = length;
  slot.request.data = slot.data;
  slot.request.owner = &slot;
  slot.request.done = [](tier::Request& it) {
    auto& own = *static_cast<Slot*>(it.owner);
    own.file->done(own);
  };
  ++open_;
  server_.engine().submit(slot.request, monotonic_now());
}

void FuseFile::done(Slot& slot) {
  const tier::Request& request = slot.request;
  if (request.error != 0 || request.op == tier::Op::flush || request.op == tier::Op::zero) {
    fuse_reply_err(slot.reply, request.error);
  } else if (request.op == tier::Op::write) {
    fuse_reply_write(slot.reply, request.length);
  } else {
    fuse_reply_buf(slot.reply, reinterpret_cast<const char*>(slot.data), request.length);
  }
  --open_;
  slot.next = free_;
  free_ = &slot;
  if (std::exchange(paused_, false)) {
    [[maybe_unused]] const Status watched = reactor_.watch(session_->fd(), [this] { take_requests(); });
  }
}

void FuseFile::take_requests() {
  constexpr int at_once = 32;
  for (int i = 0; i < at_once && free_ != nullptr; ++i) {
    Slot& slot = *free_;
    free_ = slot.next;
    current_ = &slot;
    const FuseSession::Got got = session_->receive(slot.memory);
    if (current_ != nullptr) {  // nothing of it was submitted
      slot.next = free_;
      free_ = &slot;
      current_ = nullptr;
    }
    if (got == FuseSession::Got::end) {
      reactor_.stop();
    }
    if (got != FuseSession::Got::request) {
      return;
    }
  }
  // The kernel keeps what there is no room for.
  if (free_ == nullptr) {
    paused_ = true;
    reactor_.forget(session_->fd());
  }
}

Status FuseFile::run(const VolumeFolder& folder, const service::Ready& ready) {
  const std::string file = folder.disk();
  const UniqueFd point(sys().open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!point) {
    return Errno().fail(fmt::format("cannot create {}", quote(file)));
  }
  std::string options = fmt::format("fsname=sluice-volume-{},subtype=sluice-volume,max_read={}",
                                    folder.name(), largest_request);
  options += geteuid() == 0 ? ",allow_other,default_permissions" : "";
  SLUICE_TRY(session_, FuseSession::mount(operations(), this, file, options));
  SLUICE_CHECK(reactor_.watch(session_->fd(), [this] { take_requests(); }));
  ready();
  const Status ran = reactor_.run([this](Instant now) { return server_.advance(now); });
  // What the kernel has sent is answered.
  const Instant until = monotonic_now() + std::chrono::seconds(30);
  while (open_ > 0 && monotonic_now() < until) {
    server_.advance(monotonic_now());
    usleep(50);
  }
  session_.reset();
  return ran;
}

}  // namespace

Status serve_file(const VolumeFolder& folder, const service::Ready& ready) {
  SLUICE_TRY(service::Reactor reactor, service::Reactor::create());
  SLUICE_TRY(const auto server, VolumeServer::open(folder, reactor));
  for (const std::string& warning : service::never_wait_for_memory()) {
    log::warn("{}", warning);
  }
  Status ran;
  {
    FuseFile file(reactor, *server);
    ran = file.run(folder, ready);
  }
  const Status closed = server->close();
  return ran ? closed : ran;
}

}  // namespace sluice::volume
