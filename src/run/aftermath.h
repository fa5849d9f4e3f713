// When a program has ended and processes that it left behind go on, somebody waits for them: says so, and
// learns from a signal that it has waited enough.
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>

namespace sluice {

// REQUIRES: one at a time. From begin() on, waitpid() comes back with EINTR about once a second.
class Aftermath {
 public:
  Aftermath() = default;
  Aftermath(const Aftermath&) = delete;
  Aftermath& operator=(const Aftermath&) = delete;
  ~Aftermath();

  void begin();
  // Says once, a second after begin(), that so many are left.
  void tell(std::size_t processes);
  [[nodiscard]] bool is_to_end() const;

 private:
  static constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};

  bool begun_ = false;
  bool told_ = false;
  std::array<struct sigaction, signals.size()> before_ = {};
};

}  // namespace sluice
