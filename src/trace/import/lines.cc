#include "trace/import/lines.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.h"

namespace sluice {
namespace {

constexpr std::size_t chunk = std::size_t{256} << 10U;

}  // namespace

// Reads on behind what was not given yet.
Status LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + chunk);
  for (;;) {
    const ssize_t got = sys().read(fd_.get(), buffer_.data() + before, chunk);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Errno().fail(fmt::format("cannot read {}", quote(path_)));
    }
    buffer_.resize(before + static_cast<std::size_t>(got));
    ended_ = got == 0;
    return {};
  }
}

Result<std::optional<std::string_view>> LineReader::next() {
  std::size_t looked = 0;
  for (;;) {
    const std::size_t end = buffer_.find('\n', at_ + looked);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
      at_ = end + 1;
      return std::optional(line);
    }
    looked = buffer_.size() - at_;
    if (ended_) {
      const std::string_view rest = std::string_view(buffer_).substr(at_);
      at_ = buffer_.size();
      return rest.empty() ? std::nullopt : std::optional(rest);
    }
    if (looked >= longest) {  // its beginning stays, the rest is let go
      buffer_.resize(at_ + longest);
      std::string begun = buffer_.substr(at_);
      do {
        at_ = buffer_.size();
        SLUICE_CHECK(fill());
      } while (!ended_ && buffer_.find('\n') == std::string::npos);
      const std::size_t found = buffer_.find('\n');
      begun += found == std::string::npos ? "" : buffer_.substr(found);
      buffer_ = std::move(begun);
      at_ = 0;
      looked = longest;
      continue;
    }
    SLUICE_CHECK(fill());
  }
}

}  // namespace sluice
