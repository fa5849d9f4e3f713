// One FUSE session: mounted, served request by request from whatever loop its owner has, unmounted at the
// end. The lab serves devices by it. libfuse's low-level interface does the protocol.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

namespace sluice {

class FuseSession {
 public:
  // Mounts on a folder, or over a regular file, whose place the root inode then takes. `options` are those of
  // mount -o; `data` comes back from fuse_req_userdata(). An error says what is missing.
  static Result<std::unique_ptr<FuseSession>> mount(const fuse_lowlevel_ops& operations, void* data,
                                                    const std::string& point, const std::string& options);
  ~FuseSession();  // unmounts
  FuseSession(const FuseSession&) = delete;
  FuseSession& operator=(const FuseSession&) = delete;

  // Readable when a request is there. Never blocks.
  [[nodiscard]] int fd() const;
  enum class Got { request, nothing, end };
  // Takes one request and calls its operation. `end`: somebody unmounted it.
  Got receive();
  // The same into memory of the caller's, which the operation may keep until it has replied.
  // REQUIRES: receive_size bytes.
  Got receive(void* memory);
  static constexpr std::size_t receive_size = (std::size_t{1} << 20) + 8192;
  // In it the data of a write begins here.
  static constexpr std::size_t write_data_at = 80;
  // Keeps the descriptor and the mount from a child that was forked. REQUIRES: in that child.
  void abandon();

 private:
  FuseSession() = default;
  Got receive_into(fuse_buf& buffer);

  fuse_session* session_ = nullptr;
  fuse_buf buffer_{};
};

}  // namespace sluice
