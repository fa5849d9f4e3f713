#include "intent/parse.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace sluice {
namespace {

std::string canonical(std::string_view text, const Sigdefs& sigdefs = {}) {
  const auto intent = parse_intent(text, sigdefs);
  return intent ? print(*intent) : "fault: " + intent.error().message;
}

TEST(Parse, ReadsEveryWord) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"  \t\n", ""},
      {"global", "global"},
      {"LOCAL Persist", "local persist"},
      {"random, persist", "persist random"},
      {"random ,persist", "persist random"},
      {"temp random,write", "temp random write"},
      {"totalsize(6GB)", "totalsize(6G)"},
      {"totalsize=6G,random", "totalsize(6G) random"},
      {"TOTALSIZE( 1536 )", "totalsize(1536B)"},
      {"mttdl(20y)", "MTTDL(20y)"},
      {"availability(0.001)", "availability(0.001)"},
      {"availability(1e-3, 2H)", "availability(0.001,2h)"},
      {"availability=0.5", "availability(0.5)"},
      {"archive tamperproof", "archive tamperproof"},
      {"strided(4k) readwrite", "strided(4K) readwrite"},
      {"sequential read", "sequential read"},
      {"Size-Per-IO(16MB) sync", "size-per-IO(16M) sync"},
      {"reuse(OFTEN)", "reuse(often)"},
      {"stream(Log.1)", "stream(Log.1)"},
      {"stream(log, write-intensive)", "stream(log,write-intensive)"},
      {"priority(background, 30s)", "priority(background,30s)"},
      {"priority=foreground prefetch", "priority(foreground) prefetch"},
      {"group(run-7)", "group(run-7)"},
      {"shape(100,200) procs(2,4) partition(block,*) stored(*,block)",
       "shape(100,200) procs(2,4) partition(block,*) stored(*,block)"},
      {"partition(Cyclic)", "partition(cyclic)"},
      {"sig random", "random"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(canonical(text), expected) << text;
  }
}

struct Bad {
  std::string text;
  std::size_t column;
  std::string message;  // part of it
  std::string advice;   // part of it
};

TEST(Parse, FaultsNameTheWordItsColumnAndWhatWouldBeRight) {
  const std::vector<Bad> cases = {
      {"persist radnom", 9, "unknown word 'radnom' at column 9", "did you mean 'random'?"},
      {"größe", 3, "unexpected 'ö' after 'gr' at column 3", ""},
      {"random random", 8, "'random' at column 8 is repeated", ""},
      {"random sequential", 8, "contradicts 'random'", "keep one"},
      {"persist temp", 9, "contradicts 'persist'", ""},
      {"global local", 8, "contradicts 'global'", ""},
      {"read readwrite", 6, "contradicts 'read'", ""},
      {"temp archive", 6, "'archive' at column 6 contradicts 'temp'", ""},
      {"tamperproof temp", 13, "'temp' at column 13 contradicts 'tamperproof'", ""},
      {"archive prefetch", 9, "contradicts 'archive'", ""},
      {"reuse(often) archive", 14, "contradicts 'reuse(often)'", ""},
      {"shape(1,2) procs(3)", 12, "contradicts 'shape(1,2)'", "same number of dimensions"},
      {"totalsize", 1, "'totalsize' at column 1 needs an argument", "totalsize(S)"},
      {"random(1)", 1, "takes no argument", ""},
      {"totalsize(1,2)", 1, "has 2 arguments", "totalsize(S)"},
      {"totalsize(16XB)", 11, "'16XB' is not a size (column 11)", "powers of 1024"},
      {"totalsize(0)", 11, "must be more than zero", ""},
      {"MTTDL(20)", 7, "is not a duration", "unit"},
      {"availability(0.9)", 14, "more likely than not", "did you mean 0.1?"},
      {"availability(2)", 14, "is not a probability", ""},
      {"availability(-1)", 14, "is not a probability", ""},
      {"availability(nan)", 14, "is not a number", ""},
      {"reuse(sometimes)", 7, "unknown choice 'sometimes'", "once, seldom, often"},
      {"reuse(oftn)", 7, "unknown choice", "did you mean 'often'?"},
      {"stream(a b)", 8, "is not a name", ""},
      {"shape(10,-1)", 10, "is not a whole number", ""},
      {"totalsize (6G)", 11, "unexpected '('", "no blank"},
      {"totalsize(6G", 10, "is not closed", ""},
      {"totalsize((6G))", 10, "is not closed", ""},
      {"totalsize(6G)x", 14, "after ')'", "blank"},
      {"totalsize=", 11, "has no value", ""},
      {"shape(1,,2)", 9, "empty argument", ""},
      {"shape()", 7, "empty argument", ""},
      {",random", 1, "follows no word", ""},
      {"random,,read", 8, "follows no word", ""},
      {"random,", 7, "followed by no word", ""},
      {"sig", 1, "followed by no word", ""},
      {"random;", 7, "unexpected ';'", ""},
      {"\xff", 1, "unexpected '\\xff'", ""},
      {"mine random", 1, "unknown word 'mine'", ""},
  };
  for (const Bad& bad : cases) {
    const auto intent = parse_intent(bad.text);
    ASSERT_FALSE(intent) << bad.text;
    const Fault& fault = intent.error();
    EXPECT_EQ(fault.column, bad.column) << bad.text << ": " << fault.message;
    EXPECT_NE(fault.message.find(bad.message), std::string::npos) << bad.text << ": " << fault.message;
    EXPECT_NE(fault.advice.find(bad.advice), std::string::npos) << bad.text << ": " << fault.advice;
    EXPECT_TRUE(fault.error().usage);
  }
}

