#include "intent/rules.h"

#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "intent/attribute.h"

namespace sluice {
namespace {

bool matches(std::string_view pattern, std::string_view path) {
  const auto glob = Glob::parse(pattern);
  EXPECT_TRUE(glob) << pattern;
  return glob && glob->matches(path);
}

TEST(Glob, MatchesAsWritten) {
  EXPECT_TRUE(matches("/a/b", "/a/b"));
  EXPECT_FALSE(matches("/a/b", "/a/bc"));
  EXPECT_TRUE(matches("/a/*.dat", "/a/x.dat"));
  EXPECT_TRUE(matches("/a/*.dat", "/a/.dat"));
  EXPECT_FALSE(matches("/a/*.dat", "/a/b/x.dat"));
  EXPECT_TRUE(matches("/a/**/x", "/a/x"));
  EXPECT_TRUE(matches("/a/**/x", "/a/b/c/x"));
  EXPECT_FALSE(matches("/a/**/x", "/a/bx"));
  EXPECT_TRUE(matches("/a/**", "/a/b/c"));
  EXPECT_FALSE(matches("/a/**", "/ab"));
  EXPECT_TRUE(matches("**/x", "x"));
  EXPECT_TRUE(matches("/**/x*y", "/p/q/xzzy"));
  EXPECT_TRUE(matches("/a?c", "/abc"));
  EXPECT_FALSE(matches("/a?c", "/a/c"));
  EXPECT_TRUE(matches("/[a-c]x", "/bx"));
  EXPECT_FALSE(matches("/[!a-c]x", "/bx"));
  EXPECT_TRUE(matches("/[]]", "/]"));
  EXPECT_FALSE(matches("/x[!y]z", "/x/z"));
  EXPECT_TRUE(matches("/\\*", "/*"));
  EXPECT_FALSE(matches("/\\*", "/x"));
  EXPECT_TRUE(matches("/*\xff", "/a\n\xff"));
}

TEST(Glob, DoesNotBlowUp) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) {
    pattern += "*a";
  }
  EXPECT_FALSE(matches(pattern + "b", std::string(4000, 'a')));
}

TEST(Glob, CountsLiteralCharacters) {
  EXPECT_EQ(Glob::parse("/a/*.dat")->literals(), 7U);
  EXPECT_EQ(Glob::parse("/a/**/[xy]?")->literals(), 3U);
}

TEST(Glob, OverlapsWhereAPathMatchesBoth) {
  const auto overlap = [](std::string_view a, std::string_view b) {
    const Glob one = *Glob::parse(a);
    const Glob two = *Glob::parse(b);
    EXPECT_EQ(one.overlaps(two), two.overlaps(one));
    return one.overlaps(two);
  };
  EXPECT_TRUE(overlap("/a/b", "/a/b"));
  EXPECT_FALSE(overlap("/a/b", "/a/c"));
  EXPECT_FALSE(overlap("/a/b", "/a/bc"));
  EXPECT_TRUE(overlap("/a/**", "/a/b/*.dat"));
  EXPECT_FALSE(overlap("/a/*.dat", "/a/*.log"));
  EXPECT_TRUE(overlap("/a/x*", "/a/*y"));
  EXPECT_FALSE(overlap("/a/x*", "/a/[!x]*"));
  EXPECT_FALSE(overlap("/a/*", "/a/b/c"));
  EXPECT_TRUE(overlap("/a/**/c", "/a/c"));
  EXPECT_TRUE(overlap("/a/**/c", "/a/b?/**"));
  EXPECT_FALSE(overlap("/a/**/c", "/a/*d"));
  EXPECT_FALSE(overlap("/a/**/c", "/a/bc"));  // a folder's name ends before the file's begins
  EXPECT_TRUE(overlap("/**", "/a/**/[x-z]*.dat"));
  EXPECT_FALSE(overlap("/b/**", "/a/**"));
}

