#include "tune/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "learn/learn.h"

namespace sluice {
namespace {

bool is_made_since(const std::string& path, timespec begin) {
  struct statx about {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_BTIME, &about) != 0 ||
      (about.stx_mask & STATX_BTIME) == 0 || !S_ISREG(about.stx_mode)) {
    return false;
  }
  return about.stx_btime.tv_sec > begin.tv_sec ||
         (about.stx_btime.tv_sec == begin.tv_sec && about.stx_btime.tv_nsec >= begin.tv_nsec);
}

}  // namespace

std::string Outputs::names() const {
  constexpr std::size_t most = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, made.size()); ++i) {
    out += (i == 0 ? "" : ", ") + escape(made[i]);
  }
  return out + (made.size() > most || !all ? " and more" : "");
}

std::string Outputs::reset() const {
  std::string out;
  for (const std::string& path : made) {
    out += " " + shell_word(path);
  }
  return all && any() ? "rm -f" + out : "";
}

timespec time_of_files() {
  timespec out{};
  clock_gettime(CLOCK_REALTIME_COARSE, &out);
  return out;
}

Result<Outputs> outputs_of(const std::string& trace, timespec begin) {
  SLUICE_TRY(TraceReader reader, TraceReader::open(trace));
  SLUICE_TRY(const Lessons lessons, learn(reader, {}));
  Outputs out;
  for (const LearnedFamily& family : lessons.families) {
    out.moved += family.read.bytes + family.write.bytes;
    if (family.created == 0 || family.write.bytes == 0) {
      continue;
    }
    const std::size_t before = out.made.size();
    std::copy_if(family.files.begin(), family.files.end(), std::back_inserter(out.made),
                 [&](const std::string& path) { return is_made_since(path, begin); });
    out.all = out.all && (out.made.size() == before || family.files.size() == family.file_count);
  }
  return out;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) {
    return text;
  }
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

}  // namespace sluice
