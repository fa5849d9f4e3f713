#include "base/error_json.h"
#include "base/json.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ErrorJson, ComesBackAsItWas) {
  Error error = fail(EIO, "cannot read x");
  error.advice = "try again";
  error.usage = true;
  const auto again = error_in(Json::parse(error_json(error).dump()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->what, "cannot read x");
  EXPECT_EQ(again->number, EIO);
  EXPECT_EQ(again->advice, "try again");
  EXPECT_TRUE(again->usage);
  const auto small = error_in(error_json(fail("no")));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->number, 0);
  EXPECT_TRUE(small->advice.empty());
  EXPECT_FALSE(small->usage);
}

TEST(ErrorJson, WhatIsNoErrorIsNone) {
  EXPECT_FALSE(error_in(Json()));
  EXPECT_FALSE(error_in(Json::parse("nonsense", nullptr, false)));
  EXPECT_FALSE(error_in(Json{{"state", "alive"}}));
  const auto odd = error_in(Json::parse(R"({"error": 5, "number": "x", "usage": []})"));
  ASSERT_TRUE(odd);
  EXPECT_FALSE(odd->usage);
}

}  // namespace
}  // namespace sluice
