#include "base/table.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace sluice {
namespace {

Table sample() {
  Table out({{.title = "NAME"},
             {.title = "PATH", .shrink = Shrink::middle},
             {.title = "SIZE", .align = Align::right}});
  out.add({"a", "/a/very/long/path/to/somewhere", "1 B"});
  out.add({"größe", "/b", "100 GiB"}, Colour::red);
  return out;
}

TEST(Table, LinesUp) {
  EXPECT_EQ(sample().print({}),
            "NAME   PATH                               SIZE\n"
            "a      /a/very/long/path/to/somewhere      1 B\n"
            "größe  /b                              100 GiB\n");
}

TEST(Table, ShrinksToTheTerminal) {
  const std::string text = sample().print({.colour = false, .width = 34});
  EXPECT_EQ(text,
            "NAME   PATH                   SIZE\n"
            "a      /a/very/l…omewhere      1 B\n"
            "größe  /b                  100 GiB\n");
  for (std::size_t limit = 1; limit < 60; ++limit) {
    const std::string table = sample().print({.colour = false, .width = limit});
    for (const std::string_view line : split(table, '\n')) {
      // Columns that may not shrink and eight columns of the path always stay.
      EXPECT_LE(width(line), std::max<std::size_t>(limit, 24)) << limit;
    }
  }
}

TEST(Table, DropsColumnsWhereShrinkingIsNotEnough) {
  Table table(
      {{.title = "NAME"}, {.title = "SIZE", .drop = 1}, {.title = "NOTE", .shrink = Shrink::end, .drop = 2}});
  table.add({"abcdefgh", "100 GiB", "a note of some length"});
  EXPECT_EQ(table.print({.colour = false, .width = 80}),
            "NAME      SIZE     NOTE\nabcdefgh  100 GiB  a note of some length\n");
  EXPECT_EQ(table.print({.colour = false, .width = 20}), "NAME      SIZE\nabcdefgh  100 GiB\n");
  EXPECT_EQ(table.print({.colour = false, .width = 10}), "NAME\nabcdefgh\n");
}

TEST(Table, ColoursOnlyWhenAsked) {
  EXPECT_EQ(sample().print({}).find('\x1b'), std::string::npos);
  EXPECT_NE(sample().print({.colour = true, .width = 0}).find("\x1b[31m"), std::string::npos);
}

TEST(Shorten, CutsBetweenCharacters) {
  EXPECT_EQ(shorten("漢字漢字", 5, Shrink::end), "漢字…");
  EXPECT_EQ(shorten("漢字漢字", 4, Shrink::end), "漢…");
  EXPECT_EQ(shorten("abc", 3, Shrink::end), "abc");
  EXPECT_EQ(shorten("abcd", 1, Shrink::middle), "…");
}

TEST(Wrap, BreaksAtBlanks) {
  EXPECT_EQ(wrap("one two three", 9, 2), "  one two\n  three\n");
  EXPECT_EQ(wrap("unbreakable", 4, 0), "unbreakable\n");
  EXPECT_EQ(wrap("", 4, 0), "");
}

}  // namespace
}  // namespace sluice
