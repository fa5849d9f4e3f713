#include "fuse/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/subprocess.h"
#include "base/sys.h"
#include "base/text.h"

namespace sluice {
namespace {

Error cannot_mount(const std::string& point) {
  std::string advice = "see the messages above";
  if (sys().access("/dev/fuse", F_OK) != 0) {
    advice = "this kernel has no /dev/fuse";
  } else if (sys().access("/dev/fuse", R_OK | W_OK) != 0) {
    advice = "/dev/fuse may not be opened: be root, or have its mode set to 0666 as most systems do";
  } else if (geteuid() != 0 && find_tool("fusermount3").empty()) {
    advice = "without root this needs fusermount3: " + install_advice("fusermount3");
  } else if (geteuid() != 0) {
    advice =
        "fusermount3 may not mount here: it must be set-uid root, and a container without privileges or "
        "no_new_privs takes that away; be root";
  }
  return fail(fmt::format("cannot mount {}", quote(point)), advice);
}

}  // namespace

Result<std::unique_ptr<FuseSession>> FuseSession::mount(const fuse_lowlevel_ops& operations, void* data,
                                                        const std::string& point,
                                                        const std::string& options) {
  std::unique_ptr<FuseSession> out(new FuseSession());
  std::vector<std::string> words = {"sluice", "-o", options};
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  out->session_ = fuse_session_new(&arguments, &operations, sizeof operations, data);
  fuse_opt_free_args(&arguments);
  if (out->session_ == nullptr) {
    return fail(fmt::format("FUSE does not take the options {}", quote(options)));
  }
  if (fuse_session_mount(out->session_, point.c_str()) != 0) {
    fuse_session_destroy(out->session_);
    out->session_ = nullptr;
    return cannot_mount(point);
  }
  const int flags = fcntl(out->fd(), F_GETFL);
  if (flags < 0 || fcntl(out->fd(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(out->fd(), F_SETFD, FD_CLOEXEC) != 0) {
    return Errno().fail("cannot set up /dev/fuse");
  }
  return out;
}

FuseSession::~FuseSession() {
  if (session_ != nullptr) {
    fuse_session_unmount(session_);
    fuse_session_destroy(session_);
  }
  std::free(buffer_.mem);
}

int FuseSession::fd() const {
  return fuse_session_fd(session_);
}

FuseSession::Got FuseSession::receive() {
  return receive_into(buffer_);
}

FuseSession::Got FuseSession::receive(void* memory) {
  fuse_buf buffer{};
  buffer.mem = memory;
  return receive_into(buffer);
}

FuseSession::Got FuseSession::receive_into(fuse_buf& buffer) {
  const int got = fuse_session_receive_buf(session_, &buffer);
  if (got == -EAGAIN || got == -EINTR) {
    return Got::nothing;
  }
  if (got <= 0) {
    return Got::end;
  }
  fuse_session_process_buf(session_, &buffer);
  return fuse_session_exited(session_) != 0 ? Got::end : Got::request;
}

void FuseSession::abandon() {
  close(fd());
  session_ = nullptr;
}

}  // namespace sluice
