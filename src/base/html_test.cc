#include "base/html.h"

#include <gmock/gmock.h>

#include <vector>

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, EscapesWhatIsNotThePicture) {
  const std::vector<Fact> facts = {{"<b>", "\"&\n"}};
  const std::string page = html_page("a <script>", facts, "<svg></svg>");
  EXPECT_THAT(page, HasSubstr("<title>a &lt;script&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>a &lt;script&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("<tr><th>&lt;b&gt;</th><td>&quot;&amp;\\n</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<svg></svg>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(Html, NeedsNothingFromElsewhere) {
  const std::string page = html_page("t", {}, "");
  for (const char* word : {"http", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

}  // namespace
}  // namespace sluice