TEST(Parse, UnderlinesTheFault) {
  const std::string_view text = "persist radnom";
  EXPECT_EQ(parse_intent(text).error().excerpt(text), "  persist radnom\n          ^~~~~~\n");
  EXPECT_EQ(parse_intent("a\nb").error().excerpt("a\nb"), "  a\\nb\n");
}

TEST(Sigdef, NamesAndOverrides) {
  Sigdefs sigdefs;
  const auto hot = parse_sigdef("sigdef Hot random persist size-per-IO(4K)", sigdefs);
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->name, "Hot");
  ASSERT_TRUE(sigdefs.define(hot->name, hot->intent));
  EXPECT_FALSE(sigdefs.define("HOT", hot->intent));
  EXPECT_EQ(canonical("sig hot", sigdefs), "persist random size-per-IO(4K)");
  EXPECT_EQ(canonical("hot sequential totalsize(1G)", sigdefs),
            "persist totalsize(1G) sequential size-per-IO(4K)");
  const auto warm = parse_sigdef("warm hot size-per-IO(1M)", sigdefs);
  ASSERT_TRUE(warm);
  EXPECT_EQ(print(warm->intent), "persist random size-per-IO(1M)");
  EXPECT_EQ(canonical("random hot", sigdefs), "fault: signature 'hot' at column 8 must come first");
  EXPECT_EQ(parse_intent("hto", sigdefs).error().advice, "did you mean 'hot'?");
}

TEST(Sigdef, RefusesBadNamesAndContradictions) {
  for (const char* text :
       {"", "sigdef", "sigdef random persist", "sigdef sig random", "sigdef x(1) random"}) {
    EXPECT_FALSE(parse_sigdef(text)) << text;
  }
  Sigdefs sigdefs;
  ASSERT_TRUE(sigdefs.define("cold", *parse_intent("archive persist")));
  // Overriding persist by temp leaves archive, which temp contradicts.
  EXPECT_EQ(canonical("sig cold temp", sigdefs),
            "fault: 'temp' at column 10 contradicts 'archive' of signature 'cold'");
  ASSERT_TRUE(sigdefs.define("grid", *parse_intent("shape(1,2) procs(1,2)")));
  EXPECT_EQ(canonical("grid shape(3,4)", sigdefs), "shape(3,4) procs(1,2)");
  EXPECT_EQ(canonical("grid shape(3,4,5) procs(1,1,1)", sigdefs), "shape(3,4,5) procs(1,1,1)");
  EXPECT_NE(canonical("grid shape(3,4,5)", sigdefs).find("contradicts 'procs(1,2)'"), std::string::npos);
}

TEST(Parse, TakesTimeLinearInALongText) {
  std::string text;
  for (int i = 0; i < 300000; ++i) {
    text += "x ";
  }
  EXPECT_FALSE(parse_intent(text));
  EXPECT_FALSE(parse_intent(std::string(1 << 20, '(')));
  EXPECT_FALSE(parse_intent("shape(" + std::string(1 << 20, '1') + ")"));
}

}  // namespace
}  // namespace sluice
