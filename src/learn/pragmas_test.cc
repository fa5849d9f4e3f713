#include "learn/pragmas.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/json.h"

namespace sluice {
namespace {

LearnedFamily family(const std::string& glob, const std::vector<std::string>& words,
                     const std::vector<LearnedSite>& sites) {
  LearnedFamily out;
  out.glob = glob;
  out.file_count = 1;
  out.sites = sites;
  for (const std::string& word : words) {
    LearnedWord one;
    one.word = word;
    out.words.push_back(one);
  }
  return out;
}

TEST(Pragmas, OneLineSaysWhatIsTrueOfAllItsFiles) {
  Lessons lessons;
  const LearnedSite shared{.site = "/nowhere/p+0x10", .opens = 2};
  lessons.families = {family("a", {"totalsize(1M)", "sequential", "write", "sync"}, {shared}),
                      family("b", {"totalsize(1M)", "random", "write", "sync"}, {shared})};
  lessons.families[1].words[3].doubtful = true;
  const auto pragmas = pragmas_of(lessons);
  ASSERT_TRUE(pragmas);
  ASSERT_EQ(pragmas->size(), 1U);
  const LearnedPragma& one = pragmas->front();
  EXPECT_EQ(one.intent, "write");
  EXPECT_EQ(one.opens, 4U);
  EXPECT_EQ(one.families, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(one.has_line());
}

TEST(Pragmas, TheSizeOfAllFilesIsNotThatOfEach) {
  Lessons lessons;
  lessons.families = {family("a", {"totalsize(1M)", "write"}, {{.site = "/nowhere/p+0x10", .opens = 1}}),
                      family("b*", {"totalsize(1M)", "write"}, {{.site = "/nowhere/p+0x20", .opens = 9}})};
  lessons.families[1].file_count = 9;
  const auto pragmas = pragmas_of(lessons);
  ASSERT_TRUE(pragmas);
  ASSERT_EQ(pragmas->size(), 2U);
  EXPECT_EQ((*pragmas)[0].intent, "totalsize(1M) write");
  EXPECT_EQ((*pragmas)[1].intent, "write");
}

TEST(Pragmas, ATraceWithoutSitesIsRefused) {
  Lessons lessons;
  EXPECT_TRUE(pragmas_of(lessons));  // nothing was opened
  lessons.families = {family("a", {"write"}, {})};
  EXPECT_EQ(pragmas_of(lessons).error().number, ENODATA);
}

// Whatever files and functions are called, a pragma is one line, which no backslash goes on with.
TEST(Pragmas, Text) {
  Lessons lessons;
  lessons.about = Json{{"folder", "/home/u"}};
  LearnedPragma known{.where = SourceLine{.file = "/home/u/src/a.c", .line = 7, .function = "f"},
                      .site = "/p+0x1",
                      .intent = "write",
                      .families = {"out\\", "b\n"},
                      .opens = 2};
  LearnedPragma other = known;
  other.where = SourceLine{.file = "/usr/include/c++/12/fstream", .line = 9, .function = "open(char)"};
  LearnedPragma nothing = known;
  nothing.where = std::nullopt;
  nothing.families = {"c"};
  nothing.opens = 1;
  const std::string text = pragmas_text(lessons, {known, other, nothing});
  EXPECT_NE(text.find("\nsrc/a.c:7: #pragma sig write  // "), std::string::npos) << text;
  EXPECT_NE(text.find(": 2 opens in f()\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("b\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("\\\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in open(char), /usr/include/c++/12/fstream:9, of the system\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("# c: 1 open, /p+0x1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace sluice
