#include "pipeline/line.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace sluice {
namespace {

TEST(Line, QuotesAsTheRestOfTheProgram) {
  using std::string_literals::operator""s;
  for (const std::string& path :
       {"/plain/path"s, "/two\nlines"s, "/tab\t\\back"s, "/\x1b[31mred\x7f"s, "/caf\u00e9/\u6587"s,
        "/bad\xff\xc3"s, "/c1\u009b31m"s, "/back\u202ewards"s, "/null\0byte"s, "/it's"s, ""s}) {
    EXPECT_EQ(Line().quote(path).text(), "sluice: " + quote(path));
  }
}

TEST(Line, IsCutWhereItIsFull) {
  for (std::size_t size = 4500; size < 4700; ++size) {
    Line line;
    line.add(std::string(size - 200, 'x')).quote(std::string(200, '\n')).add(" and more");
    const std::string all =
        "sluice: " + std::string(size - 200, 'x') + quote(std::string(200, '\n')) + " and more";
    EXPECT_LT(line.text().size(), 4096U + 512U);
    EXPECT_EQ(line.text().substr(0, 4500), std::string_view(all).substr(0, 4500));
  }
}

}  // namespace
}  // namespace sluice
