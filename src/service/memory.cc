#include "service/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/result.h"
#include "base/sys.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

namespace sluice::service {

std::vector<std::string> never_wait_for_memory() {
  std::vector<std::string> out;
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) {
    out.push_back(Errno().fail("its memory cannot be locked").text() + "; be root, or raise ulimit -l");
  }
  if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) != 0) {
    out.push_back(Errno().fail("it cannot become an I/O flusher").text() + "; that takes CAP_SYS_RESOURCE");
  }
  // The one process that must not be killed when memory is short.
  if (const UniqueFd fd(sys().open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0)); fd) {
    [[maybe_unused]] const ssize_t done = sys().write(fd.get(), "-1000", 5);
  }
  setpriority(PRIO_PROCESS, 0, -20);
  return out;
}

}  // namespace sluice::service
