#include "tier/nbd_device.h"

#include <fmt/format.h>

#include "base/text.h"

#ifdef SLUICE_HAVE_LIBNBD

#include <libnbd.h>

#include <cerrno>
#include <deque>

#include "base/clock.h"
#include "tier/scheduler.h"

namespace sluice::tier {
namespace {

constexpr double seconds_between_attempts = 2;
// Servers refuse more.
constexpr std::uint64_t largest_request = 32 << 20;

class Connection : public NbdDevice {
 public:
  Connection(std::string uri, bool look_only) : uri_(std::move(uri)), look_only_(look_only) {}
  ~Connection() override { nbd_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status connect();

  void submit(Io& io) override;
  void kick() override {}
  void poll() override;
  void wait() override;
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] int fd() const override { return handle_ == nullptr ? -1 : nbd_aio_get_fd(handle_); }
  [[nodiscard]] bool connected() const override {
    return handle_ != nullptr && nbd_aio_is_ready(handle_) + nbd_aio_is_processing(handle_) > 0;
  }

 private:
  static int finished(void* data, int* error);
  void send(Io& io);
  void reconnect();

  std::string uri_;
  bool look_only_;
  nbd_handle* handle_ = nullptr;
  std::uint64_t size_ = 0;
  unsigned under_way_ = 0;
  IoList failed_;  // fail at the next poll()
  double next_attempt_ = 0;
  bool can_flush_ = false;
};

Error nbd_error(const std::string& uri) {
  const int number = nbd_get_errno();
  const char* const text = nbd_get_error();
  return number != 0 ? fail(number, fmt::format("cannot use {}", quote(uri)))
                     : fail(fmt::format("cannot use {}: {}", quote(uri), text == nullptr ? "" : text));
}

nbd_handle* new_handle() {
  nbd_handle* const out = nbd_create();
  if (out != nullptr) {
    nbd_set_uri_allow_local_file(out, true);
  }
  return out;
}

Status Connection::connect() {
  handle_ = new_handle();
  if (handle_ == nullptr || nbd_aio_connect_uri(handle_, uri_.c_str()) != 0) {
    return nbd_error(uri_);
  }
  const double until = steady_seconds() + 10;
  while (nbd_aio_is_ready(handle_) == 0) {
    if (nbd_aio_is_dead(handle_) != 0 || nbd_aio_is_closed(handle_) != 0 || nbd_poll(handle_, 500) < 0) {
      return nbd_error(uri_);
    }
    if (steady_seconds() > until) {
      return fail(ETIMEDOUT, fmt::format("cannot connect to {}", quote(uri_)));
    }
  }
  const std::int64_t size = nbd_get_size(handle_);
  if (size < 0) {
    return nbd_error(uri_);
  }
  size_ = static_cast<std::uint64_t>(size);
  if (!look_only_ && nbd_is_read_only(handle_) != 0) {
    return fail(EROFS, fmt::format("cannot write to {}", quote(uri_)));
  }
  can_flush_ = nbd_can_flush(handle_) > 0;
  if (!look_only_ && nbd_can_zero(handle_) <= 0) {
    return fail(EOPNOTSUPP, fmt::format("{} cannot write zeroes", quote(uri_)));
  }
  const std::int64_t smallest = nbd_get_block_size(handle_, LIBNBD_SIZE_MINIMUM);
  if (smallest > static_cast<std::int64_t>(block_size)) {
    return fail(fmt::format("{} takes requests of {} bytes at least", quote(uri_), smallest),
                "a tier needs 4096 or less");
  }
  return {};
}

// The size and the abilities are those of the first connection; a server that comes back smaller fails
// requests.
void Connection::reconnect() {
  const double now = steady_seconds();
  if (now < next_attempt_ || under_way_ > 0) {
    return;
  }
  next_attempt_ = now + seconds_between_attempts;
  nbd_close(handle_);
  handle_ = new_handle();
  if (handle_ != nullptr && nbd_aio_connect_uri(handle_, uri_.c_str()) != 0) {
    nbd_close(handle_);
    handle_ = nullptr;
  }
}

int Connection::finished(void* data, int* error) {
  Io& io = *static_cast<Io*>(data);
  auto& device = *static_cast<Connection*>(io.device);
  io.error = *error;
  --device.under_way_;
  io.done(io);
  return 1;  // the command may be forgotten
}

void Connection::send(Io& io) {
  const nbd_completion_callback callback{.callback = finished, .user_data = &io, .free = nullptr};
  std::int64_t sent = -1;
  io.device = this;
  switch (io.op) {
    case Op::read:
      sent = nbd_aio_pread(handle_, io.data, io.length, io.offset, callback, 0);
      break;
    case Op::write:
      sent = nbd_aio_pwrite(handle_, io.data, io.length, io.offset, callback, 0);
      break;
    case Op::zero:
      sent = nbd_aio_zero(handle_, io.length, io.offset, callback, LIBNBD_CMD_FLAG_NO_HOLE);
      break;
    case Op::flush:
      sent = nbd_aio_flush(handle_, callback, 0);
      break;
  }
  if (sent < 0) {
    failed_.push(io);
  } else {
    ++under_way_;
  }
}

void Connection::submit(Io& io) {
  const bool transfers = io.op == Op::read || io.op == Op::write;
  if (!connected() || (transfers && io.length > largest_request) || (io.op == Op::flush && !can_flush_)) {
    failed_.push(io);
    return;
  }
  send(io);
}

void Connection::poll() {
  while (Io* const io = failed_.pop()) {
    // A server that cannot flush has nothing to flush.
    const bool nothing_to_do = io->op == Op::flush && connected() && !can_flush_;
    io->error = nothing_to_do ? 0 : EIO;
    io->done(*io);
  }
  if (handle_ == nullptr || nbd_aio_is_dead(handle_) != 0 || nbd_aio_is_closed(handle_) != 0) {
    reconnect();
    return;
  }
  for (int turns = 0; turns < 64 && nbd_poll(handle_, 0) > 0; ++turns) {
  }
}

void Connection::wait() {
  if (under_way_ > 0 && handle_ != nullptr) {
    nbd_poll(handle_, 100);
  }
}

}  // namespace

Result<std::unique_ptr<NbdDevice>> NbdDevice::open(const std::string& uri, bool look_only) {
  auto out = std::make_unique<Connection>(uri, look_only);
  SLUICE_CHECK(out->connect());
  return std::unique_ptr<NbdDevice>(std::move(out));
}

}  // namespace sluice::tier

#else

namespace sluice::tier {

Result<std::unique_ptr<NbdDevice>> NbdDevice::open(const std::string& uri, bool) {
  return fail(fmt::format("cannot use {}: this Sluice was built without libnbd", quote(uri)),
              "install libnbd-dev and build again");
}

}  // namespace sluice::tier

#endif

namespace sluice::tier {

bool NbdDevice::is_uri(const std::string& path) {
  return path.rfind("nbd:", 0) == 0 || path.rfind("nbd+unix:", 0) == 0 || path.rfind("nbds:", 0) == 0 ||
         path.rfind("nbds+unix:", 0) == 0;
}

}  // namespace sluice::tier
