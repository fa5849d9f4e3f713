#include "fronts/compiler/openers.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

TEST(Openers, UsersOwn) {
  const auto opener = parse_opener("io::File::make:2");
  ASSERT_TRUE(opener);
  EXPECT_EQ(opener->name, "io::File::make");
  EXPECT_EQ(opener->path, 1U);
  EXPECT_TRUE(opener->own);
  for (const char* bad :
       {"", ":", "x", "x:", "x:0", "x:-1", "x:1.5", ":1", "x y:1", "x::1", "x:1000", "x:1:"}) {
    EXPECT_FALSE(parse_opener(bad)) << bad;
  }
}

TEST(Openers, Streams) {
  const auto by_string = find_stream(
      "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_"
      "Openmode");
  ASSERT_TRUE(by_string);
  EXPECT_EQ(by_string->always, 16U);
  EXPECT_EQ(by_string->with_char_path, "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode");
  const auto by_path = find_stream(
      "_ZNSt13basic_fstreamIwSt11char_traitsIwEEC2INSt10filesystem7__cxx114pathES5_EERKT_St13_Ios_Openmode");
  ASSERT_TRUE(by_path);
  EXPECT_EQ(by_path->with_char_path, "_ZNSt13basic_fstreamIwSt11char_traitsIwEEC2EPKcSt13_Ios_Openmode");
  EXPECT_TRUE(find_stream("_ZNSt14basic_ifstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode"));
  EXPECT_FALSE(find_stream("_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1Ev"));
  EXPECT_FALSE(find_stream("_ZNSt14basic_ofstreamIcSt11char_traitsIcEE5closeEv"));
  EXPECT_FALSE(find_stream("_ZN2my14basic_ofstreamIcEC1EPKcSt13_Ios_Openmode"));
}

TEST(Openers, ByWord) {
  const std::vector<Opener> own = {*parse_opener("io::make:1")};
  const auto names = [&](std::vector<std::string> words) { return names_opener(words, own); };
  EXPECT_TRUE(names({"a", "fopen64"}));
  EXPECT_TRUE(names({"std", "ifstream", "f"}));
  EXPECT_TRUE(names({"make"}));
  EXPECT_FALSE(names({"my_open", "opener", ""}));
}

}  // namespace
}  // namespace sluice
