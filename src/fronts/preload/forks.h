// A fork copies the descriptors first and memory later, while other threads go on. A child whose table had a
// file that another thread opened in between would write what is kept back of it into whatever its own
// descriptor of that number is. So nothing comes into the table while a thread of this process forks.
#pragma once

namespace sluice::preload {

// For as long as it lives no fork begins, except in a signal's handler that comes into this thread.
class Entering {
 public:
  Entering();
  ~Entering();
  Entering(const Entering&) = delete;
  Entering& operator=(const Entering&) = delete;
};

// Before and after a fork: the first waits until nobody is entering, or a second: who was
// to leave may have jumped out of it (siglongjmp).
void begin_fork();
void end_fork();
// In the child, which has this thread alone.
void end_fork_in_child();

}  // namespace sluice::preload
