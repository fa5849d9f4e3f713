#include "intent/presets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "intent/parse.h"
#include "intent/rules.h"

namespace sluice {
namespace {

std::string words(std::string_view text, const Sigdefs& sigdefs = {}) {
  const auto intent = parse_intent(text, sigdefs);
  return intent ? print(*intent) : intent.error().message;
}

TEST(Presets, EachIsCanonicalAndNoWordOfTheGrammar) {
  EXPECT_EQ(presets().size(), 7U);
  for (const Preset& preset : presets()) {
    ASSERT_NE(find_preset(preset.name), nullptr);
    EXPECT_EQ(print(*find_preset(preset.name)), preset.words);
    EXPECT_EQ(find_word(preset.name), nullptr) << preset.name;
    EXPECT_FALSE(preset.about.empty());
    // Its name may be given to a sigdef, which is the same as being usable by `sig`.
    EXPECT_TRUE(parse_sigdef(std::string(preset.name) + " random")) << preset.name;
  }
  EXPECT_EQ(find_preset("persist"), nullptr);
}

TEST(Presets, AreKnownWhereverASignatureIs) {
  EXPECT_EQ(words("sig journal"), "persist sequential write size-per-IO(4K) sync");
  EXPECT_EQ(words("SIG Rollback-Log size-per-IO(64K)"), "persist sequential write size-per-IO(64K)");
  EXPECT_EQ(words("tables totalsize(1G)"), "persist totalsize(1G) random readwrite size-per-IO(8K)");
  EXPECT_EQ(words("persist hot"), "signature 'hot' at column 9 must come first");
  EXPECT_EQ(words("sig cold temp"), "'temp' at column 10 contradicts 'archive' of signature 'cold'");
  Rules rules;
  ASSERT_TRUE(rules.parse_toml_rules("[[rule]]\npath='*.log'\nintent='sig journal'\n", "/r.toml"));
  EXPECT_EQ(print(rules.rules()[0].intent), words("sig journal"));
}

TEST(Presets, GiveWayToTheUsersOwnInSilence) {
  Rules rules;
  ASSERT_TRUE(rules.define("hot sig hot sequential", "--sigdef"));
  EXPECT_EQ(words("sig hot", rules.sigdefs()), "persist sequential size-per-IO(4K) reuse(often)");
  EXPECT_FALSE(rules.define("hot random", "--sigdef"));  // twice by the user
  const auto names = rules.sigdefs().names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "hot"), 1);
  EXPECT_EQ(names.size(), presets().size());
  EXPECT_EQ(words("sig hot"), print(*find_preset("hot")));  // only there
}

}  // namespace
}  // namespace sluice
