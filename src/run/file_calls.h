// The system calls by which programs reach files, and the filter that stops a program at them.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class CallKind {
  open,
  read,
  write,
  copy,     // from one descriptor to another
  splice,   // the same by a pipe
  map,      // memory that is shared with a file and can be written
  ring,     // io_uring: requests that are submitted
  ring_up,  // and a ring that is made
  batch,    // io_submit
  mark,     // what the stage `mark` says
};

struct FileCall {
  long number = 0;
  CallKind kind = CallKind::read;
  int descriptor = -1;  // which argument it is; of a copy, what is written
  int source = -1;      // of a copy
  int flags = -1;       // which argument must be 0 for the stages to see it
};

// Null where a number is none of them.
const FileCall* file_call(std::uint64_t number);

// For SECCOMP_SET_MODE_FILTER: those calls, and of seeks and mappings those that matter, are for a tracer.
std::vector<sock_filter> file_call_filter();

// Whether a ring with these parameters, in a thread's memory, takes requests without any call.
bool polls_by_itself(pid_t thread, std::uint64_t parameters);
// The path of a descriptor of a process that is a regular file and storage; "" for everything else.
std::string storage_file(pid_t process, int fd);

}  // namespace sluice
