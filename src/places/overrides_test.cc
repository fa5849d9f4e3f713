#include "places/overrides.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "places/discover.h"

namespace sluice {
namespace {

Result<Discovery> look_at(const std::string& name, std::string_view config) {
  DiscoverOptions options;
  options.system = std::string(SLUICE_SOURCE_DIR) + "/tests/fixtures/systems/" + name;
  auto parsed = Config::parse(config, "test.toml");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
  return discover(*parsed, options);
}

Place named(const Result<Discovery>& found, std::string_view name) {
  EXPECT_TRUE(found) << (found ? "" : found.error().text());
  for (const Place& place : found ? found->places : std::vector<Place>{}) {
    if (place.name == name) {
      return place;
    }
  }
  ADD_FAILURE() << "no place called " << name;
  return {};
}

TEST(Overrides, EveryTraitOfAMount) {
  const auto found = look_at("md-raid5", R"(
[place.bulk]
path = "/srv/data/"
media = "SSD"
volatile = true
global = true
labels = ["Archive", "tamperproof"]
capacity = "10T"
free = "1T"
block-size = 65536
max-file-size = "1T"
layout = "raid6:8"
mttf = "5y"
mttr = 3600
ber = 1e-15
ecc-bits = 8
sector-bits = 4096
read-bandwidth = "130MB/s"
write-bandwidth = 1e8
latency = "2ms"
seek-latency = 0.008
max-iops = 250
price-per-gigabyte = 0.02
)");
  const Place place = named(found, "bulk");
  EXPECT_EQ(place.path, "/srv/data");
  EXPECT_EQ(*place.media, Media::ssd);
  EXPECT_TRUE(*place.is_volatile);
  EXPECT_TRUE(*place.global);
  EXPECT_EQ(*place.labels, (std::vector<std::string>{"archive", "tamperproof"}));
  EXPECT_EQ(*place.capacity, 10ULL << 40);
  EXPECT_EQ(*place.free, 1ULL << 40);
  EXPECT_EQ(*place.block, 65536U);
  EXPECT_EQ(*place.max_file, 1ULL << 40);
  EXPECT_EQ(print(*place.layout), "raid6:8");
  EXPECT_EQ(print(*place.mttf), "5y");
  EXPECT_EQ(print(*place.mttr), "1h");
  EXPECT_EQ(*place.ber, 1e-15);
  EXPECT_EQ(*place.ecc_bits, 8U);
  EXPECT_EQ(*place.sector_bits, 4096U);
  EXPECT_EQ(*place.read_bandwidth, 130.0 * 1024 * 1024);
  EXPECT_EQ(*place.write_bandwidth, 1e8);
  EXPECT_EQ(print(*place.latency), "2ms");
  EXPECT_EQ(print(*place.seek), "8ms");
  EXPECT_EQ(*place.iops, 250);
  EXPECT_EQ(*place.price, 0.02);
  EXPECT_EQ(place.price.source, Source::configuration);
  EXPECT_EQ(place.price.detail, "test.toml:23");
  EXPECT_EQ(place.filesystem, "xfs");
}

TEST(Overrides, EveryTraitRowIsAKeyOrIsMeasuredOnly) {
  const std::vector<std::string_view> keys = place_keys();
  for (const TraitRow& row : trait_rows(Place{})) {
    if (row.name != "quota") {
      EXPECT_NE(std::find(keys.begin(), keys.end(), row.name), keys.end()) << row.name;
    }
  }
  EXPECT_EQ(keys.size(), trait_rows(Place{}).size() - 1 + 2);  // and path and ignore
}

TEST(Overrides, EveryKeyIsDocumented) {
  const std::string page = *read_file(std::string(SLUICE_SOURCE_DIR) + "/docs/configuration.md");
  const std::size_t devices = page.find("## [device.NAME]");
  for (const std::string_view key : place_keys()) {
    EXPECT_LT(page.find(fmt::format("| `{}` |", key)), devices) << key;
  }
  for (const std::string_view key : device_keys()) {
    EXPECT_NE(page.find(fmt::format("`{}`", key), devices), std::string::npos) << key;
  }
}

TEST(Overrides, ByNameWithoutPath) {
  const auto found = look_at("md-raid5", "[place.srv-data]\nlabels = [\"archive\"]\n");
  EXPECT_EQ(named(found, "srv-data").labels.value->size(), 1U);
}

TEST(Overrides, AFolderIsANewPlaceThatInherits) {
  const auto found = look_at("lvm-stripe", "[place.jobs]\npath = \"/fast/jobs\"\nmttf = \"2y\"\n");
  const Place jobs = named(found, "jobs");
  const Place fast = named(found, "fast");
  EXPECT_EQ(jobs.path, "/fast/jobs");
  EXPECT_EQ(jobs.mount, "/fast");
  EXPECT_EQ(print(*jobs.layout), "raid0:2");
  EXPECT_EQ(jobs.id, fast.id + ":/jobs");
  EXPECT_EQ(print(*jobs.mttf), "2y");
  EXPECT_EQ(print(*fast.mttf), "10y");
}

TEST(Overrides, AWantedMountIsNotLeftOut) {
  EXPECT_EQ(named(look_at("laptop", "[place.www]\npath = \"/mnt/www\"\n"), "www").mount, "/mnt/www");
  EXPECT_EQ(named(look_at("laptop", "[place.scratch]\npath = \"/run/scratch\"\n"), "scratch").mount, "/run");
}

TEST(Overrides, AConfiguredNameWinsOverAFoundOne) {
  const auto found = look_at("lvm-stripe", "[place.fast]\npath = \"/plain\"\n");
  EXPECT_EQ(named(found, "fast").mount, "/plain");
  EXPECT_EQ(named(found, "fast-2").mount, "/fast");
}

TEST(Overrides, IgnoredPlacesAreSkippedWithTheReason) {
  const auto found = look_at("lvm-stripe", "[place.fast]\nignore = true\n");
  ASSERT_TRUE(found);
  for (const Place& place : found->places) {
    EXPECT_NE(place.mount, "/fast");
  }
  EXPECT_EQ(found->skipped.back().mount, "/fast");
  EXPECT_EQ(found->skipped.back().because, "ignored, says test.toml:2");
}

TEST(Overrides, IgnoredPlacesNeedNotBeThere) {
  const auto found = look_at("lvm-stripe", "[place.gone]\nignore = true\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->skipped.back().because, "not there, and ignored, says test.toml:2");
  EXPECT_FALSE(look_at("lvm-stripe", "[place.gone]\nvolatile = true\n"));
}

TEST(Overrides, MediaChoosesTheDefaults) {
  const auto found = look_at("lvm-stripe", "[place.fast]\nmedia = \"nvme\"\n");
  EXPECT_EQ(named(found, "fast").read_bandwidth.detail, "typical for an NVMe SSD");
}

TEST(Overrides, DevicesReachEveryPlaceOnThem) {
  const auto found = look_at("lvm-stripe", R"(
[device.sda]
mttf = "3y"
media = "ssd"
[device.sdb]
mttf = "2y"
ber = 1e-14
[device.dm-0]
layout = "raid1:2"
)");
  const Place fast = named(found, "fast");
  EXPECT_EQ(print(*fast.mttf), "2y") << "the least reliable counts";
  EXPECT_EQ(*fast.ber, 1e-14);
  EXPECT_EQ(print(*fast.layout), "raid1:2");
  EXPECT_EQ(*fast.media, Media::hdd) << "the slower of the two";
  EXPECT_EQ(print(*named(found, "safe").mttf), "2y");
  EXPECT_EQ(print(*named(found, "plain").mttf), "10y");
}

TEST(Overrides, APlaceWinsOverItsDevice) {
  const auto found = look_at("lvm-stripe", "[device.sda]\nmttf = \"3y\"\n[place.fast]\nmttf = \"7y\"\n");
  EXPECT_EQ(print(*named(found, "fast").mttf), "7y");
}

struct Wrong {
  const char* text;
  const char* where;
  const char* what;
  const char* advice;
};

TEST(Overrides, EveryFaultIsNamedWithItsPlace) {
  const Wrong all[] = {
      {"place = 3", "test.toml:1:9: ", "place must be a table", "[place.NAME]"},
      {"place.x = 3", "test.toml:1:", "place.x must be a table", "[place.NAME]"},
      {"[place.x]\npth = \"/a\"", "test.toml:2:1: ", "'pth'", "did you mean 'path'?"},
      {"[place.x]\npath = \"a\"", "test.toml:2:8: ", "path = 'a'", "absolute"},
      {"[place.x]\npath = 3", "test.toml:2:8: ", "path = 3", "absolute"},
      {"[place.\"a b\"]\npath = \"/\"", "test.toml:1:", "'a b'", "letters"},
      {"[place.fst]\nmttf = \"1y\"", "test.toml:1:", "'fst' has no path", "did you mean 'fast'?"},
      {"[place.fast]\nmttf = \"1x\"", "test.toml:2:8: ", "mttf = '1x'", "\"10y\""},
      {"[place.fast]\nmttf = 0", "test.toml:2:8: ", "mttf = 0", "above zero"},
      {"[place.fast]\nmttf = -1", "test.toml:2:8: ", "mttf = -1", "above zero"},
      {"[place.fast]\nber = 1.5", "test.toml:2:7: ", "ber = 1.5", "below 1"},
      {"[place.fast]\nber = nan", "test.toml:2:7: ", "ber = ", "below 1"},
      {"[place.fast]\ncapacity = \"big\"", "test.toml:2:12: ", "capacity = 'big'", "\"16M\""},
      {"[place.fast]\ncapacity = -5", "test.toml:2:12: ", "capacity = -5", "above zero"},
      {"[place.fast]\nlayout = \"raid5:2\"", "test.toml:2:10: ", "raid5 needs at least 3", ""},
      {"[place.fast]\nlayout = 5", "test.toml:2:10: ", "layout = 5", "raid5:4"},
      {"[place.fast]\nmedia = \"tape\"", "test.toml:2:9: ", "media = 'tape'", "one of ram"},
      {"[place.fast]\nvolatile = \"yes\"", "test.toml:2:12: ", "volatile = 'yes'", "true or false"},
      {"[place.fast]\nlabels = \"archive\"", "test.toml:2:10: ", "labels = 'archive'", "list"},
      {"[place.fast]\nlabels = [\"a\", 3]", "test.toml:2:16: ", "labels = 3", "list"},
      {"[place.fast]\nread-bandwidth = \"fast\"", "test.toml:2:18: ", "read-bandwidth = 'fast'", "130MB/s"},
      {"[place.fast]\nread-bandwidth = inf", "test.toml:2:18: ", "read-bandwidth = ", "130MB/s"},
      {"[place.fast]\nmax-iops = 0", "test.toml:2:12: ", "max-iops = 0", "above zero"},
      {"[place.fast]\nsector-bits = 0", "test.toml:2:15: ", "sector-bits = 0", "from 1 to"},
      {"[place.fast]\necc-bits = 1.5", "test.toml:2:12: ", "ecc-bits = 1.5", "whole number"},
      {"[place.fast]\nignore = 1", "test.toml:2:10: ", "ignore = 1", "true or false"},
      {"[place.fast]\nlatency = 2020-01-01", "test.toml:2:11: ", "latency = a date", "8ms"},
      {"[place.p]\npath = \"/proc/x\"", "test.toml:2:8: ", "proc holds no data", ""},
      {"[place.a]\npath = \"/fast\"\n[place.b]\npath = \"/fast\"", "test.toml:", "already the path",
       "its own path"},
      {"[place.a]\npath = \"/fast/x\"\n[place.b]\npath = \"/fast/x/.\"", "test.toml:", "already the path",
       ""},
      {"[device.sda]\nlabels = []", "test.toml:2:1: ", "'labels'", "media"},
      {"device = []", "test.toml:1:10: ", "device must be a table", "[device.NAME]"},
  };
  for (const Wrong& wrong : all) {
    const auto found = look_at("lvm-stripe", wrong.text);
    ASSERT_FALSE(found) << wrong.text;
    EXPECT_TRUE(found.error().usage) << wrong.text;
    EXPECT_EQ(found.error().what.rfind(wrong.where, 0), 0U) << found.error().text();
    EXPECT_NE(found.error().what.find(wrong.what), std::string::npos) << found.error().text();
    EXPECT_NE(found.error().advice.find(wrong.advice), std::string::npos) << found.error().text();
  }
}

}  // namespace
}  // namespace sluice