TEST(Glob, IsWholeAsPathsAre) {
  EXPECT_EQ(*Glob::whole("./f*", "/a/b"), "/a/b/f*");
  EXPECT_EQ(*Glob::whole("../c/**", "/a/b"), "/a/c/**");
  EXPECT_EQ(*Glob::whole("/a//b/./*.dat", "/"), "/a/b/*.dat");
  EXPECT_EQ(*Glob::whole("../../..", "/a"), "/");
  EXPECT_EQ(*Glob::whole("x", "/a[b"), "/a\\[b/x");
  EXPECT_EQ(*Glob::whole("a/[.]./b", "/"), "/a/[.]./b");
  EXPECT_EQ(*Glob::whole("./~/x", "/a"), "/a/~/x");
  EXPECT_FALSE(Glob::whole("~/x*", "/a"));
}

TEST(Glob, RefusesWhatIsNoGlob) {
  for (const char* pattern : {"/a[b", "/a\\", "/a**", "/a/***", "/[z-a]"}) {
    EXPECT_FALSE(Glob::parse(pattern)) << pattern;
  }
}

constexpr const char* rules_text = R"toml(
[sigdef]
hot = "random persist"
hotter = "hot size-per-IO(4K)"   # builds on the one above

[[rule]]
path = "out/*.dat"
intent = "sig hot totalsize(2G)"

[[rule]]
path = "/data/run/out/step_*.dat"
intent = "hotter sequential"
)toml";

TEST(Rules, SayWhatTheyMean) {
  Rules rules;
  const Status status = rules.parse_toml_rules(rules_text, "/data/run/rules.toml");
  ASSERT_TRUE(status) << status.error().text();
  ASSERT_EQ(rules.rules().size(), 2U);
  const auto statements = rules.matching("/data/run/out/step_1.dat");
  ASSERT_EQ(statements.size(), 2U);
  const Merged merged = merge(statements);
  EXPECT_EQ(print(merged.intent), "persist totalsize(2G) sequential size-per-IO(4K)");
  EXPECT_EQ(merged.origins[static_cast<std::size_t>(Slot::pattern)], "/data/run/rules.toml:10");
  EXPECT_TRUE(rules.matching("/data/out/x.dat").empty());
}

TEST(Rules, AFolderNameWithGlobCharactersIsLiteral) {
  Rules rules;
  ASSERT_TRUE(rules.parse_toml_rules("[[rule]]\npath='*.x'\nintent='random'", "/data/[a]*/rules.toml"));
  EXPECT_EQ(rules.matching("/data/[a]*/1.x").size(), 1U);
  EXPECT_TRUE(rules.matching("/data/a/1.x").empty());
}

TEST(Rules, FaultsNameFileLineColumnAndWord) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[[rule]]\npath = 'x'\nintent = 'random radnom'", "/r.toml:3:18: unknown word 'radnom'"},
      {"[[rule]]\npath = 'x'\nintent = \"random\\tradnom\"", "/r.toml:3:10: unknown word 'radnom'"},
      {"[[rule]]\npath = 'x'\nstages = 'stats'", "/r.toml:3:10: stages are a list"},
      {"[[rule]]\npath = 'x'\nstages = [7]", "/r.toml:3:11: a stage is a text"},
      {"[[rule]]\nstages = ['stats']", "/r.toml:1:1: a rule needs path"},
      {"[[rule]]\npath = 'x'\nintent = 7\nstages = ['stats']", "/r.toml:3:10: a rule needs intent"},
      {"[[rule]]\npath = 'x'", "/r.toml:1:1: a rule needs intent"},
      {"[[rule]]\nintent = 'random'", "/r.toml:1:1: a rule needs path"},
      {"[[rule]]\npath = 7\nintent = 'random'", "/r.toml:2:8: a rule needs path"},
      {"[[rule]]\npath = ''\nintent = 'random'", "/r.toml:2:8: the path glob is empty"},
      {"[[rule]]\npath = 'a[b'\nintent = 'random'", "/r.toml:2:8: glob '/a[b'"},
      {"[[rule]]\npaht = 'x'\nintent = 'random'", "/r.toml:2:1: unknown key 'paht'; did you mean 'path'?"},
      {"[[rules]]\npath = 'x'", "unknown key 'rules'; did you mean 'rule'?"},
      {"rule = 1", "/r.toml:1:8: rules are written [[rule]]"},
      {"[sigdef]\nrandom = 'persist'", "/r.toml:2:1: 'random' at column 1 cannot be a signature's name"},
      {"[sigdef]\nhot = 'persist tmep'",
       "/r.toml:2:16: unknown word 'tmep' at column 9; did you mean 'temp'?"},
      {"[sigdef]\nhot = 5", "/r.toml:2:7: sigdef 'hot' needs a text"},
      {"[sigdef]\nhot = 'random'\nHOT = 'random'", "/r.toml:3:1: signature 'HOT' is defined twice"},
      {"sigdef = 3", "[sigdef] must be a table"},
      {"[[rule]\n", "/r.toml:1:"},
      {"a = \"\xff\"", "/r.toml:1:"},
  };
  for (const auto& [text, message] : cases) {
    Rules rules;
    const Status status = rules.parse_toml_rules(text, "/r.toml");
    ASSERT_FALSE(status) << text;
    EXPECT_TRUE(status.error().usage);
    EXPECT_NE(status.error().text().find(message), std::string::npos) << text << "\n"
                                                                      << status.error().text();
  }
}

