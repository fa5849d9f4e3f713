// The memory of a script, and the side of it that feeds. From one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/sys.h"
#include "replay/feed.h"

namespace sluice {

class ScriptPool : public StepSink {
 public:
  // `go_on` is asked several times a second while there is no free chunk.
  static Result<ScriptPool> make(std::uint32_t strands, std::function<Status()> go_on);
  ScriptPool(ScriptPool&& other) noexcept;
  ScriptPool(const ScriptPool&) = delete;
  ScriptPool& operator=(const ScriptPool&) = delete;
  ScriptPool& operator=(ScriptPool&&) = delete;
  ~ScriptPool() override;

  [[nodiscard]] Script& script() const { return *script_; }
  // By which another process finds the memory.
  [[nodiscard]] std::string path() const;
  // Called once, before the first wait for a free chunk: it takes somebody who empties them.
  void when_full(std::function<Status()> start) { start_ = std::move(start); }

  Status put(std::uint32_t strand, Step step, const std::string& path) override;

 private:
  ScriptPool(UniqueFd fd, Script* script, std::size_t bytes, std::function<Status()> go_on);
  Result<std::uint32_t> take_chunk();
  Status next_chunk(std::uint32_t strand);

  UniqueFd fd_;
  Script* script_ = nullptr;
  std::size_t bytes_ = 0;
  std::function<Status()> go_on_;
  std::function<Status()> start_;
  std::vector<std::uint32_t> last_;  // chunk by strand
  std::vector<std::uint32_t> free_;
};

}  // namespace sluice
