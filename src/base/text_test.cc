#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice {
namespace {

TEST(Escape, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(escape("/mnt/nvme 1/größe"), "/mnt/nvme 1/größe");
}

TEST(Escape, MakesOddBytesVisibleAndDistinct) {
  EXPECT_EQ(escape("a\nb"), "a\\nb");
  EXPECT_EQ(escape("a\\nb"), "a\\\\nb");
  EXPECT_EQ(escape("\xff\x01"), "\\xff\\x01");
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate is not UTF-8
  EXPECT_EQ(escape("\xc0\xaf"), "\\xc0\\xaf");           // nor is an overlong slash
  EXPECT_EQ(escape("\x1b[31m"), "\\x1b[31m");
  // NOLINTNEXTLINE(misc-misleading-bidirectional): that is what it is about
  EXPECT_EQ(escape("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override hides file names
}

TEST(Escape, XmlIsNeverMarkup) {
  EXPECT_EQ(escape_xml("<a href=\"x\">&\n"), "&lt;a href=&quot;x&quot;&gt;&amp;\\n");
}

TEST(Width, CountsColumns) {
  EXPECT_EQ(width("abc"), 3U);
  EXPECT_EQ(width("größe"), 5U);
  EXPECT_EQ(width("漢字"), 4U);
  EXPECT_EQ(characters("漢字"), 2U);
  EXPECT_EQ(characters("\xff\xfe"), 2U);
}

TEST(Split, KeepsEmptyFields) {
  EXPECT_EQ(split("a,,b", ',').size(), 3U);
  EXPECT_EQ(split("", ',').size(), 1U);
  EXPECT_EQ(split_blanks("  a \t b\n").size(), 2U);
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Nearest, FindsTypingErrors) {
  constexpr std::array<std::string_view, 4> words = {"random", "sequential", "size-per-IO", "temp"};
  EXPECT_EQ(nearest("radnom", words), "random");
  EXPECT_EQ(nearest("Random", words), "random");
  EXPECT_EQ(nearest("seqential", words), "sequential");
  EXPECT_EQ(nearest("sizeperio", words), "size-per-IO");
  EXPECT_EQ(nearest("tmp", words), "temp");
  EXPECT_EQ(nearest("elephant", words), "");
  EXPECT_EQ(nearest("", words), "");
}

TEST(Text, PluralHasOneAlone) {
  EXPECT_EQ(plural(1, "rule"), "1 rule");
  EXPECT_EQ(plural(0, "rule"), "0 rules");
  EXPECT_EQ(plural(1, "process"), "1 process");
  EXPECT_EQ(plural(2, "process"), "2 processes");
}

}  // namespace
}  // namespace sluice
