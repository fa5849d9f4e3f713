#include "places/place_json.h"
#include "base/json.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Place sample() {
  Place out;
  out.name = "bulk";
  out.path = "/mnt/bulk";
  out.mount = "/mnt/bulk";
  out.filesystem = "xfs";
  out.capacity = {.value = 1000, .source = Source::system, .detail = "statvfs"};
  out.mttf = {.value = Duration(10, 500'000'000), .source = Source::configuration, .detail = "a.toml:3"};
  out.media = {.value = Media::hdd, .source = Source::system, .detail = "sda"};
  out.layout = {.value = *parse_layout("raid5:3"), .source = Source::system, .detail = "md0"};
  out.device.emplace().name = "md0";
  out.device->below.emplace_back().name = "sda1";
  return out;
}

TEST(PlaceJson, GivesBaseUnits) {
  const Json json = to_json(sample());
  EXPECT_EQ(json["traits"]["capacity"]["value"], 1000);
  EXPECT_EQ(json["traits"]["capacity"]["source"], "system");
  EXPECT_EQ(json["traits"]["mttf"]["value"], 10.5);
  EXPECT_EQ(json["traits"]["mttf"]["source"], "configuration");
  EXPECT_EQ(json["traits"]["mttf"]["detail"], "a.toml:3");
  EXPECT_EQ(json["traits"]["media"]["value"], "hdd");
  EXPECT_EQ(json["traits"]["layout"]["value"], "raid5:3");
  EXPECT_TRUE(json["traits"]["price-per-gigabyte"]["value"].is_null());
  EXPECT_EQ(json["device"]["below"][0]["name"], "sda1");
  EXPECT_EQ(json["reach"], "reachable");
}

TEST(PlaceJson, TraitsAreTheRows) {
  const Json json = to_json(sample());
  std::vector<std::string> keys;
  for (const auto& item : json["traits"].items()) {
    keys.push_back(item.key());
  }
  std::vector<std::string> rows;
  for (const TraitRow& row : trait_rows(sample())) {
    rows.emplace_back(row.name);
  }
  EXPECT_EQ(keys, rows);
}

TEST(PlaceJson, AnyPathIsUnambiguous) {
  Place place = sample();
  place.path = "/a\n\xff";
  const Json json = to_json(place);
  EXPECT_EQ(json["path"], "/a\\n\\xff");
  EXPECT_EQ(json["path_base64"], "L2EK/w==");
  EXPECT_FALSE(json.contains("mount_base64"));
  EXPECT_NO_THROW(static_cast<void>(json.dump()));
  place.path = "/a\n\xc3\xa9";
  EXPECT_EQ(to_json(place)["path"], "/a\n\xc3\xa9");
}

TEST(PlaceJson, AnyTextCanBePrinted) {
  Place place = sample();
  for (std::string* text :
       {&place.name, &place.mount, &place.filesystem, &place.origin, &place.options, &place.id,
        &place.reach_note, &place.device->name, &place.device->note, &place.device->model}) {
    *text = "\xfe";
  }
  place.labels = {.value = std::vector<std::string>{"\xfe"}, .source = Source::system, .detail = "\xfe"};
  const Skipped skipped{.mount = "\xfe", .filesystem = "\xfe", .because = "\xfe"};
  EXPECT_NO_THROW(static_cast<void>(to_json(place).dump()));
  EXPECT_NO_THROW(static_cast<void>(to_json(skipped).dump()));
}

}  // namespace
}  // namespace sluice
