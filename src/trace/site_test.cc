#include "trace/site.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/subprocess.h"
#include "base/text.h"

namespace sluice {
namespace {

TEST(CallSite, Words) {
  EXPECT_EQ(parse_call_site("/usr/bin/a+0x1f"), (CallSite{.module = "/usr/bin/a", .offset = 31}));
  EXPECT_EQ(parse_call_site("/a+0x1+0x2"), (CallSite{.module = "/a+0x1", .offset = 2}));
  for (const char* text : {"", "a+0x1", "/a", "/a+0x", "/a+0xg", "/a+0x1 ", "/a+0x11111111111111111"}) {
    EXPECT_EQ(parse_call_site(text), std::nullopt) << text;
  }
}

TEST(CallSite, WhatIsNoProgramHasNoLines) {
  const std::vector<CallSite> sites = {{.module = "/nowhere", .offset = 1},
                                       {.module = "/dev/zero", .offset = 1},
                                       {.module = "/proc/self/maps", .offset = 1},
                                       {.module = "relative", .offset = 1},
                                       {.module = "/etc/passwd", .offset = 1}};
  const auto lines = find_source_lines(sites);
  ASSERT_TRUE(lines);
  EXPECT_EQ(*lines, std::vector<std::optional<SourceLine>>(sites.size()));
}

// Programs that print from where they open files, by functions of their own in front of libc's.
class Compiled : public testing::Test {
 protected:
  void SetUp() override {
    if (sys().access("/usr/bin/c++", X_OK) != 0 || find_tool("addr2line").empty()) {
      GTEST_SKIP() << "there is no compiler or no addr2line";
    }
    std::string name = testing::TempDir() + "sluice-site-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  // The lines of the file that were found, in the order of the opens.
  std::vector<unsigned> lines_of(const std::string& name, const std::string& source,
                                 const std::vector<std::string>& flags) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << source;
    std::vector<std::string> words = {"-w", "-rdynamic", "-o", folder_ + "/program", path};
    words.insert(words.end(), flags.begin(), flags.end());
    const auto compiled = run_tool(Command::at(name.ends_with(".c") ? "/usr/bin/cc" : "/usr/bin/c++", words));
    const auto printed = run_tool(Command::at(folder_ + "/program", {}));
    if (!compiled || !printed) {
      ADD_FAILURE() << (compiled ? printed : compiled).error().text();
      return {};
    }
    std::vector<CallSite> sites;
    for (const std::string_view line : split(trim(*printed), '\n')) {
      const auto site = parse_call_site(line);
      EXPECT_TRUE(site) << line;
      sites.push_back(site.value_or(CallSite()));
    }
    const auto found = find_source_lines(sites);
    EXPECT_TRUE(found) << found.error().text();
    std::vector<unsigned> out;
    for (const auto& line : *found) {
      EXPECT_TRUE(line && line->file == (line->line == 0 ? "" : path));
      EXPECT_TRUE(line && (line->function == "helper" || line->function == "main"));
      out.push_back(line ? line->line : 0);
    }
    return out;
  }

  std::string folder_;
};

constexpr const char* c_source = R"(#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static void tell(void* at) {
  Dl_info info;
  dladdr(at, &info);
  printf("%s+0x%lx\n", info.dli_fname, (unsigned long)((char*)at - (char*)info.dli_fbase));
}
__attribute__((noinline)) int open(const char* path, int flags, ...) { tell(__builtin_return_address(0)); return 1; }
__attribute__((noinline)) FILE* fopen(const char* path, const char* mode) { tell(__builtin_return_address(0)); return 0; }
static inline __attribute__((always_inline)) int helper(void) {
  return open("a", 0);
}
int main(void) {
  int sum = 0;
  sum += open("b", 0);
  sum += helper();
  sum += fopen("c",
               "r") != 0;
  return sum == 100;
}
)";

TEST_F(Compiled, OpenAndFopenOfC) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"-g"}, {"-g", "-O2"}, {"-g", "-no-pie"}, {"-gdwarf-4", "-O1"}}) {
    EXPECT_EQ(lines_of("p.c", c_source, flags), (std::vector<unsigned>{16, 12, 18})) << join(flags, " ");
  }
  EXPECT_EQ(lines_of("p.c", c_source, {}), (std::vector<unsigned>{0, 0, 0}));
}

constexpr const char* cc_source = R"(#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <cstdio>
#include <cstring>
#include <fstream>
static const void* self;
static void tell() {
  void* frames[20];
  const int count = backtrace(frames, 20);
  for (int i = 2; i < count; ++i) {
    Dl_info info;
    dladdr(frames[i], &info);
    if (info.dli_fbase == self) {
      printf("%s+0x%lx\n", info.dli_fname, (unsigned long)((char*)frames[i] - (char*)info.dli_fbase));
      return;
    }
  }
}
extern "C" __attribute__((noinline)) FILE* fopen64(const char*, const char*) { tell(); return nullptr; }
extern "C" __attribute__((noinline)) FILE* fopen(const char*, const char*) { tell(); return nullptr; }
int main() {
  Dl_info info;
  dladdr((void*)main, &info);
  self = info.dli_fbase;
  std::ofstream out("one");
  std::ifstream in;
  in.open("two");
  return 0;
}
)";

TEST_F(Compiled, StreamsOfCxx) {
  EXPECT_EQ(lines_of("p.cc", cc_source, {"-g"}), (std::vector<unsigned>{26, 28}));
  EXPECT_EQ(lines_of("p.cc", cc_source, {"-g", "-O2"}), (std::vector<unsigned>{26, 28}));
}

}  // namespace
}  // namespace sluice