TEST(Hints, SayTheSameAsWords) {
  Rules rules;
  const Status status = rules.parse_hints(R"({"hints": [
    {"path": "out/*", "random": true, "totalsize": "2G", "size-per-IO": 4096,
     "availability": [0.001, 3600], "stream": ["log", "write-intensive"], "MTTDL": "20y",
     "priority": ["background", 1.5], "shape": [10, 20], "partition": ["block", "*"], "group": "g"},
    {"path": "/abs/**", "temp": true}]})",
                                          "/d/hints.json");
  ASSERT_TRUE(status) << status.error().text();
  ASSERT_EQ(rules.rules().size(), 2U);
  EXPECT_EQ(
      print(rules.rules()[0].intent),
      "totalsize(2G) MTTDL(20y) availability(0.001,1h) random size-per-IO(4K) stream(log,write-intensive) "
      "priority(background,1500ms) group(g) shape(10,20) partition(block,*)");
  EXPECT_EQ(rules.matching("/d/out/x").size(), 1U);
  EXPECT_EQ(rules.rules()[1].origin, "/d/hints.json:5");
}

TEST(Hints, FaultsNameFileLineColumnAndWord) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"hints\": [\n {\"path\": \"x\", \"radnom\": true}]}", "/h.json:2:16: unknown word 'radnom'"},
      {"{\"hints\": [{\"path\": \"x\",\n\"totalsize\": \"16X\"}]}",
       "/h.json:2:1: 'totalsize' at column 1: '16X'"},
      {"{\"hints\": [{\"path\": \"x\", \"random\": false}]}", "/h.json:1:36: 'random' cannot be false"},
      {"{\"hints\": [{\"path\": \"x\", \"random\": null}]}", "cannot be null"},
      {"{\"hints\": [{\"path\": \"x\", \"random\": true, \"random\": true}]}", "is repeated"},
      {"{\"hints\": [{\"path\": \"x\", \"random\": true, \"sequential\": true}]}", "contradicts 'random'"},
      {"{\"hints\": [{\"random\": true}]}", "/h.json:1:12: a hint needs \"path\""},
      {"{\"hints\": [{\"path\": 5}]}", "one \"path\""},
      {"{\"hints\": [{\"path\": \"a[\"}]}", "is not closed"},
      {"{\"hints\": 5}", "a plain value cannot stand here"},
      {"{\"hints\": [5]}", "a plain value cannot stand here"},
      {"{\"hints\": [{\"shape\": [[1]]}]}", "a list cannot stand here"},
      {"{\"hints\": [{\"shape\": {}}]}", "an object cannot stand here"},
      {"{\"hint\": []}", "/h.json:1:2: unknown key 'hint'"},
      {"{\"hints\": [], \"hints\": []}", "repeated key"},
      {"{}", "there is no \"hints\" list"},
      {"{\"hints\": [}", "/h.json:1:12: not JSON"},
      {"{\"hints\": [\n", "/h.json:2:1: not JSON"},
      {"{\"hints\": []} x", "not JSON"},
      {"{\"hints\": [{\"path\": \"\xff\"}]}", "not JSON"},
      {"{\"hints\": [{\"path\": \"x\", \"totalsize\": -5}]}", "is not a size"},
      {"{\"hints\": [{\"path\": \"x\", \"random\": [true]}]}", "cannot be true"},
  };
  for (const auto& [text, message] : cases) {
    Rules rules;
    const Status status = rules.parse_hints(text, "/h.json");
    ASSERT_FALSE(status) << text;
    EXPECT_TRUE(status.error().usage);
    EXPECT_NE(status.error().text().find(message), std::string::npos) << text << "\n"
                                                                      << status.error().text();
  }
}

