// Every opener of C++'s streams: constructors and open(), by char*, std::string and filesystem::path; in
// templates, lambdas, initializers of members and bases, globals and default members.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "signatures.inc"

namespace fs = std::filesystem;

#pragma sig write
std::ofstream global("global");

struct Member {
  std::ofstream out;
  explicit Member(const std::string& path)
#pragma sig checkpoint
      : out(path) {
  }
};
struct Braces {
  int number;
  std::ofstream out;
#pragma sig checkpoint random
  explicit Braces(const std::string& path) : number{1}, out{path} {}
};
struct Derived : std::ofstream {
  Derived()
#pragma sig sync
      : std::ofstream("base") {
  }
};
// Not libc's and not a stream's: left alone.
struct Door {
  bool open(const char* path) { return path != nullptr; }
};
namespace other {
int open(const char* path, int) {
  return path == nullptr ? -1 : 0;
}
}  // namespace other

template <class Path>
bool make(const Path& path) {
#pragma sig random
  std::ofstream out(path);
  return out.good();
}
template <class Path>
bool open_later(const Path& path) {
  std::ofstream out;
#pragma sig random write
  out.open(path, std::ios::app);
  return out.good();
}
template <class T>
void never(T path) {
#pragma sig write
  std::ofstream out(path);
}
template <class Stream>
bool change(const std::string& name) {
#pragma sig readwrite
  Stream file(name, std::ios::in | std::ios::out | std::ios::trunc);
  return file.good();
}

bool check(bool ok, const char* what) {
  if (!ok) std::fprintf(stderr, "%s failed\n", what);
  return ok;
}

int main() {
  bool ok = check(global.good(), "global");
  Member member("member");
  Braces braces("member-braces");
  Derived derived;
  ok = check(member.out && braces.out && derived, "members") && ok;
  ok = check(make("chars") && make(std::string("string")) && make(fs::path("path")), "make") && ok;
  ok = check(open_later("open-chars") && open_later(std::string("open-string")) &&
                 open_later(fs::path("open-path")),
             "open") &&
       ok;
  ok = check(change<std::fstream>("fstream") && change<std::wfstream>("wfstream"), "fstream") && ok;
  const auto lambda = [](auto name) {
#pragma sig local
    std::ofstream out{name};
    return out.good();
  };
  ok = check(lambda("lambda") && lambda(std::string(100, 'l')), "lambda") && ok;
#pragma sig temp
  std::ofstream temporary(std::string("tem") + "porary");
#pragma sig temp
  const auto heap = std::make_unique<int>(::open("function", O_CREAT | O_WRONLY, 0600));
#pragma sig prefetch
  std::wofstream wide(fs::path(".") / "wide");
  std::ofstream("to-read").close();
#pragma sig read
  std::ifstream in("to-read");
#pragma sig read sequential
  auto* cfile = std::fopen("std-fopen", "wbe");
  ok = check(temporary && *heap >= 0 && wide && !in && cfile != nullptr, "others") && ok;
  try {
    std::ifstream throws;
    throws.exceptions(std::ios::failbit);
#pragma sig read random
    throws.open(std::string("missing/file"));
    ok = check(false, "exception");
  } catch (const std::ios::failure&) {
  }
  return ok && Door().open("x") && other::open("x", 0) == 0 ? 0 : 1;
}
