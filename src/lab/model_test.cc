#include "lab/model.h"

#include <gmock/gmock.h>

namespace sluice::lab {
namespace {

using testing::HasSubstr;

TEST(Model, EveryPresetIsSoundAndReadsBackFromItsText) {
  EXPECT_GE(presets().size(), 7U);
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(check(preset.model)) << preset.name;
    Model again{.parallel = 1, .queue_depth = 1, .seed = 0};
    for (const std::string& assignment : print_model(preset.model)) {
      EXPECT_TRUE(set_field(again, assignment)) << assignment;
    }
    EXPECT_EQ(print_model(again), print_model(preset.model)) << preset.name;
  }
}

TEST(Model, PresetsFromTheIssueAreThere) {
  for (const char* name : {"ram", "nvram", "ssd", "hdd", "raid1", "cloud", "none"}) {
    EXPECT_TRUE(load_model(name)) << name;
  }
  EXPECT_TRUE(load_model("none")->instant());
  EXPECT_FALSE(load_model("hdd")->instant());
}

TEST(Model, AFileBeginsWithAPresetAndChangesIt) {
  const auto model = parse_model(
      "preset = \"hdd\"\nseek-full = \"20ms\"\ncache = 0\nrpm = 5400\nread-latency = 0.002\nvolatile = true\n"
      "read-bandwidth = \"100MB/s\"\n",
      "m.toml");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_DOUBLE_EQ(model->seek_full, 0.02);
  EXPECT_DOUBLE_EQ(model->cache, 0);
  EXPECT_DOUBLE_EQ(model->rpm, 5400);
  EXPECT_DOUBLE_EQ(model->read_latency, 0.002);
  EXPECT_DOUBLE_EQ(model->volatile_, 1);
  EXPECT_DOUBLE_EQ(model->read_bandwidth, 100.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(model->write_bandwidth, 125.0 * 1024 * 1024);
}

TEST(Model, WhatIsWrongIsNamedWithItsLine) {
  const auto wrong = [](const char* text) { return parse_model(text, "m.toml").error().text(); };
  EXPECT_THAT(wrong("rpm = 7200\nsek = \"1ms\"\n"), HasSubstr("m.toml:2"));
  EXPECT_THAT(wrong("preset = \"hd\"\n"), HasSubstr("presets are"));
  EXPECT_THAT(wrong("preset = 5\n"), HasSubstr("no preset"));
  EXPECT_THAT(wrong("latency = \"fast\"\n"), HasSubstr("m.toml:1"));
  EXPECT_THAT(wrong("latency = [1]\n"), HasSubstr("latency"));
  EXPECT_THAT(wrong("seek = \"5ms\"\nseek-full = \"1ms\"\n"), HasSubstr("seek-full"));
  EXPECT_THAT(wrong("rpm = 7200\n"), HasSubstr("read-bandwidth"));
  EXPECT_THAT(wrong("tail-rate = 1.5\n"), HasSubstr("out of range"));
  EXPECT_THAT(wrong("latency = \"2h\"\n"), HasSubstr("out of range"));
  EXPECT_THAT(wrong("latency = -1\n"), HasSubstr("latency"));
  EXPECT_THAT(wrong("rpm = \n"), HasSubstr("m.toml:1"));
  EXPECT_TRUE(parse_model("sek = 1", "m.toml").error().usage);
}

TEST(Model, ShortNamesSetReadsAndWrites) {
  Model model;
  EXPECT_TRUE(set_field(model, "latency=2ms"));
  EXPECT_TRUE(set_field(model, "bandwidth=10M/s"));
  EXPECT_DOUBLE_EQ(model.read_latency, 0.002);
  EXPECT_DOUBLE_EQ(model.write_latency, 0.002);
  EXPECT_DOUBLE_EQ(model.write_bandwidth, 10.0 * 1024 * 1024);
  EXPECT_THAT(set_field(model, "latency").error().text(), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(set_field(model, "latncy=1ms").error().text(), HasSubstr("did you mean 'latency'"));
  EXPECT_TRUE(set_field(model, "preset=hdd"));
  EXPECT_DOUBLE_EQ(model.rpm, 7200);
}

TEST(Model, SlowMotionKeepsProportions) {
  const Model hdd = *load_model("hdd");
  const Model slow = hdd.slower(10, true);
  EXPECT_DOUBLE_EQ(slow.seek_full, hdd.seek_full * 10);
  EXPECT_DOUBLE_EQ(slow.rpm, hdd.rpm / 10);
  EXPECT_DOUBLE_EQ(slow.read_bandwidth, hdd.read_bandwidth / 10);
  EXPECT_DOUBLE_EQ(slow.cache, hdd.cache);
  const Model scaled = hdd.slower(0.1, false);
  EXPECT_DOUBLE_EQ(scaled.seek_full, hdd.seek_full / 10);
  EXPECT_DOUBLE_EQ(scaled.read_bandwidth, hdd.read_bandwidth);
}

}  // namespace
}  // namespace sluice::lab