TEST(Attribute, IsReadFromTheFile) {
  std::string path = testing::TempDir() + "sluice-attribute-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  close(fd);
  const auto none = attribute_statement(path, {});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_FALSE(*attribute_statement(path + "-missing", {}));
  const std::string words = "random persist";
  if (setxattr(path.c_str(), intent_attribute, words.data(), words.size(), 0) != 0) {
    unlink(path.c_str());
    GTEST_SKIP() << "no extended attributes here";
  }
  const auto statement = attribute_statement(path, {});
  ASSERT_TRUE(statement && *statement);
  EXPECT_EQ(print((*statement)->intent), "persist random");
  EXPECT_EQ((*statement)->strength, Strength::attribute);
  ASSERT_EQ(setxattr(path.c_str(), intent_attribute, "radnom", 6, 0), 0);
  const auto broken = attribute_statement(path, {});
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().text().find("attribute user.sluice.intent of '" + path + "': unknown word"),
            std::string::npos);
  unlink(path.c_str());
}

TEST(Rules, MayHaveStagesWithOrWithoutAnIntent) {
  Rules rules;
  const auto read = rules.parse_toml_rules(
      "[[rule]]\npath = 'a'\nstages = ['stats', 'delay:time=1ms']\n[[rule]]\npath = 'b'\nintent = "
      "'random'\nstages = "
      "['null']\n",
      "/r.toml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(rules.rules()[0].stages, (std::vector<std::string>{"stats", "delay:time=1ms"}));
  EXPECT_EQ(rules.rules()[1].stages, std::vector<std::string>{"null"});
}

TEST(Rules, AnIntentMayBeAListOfTexts) {
  Rules rules;
  const auto read = rules.parse_toml_rules(
      "[sigdef]\nmine = 'random persist'\n[[rule]]\npath = 'a'\nintent = [\n  'sig mine',  # because\n  # "
      "'temp',\n"
      "  'size-per-IO(4K)',\n]\n[[rule]]\npath = 'b'\nintent = []\n",
      "/r.toml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(print(rules.rules()[0].intent), "persist random size-per-IO(4K)");
  EXPECT_TRUE(rules.rules()[1].intent.empty());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"['random',\n 'frobnicate']", "/r.toml:4:3"},
      {"['random', 'sequential']", "/r.toml:3:"},
      {"['random', 5]", "list of such texts"},
      {"['random', 'random']", "random"},
  };
  for (const auto& [list, message] : cases) {
    Rules broken;
    const Status status = broken.parse_toml_rules("[[rule]]\npath = 'a'\nintent = " + list + "\n", "/r.toml");
    ASSERT_FALSE(status) << list;
    EXPECT_NE(status.error().text().find(message), std::string::npos) << list << "\n"
                                                                      << status.error().text();
  }
}

TEST(Rules, AreReadAsTheyWereWritten) {
  const std::string odd = "/a \"b\" \t\x7f \\[c]/é*";
  const Intent intent = parse_intent("persist random size-per-IO(4K)").value();
  Rules rules;
  const Status read = rules.parse_toml_rules(
      rule_text(odd, intent, {"tee:to=\"/x\"", "null"}) + rule_text("/b", {}, {}), "/r.toml");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(rules.rules().size(), 2U);
  EXPECT_EQ(rules.rules()[0].pattern, odd);
  EXPECT_EQ(print(rules.rules()[0].intent), print(intent));
  EXPECT_EQ(rules.rules()[0].stages, (std::vector<std::string>{"tee:to=\"/x\"", "null"}));
  EXPECT_EQ(rules.rules()[1].pattern, "/b");
}

}  // namespace
}  // namespace sluice
