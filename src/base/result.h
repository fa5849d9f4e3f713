// Errors are values. An Error keeps what failed (one sentence that names the file), the errno behind it,
// what the user can do, and the source line where it arose. A Result<T> is either a T or an Error.
//
// Values, not shared state: both types may be passed between threads freely.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace sluice {

// A source line. std::source_location would do, but libstdc++ 12 has it only for compilers newer than
// clang 14.
struct Origin {
  const char* file = "";
  unsigned line = 0;
  static constexpr Origin here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {.file = file, .line = line};
  }
};

struct [[nodiscard]] Error {
  std::string what;    // what could not be done, and on which file
  int number = 0;      // errno, or 0 where no system call failed
  std::string advice;  // what to do about it; may be empty
  bool usage = false;  // the input is at fault: the program exits with 2 instead of 1
  Origin origin = Origin::here();

  // "what: why; advice", for people.
  [[nodiscard]] std::string text() const;
  // "file.cc:12", for the log.
  [[nodiscard]] std::string origin_text() const;

  // Puts "outer: " before what.
  Error within(std::string_view outer) &&;
  // Replaces the advice.
  Error advise(std::string_view text) &&;
};

// A system call just failed: Errno().fail("cannot open x"). The object takes errno before the arguments are
// evaluated (C++17 orders them so); fail(errno, quote(x)) would let quote() change it first.
class Errno {
 public:
  Errno() : number_(errno) {}
  Error fail(std::string what, Origin origin = Origin::here()) const;

 private:
  int number_;
};
// The same with an errno that was kept. Where it says by itself what to do (EMFILE), there is advice.
Error fail(int number, std::string what, Origin origin = Origin::here());
// Something other than a system call failed.
Error fail(std::string what, std::string advice = {}, Origin origin = Origin::here());
// The user's words, file or options are wrong.
Error bad_input(std::string what, std::string advice = {}, Origin origin = Origin::here());

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

using Status = Result<void>;

}  // namespace sluice

// SLUICE_TRY(auto x, f()): x is the value of f(), or the enclosing function returns its error.
#define SLUICE_TRY(declaration, expression) \
  SLUICE_TRY_IMPL(SLUICE_TRY_NAME(__LINE__), declaration, expression)
// SLUICE_CHECK(f()): the same for a Status.
#define SLUICE_CHECK(expression)                 \
  do {                                           \
    if (auto status_ = (expression); !status_) { \
      return std::move(status_).error();         \
    }                                            \
  } while (false)
#define SLUICE_TRY_NAME(line) SLUICE_TRY_JOIN(result_at_, line)
#define SLUICE_TRY_JOIN(a, b) a##b
#define SLUICE_TRY_IMPL(name, declaration, expression) \
  auto name = (expression);                            \
  if (!name) {                                         \
    return std::move(name).error();                    \
  }                                                    \
  declaration = std::move(*name)
