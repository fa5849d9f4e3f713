#include "base/result.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice {

std::string Error::text() const {
  std::string out = what;
  if (number != 0 && number != EBADMSG) {  // that is ours: the sentence says what is wrong with the contents
    char buffer[128];
    out += ": ";
    out += strerror_r(number, buffer, sizeof buffer);
  }
  if (!advice.empty()) {
    out += "; " + advice;
  }
  return out;
}

std::string Error::origin_text() const {
  const char* file = std::strrchr(origin.file, '/');
  return fmt::format("{}:{}", file != nullptr ? file + 1 : origin.file, origin.line);
}

Error Error::within(std::string_view outer) && {
  what.insert(0, ": ").insert(0, outer);
  return std::move(*this);
}

Error Error::advise(std::string_view text) && {
  advice = text;
  return std::move(*this);
}

Error Errno::fail(std::string what, Origin origin) const {
  return sluice::fail(number_, std::move(what), origin);
}

Error fail(int number, std::string what, Origin origin) {
  const char* advice =
      number == EMFILE ? "raise the limit for open files (ulimit -n), as root where it is a hard one" : "";
  return {.what = std::move(what), .number = number, .advice = advice, .usage = false, .origin = origin};
}

Error fail(std::string what, std::string advice, Origin origin) {
  return {
      .what = std::move(what), .number = 0, .advice = std::move(advice), .usage = false, .origin = origin};
}

Error bad_input(std::string what, std::string advice, Origin origin) {
  return {.what = std::move(what), .number = 0, .advice = std::move(advice), .usage = true, .origin = origin};
}

}  // namespace sluice
