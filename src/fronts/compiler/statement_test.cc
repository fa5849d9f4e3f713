#include "fronts/compiler/statement.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace sluice {
namespace {

StatementText read(std::string_view text, Position from = {}) {
  const auto lines = split(text, '\n');
  return read_statement(
      [&](unsigned line) { return line <= lines.size() ? std::optional(lines[line - 1]) : std::nullopt; },
      from);
}

// The text up to where its first statement ends.
std::string first_of(std::string_view text) {
  const Position end = read(text).end;
  std::string out;
  unsigned number = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (++number < end.line) {
      out += std::string(line) + "\n";
    } else if (number == end.line) {
      out += line.substr(0, end.column - 1);
    }
  }
  return out;
}

TEST(Statement, EndsAtItsSemicolon) {
  EXPECT_EQ(first_of("a = open(x); b = open(y);"), "a = open(x)");
  EXPECT_EQ(first_of("a =\n  open(x);\nb;"), "a =\n  open(x)");
  EXPECT_EQ(first_of("no end"), "no end\n");
}

TEST(Statement, EndsWhereABlockBeginsOrEnds) {
  EXPECT_EQ(first_of("if ((a = open(x)) < 0) { b; }"), "if ((a = open(x)) < 0) ");
  EXPECT_EQ(first_of("else { a; }"), "else ");
  EXPECT_EQ(first_of("S() noexcept {} int a;"), "S() noexcept ");
  EXPECT_EQ(first_of("  } a = open(x);"), "  ");
  EXPECT_EQ(first_of("namespace x { int a; }"), "namespace x ");
}

TEST(Statement, InitializersDoNotEndIt) {
  EXPECT_EQ(first_of("ofstream a{\"x\"}; b;"), "ofstream a{\"x\"}");
  EXPECT_EQ(first_of("vector<ofstream> a = {{x, {1}}, y}; b;"), "vector<ofstream> a = {{x, {1}}, y}");
  EXPECT_EQ(first_of(": a{1}, out{p} { b; }"), ": a{1}, out{p} ");
  EXPECT_EQ(first_of("run([&] { return fopen(x); }); b;"), "run([&] { return fopen(x); })");
}

TEST(Statement, ForKeepsItsSemicolons) {
  EXPECT_EQ(first_of("for (i = 0; i < 3; ++i) a[i] = open(x); b;"), "for (i = 0; i < 3; ++i) a[i] = open(x)");
}

TEST(Statement, StringsAndCommentsAreNoCode) {
  EXPECT_EQ(first_of("open(\";{\\\"}\", ';'); b;"), "open(\";{\\\"}\", ';')");
  EXPECT_EQ(first_of("a // ;\n /* ; { */ = 1'000; b;"), "a // ;\n /* ; { */ = 1'000");
  EXPECT_EQ(first_of("a = R\"x(;\n)\"; )x\"; b;"), "a = R\"x(;\n)\"; )x\"");
  EXPECT_THAT(read("a = fopen(\"freopen\"); // creat").words, testing::ElementsAre("a", "fopen"));
}

TEST(Statement, EveryBranchOfAConditionBelongsToIt) {
  EXPECT_EQ(read("a =\n#ifdef X\n open(x);\n#else\n creat(x);\n#endif\nb;").end, (Position{7, 1}));
  EXPECT_EQ(read("a =\n#if X\n open(\n#else\n creat(\n#endif\nx); b;").end, (Position{7, 3}));
  // In the branch that holds already: the others do not.
  EXPECT_EQ(read("a =\n#else\n nothing; \n#endif\nb; c;").end, (Position{5, 2}));
}

TEST(Statement, TheNextPragmaEndsIt) {
  EXPECT_EQ(read("\n# pragma sig random\na = open(x);").end, (Position{2, 1}));
  EXPECT_EQ(read("#pragma omp single\na = open(x);").end, (Position{2, 12}));
}

TEST(Statement, BeginsWhereItIsTold) {
  EXPECT_EQ(read("a; b = open(x); c;", {1, 3}).end, (Position{1, 15}));
  EXPECT_EQ(read("a;", {9, 1}).end, (Position{9, 1}));
}

}  // namespace
}  // namespace sluice
