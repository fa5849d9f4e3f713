// Writes a trace. From one thread.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/sys.h"
#include "trace/format.h"

namespace sluice {

class TraceWriter {
 public:
  // Makes the file; one that is there already is EEXIST.
  static Result<TraceWriter> create(const std::string& path);

  // What is being traced, first of all.
  Status begin(const Json& about);
  // The number of a path; the same for the same one.
  std::uint32_t number_of(std::string_view path);
  // Events of one thread come in the order in which they ended.
  Status add(const TraceEvent& event);
  // Puts down all that was added.
  Status flush();
  // Puts down the rest. `end` is told of the whole.
  Status finish(const Json& end);

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  TraceWriter(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Status put_block(TraceBlock block, std::string_view raw);
  Status put_paths();
  Status put_events(std::vector<TraceEvent>& events);

  std::string path_;
  UniqueFd fd_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> new_paths_;
  using Waiting = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TraceEvent>>;
  Waiting waiting_;                      // by process and thread
  Waiting::value_type* last_ = nullptr;  // of them, that grew
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_{ZSTD_createCCtx()};
  std::string packed_;
  std::uint64_t bytes_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace sluice
