#include "profile/profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "profile/profile_json.h"

namespace sluice {
namespace {

constexpr std::uint64_t kilo = 1024;
constexpr std::uint64_t mega = 1024 * kilo;

Curve line(double base, double slope) {
  std::vector<Measured> points;
  for (const std::uint64_t size : {4 * kilo, 64 * kilo, mega, 16 * mega}) {
    const double seconds = base + slope * static_cast<double>(size);
    points.push_back(
        {.size = size, .seconds = seconds, .half = 0.01 * seconds, .repetitions = 10, .outliers = 1});
  }
  constexpr std::array boundaries = {64 * kilo, 16 * mega};
  return fit(std::move(points), boundaries);
}

// A disk: 1 ms, 100 MB/s, 10 ms of seek; flushing takes another 5 ms.
Profile disk() {
  Profile out;
  out.place = "disk";
  out.path = "/disk";
  out.id = "id";
  out.conditions = {
      .kernel = "6.1", .filesystem = "ext4", .options = "rw", .device = "sda", .scheduler = "none"};
  out.taken = 1700000000;
  out.grid = {{.low = 4 * kilo, .high = 64 * kilo, .gap = 4 * kilo},
              {.low = 64 * kilo, .high = 16 * mega, .gap = mega}};
  for (const Access& access : accesses) {
    const double latency = 0.001 + (access.random ? 0.01 : 0) + (access.mode == Mode::synced ? 0.005 : 0);
    out.curves[index_of(access)] = line(latency, 1e-8);
  }
  out.waits = {{.name = "create", .one = {.size = 0, .seconds = 1e-5, .half = 1e-6, .repetitions = 8}}};
  out.depths = {{.write = false, .depth = 1, .iops = 90}, {.write = false, .depth = 8, .iops = 200}};
  // Four sequential streams pay the seek each time.
  out.streams = {{.access = {.mode = Mode::direct, .write = false, .random = false},
                  .size = 4 * kilo,
                  .streams = 4,
                  .seconds = 0.0104096},
                 {.access = {.mode = Mode::direct, .write = false, .random = false},
                  .size = mega,
                  .streams = 4,
                  .seconds = 0.02297152}};
  out.strides = {{.write = false, .gap = 64 * kilo, .share = 0.2},
                 {.write = false, .gap = mega, .share = 0.6}};
  out.sawtooth = {.block = 4 * kilo, .base = 0.006, .slope = 1e-8, .tooth = 0.004, .error = 0.01};
  out.block = 4 * kilo;
  out.notes = {"a note"};
  return out;
}

double seconds(const Profile& profile, const Wish& wish) {
  const auto out = expect(profile, wish);
  EXPECT_TRUE(out);
  EXPECT_LE(out->low, out->seconds);
  EXPECT_GE(out->high, out->seconds);
  return out ? out->seconds : 0;
}

constexpr Access sequential_read{.mode = Mode::direct, .write = false, .random = false};
constexpr Access random_read{.mode = Mode::direct, .write = false, .random = true};
constexpr Access synced_write{.mode = Mode::synced, .write = true, .random = false};

TEST(Profile, WhatFollowsFromTheCurves) {
  const Profile profile = disk();
  EXPECT_NEAR(profile.latency(), 0.001, 1e-5);
  EXPECT_NEAR(profile.seek(), 0.01, 1e-5);
  EXPECT_NEAR(profile.bandwidth(false), 1e8, 1e6);
  EXPECT_EQ(profile.iops(false), 200);
  EXPECT_NEAR(profile.iops(true), 1 / 0.011, 1) << "without a sweep, what one request at a time does";
  const Estimate read = ratio(profile.curves[1], profile.curves[0], 4 * kilo);
  EXPECT_NEAR(read.seconds, 11.04 / 1.04, 0.05);
  EXPECT_LT(read.low, read.seconds);
  EXPECT_GT(read.low, 0.97 * read.seconds) << "two doubts of 1 %, by squares";
  EXPECT_GT(read.high, read.seconds);
  EXPECT_LT(read.high, 1.03 * read.seconds);
}

TEST(Profile, ExpectsWhatWasMeasured) {
  const Profile profile = disk();
  EXPECT_NEAR(seconds(profile, {.access = sequential_read, .size = mega}), 0.001 + 1e-8 * mega, 1e-5);
  EXPECT_NEAR(seconds(profile, {.access = random_read, .size = mega}), 0.011 + 1e-8 * mega, 1e-5);
  // A direct request is at least a sector.
  EXPECT_EQ(seconds(profile, {.access = sequential_read, .size = 1}),
            seconds(profile, {.access = sequential_read, .size = 4 * kilo}));
  // Reads have nothing to flush.
  EXPECT_EQ(seconds(profile, {.access = {.mode = Mode::synced}, .size = mega}),
            seconds(profile, {.access = sequential_read, .size = mega}));
  EXPECT_FALSE(expect(Profile{}, {.access = sequential_read, .size = mega}));
}

TEST(Profile, WritesBesideTheBlockCostMore) {
  const Profile profile = disk();
  const double whole = seconds(profile, {.access = synced_write, .size = 8 * kilo});
  EXPECT_GT(seconds(profile, {.access = synced_write, .size = 9 * kilo}), whole + 0.002);
  EXPECT_NEAR(seconds(profile, {.access = synced_write, .size = 12 * kilo}), whole, 1e-4);
}

TEST(Profile, GapsCostPartOfASeek) {
  const Profile profile = disk();
  const double none = seconds(profile, {.access = sequential_read, .size = 4 * kilo});
  const double all = seconds(profile, {.access = random_read, .size = 4 * kilo});
  const auto share = [&](std::uint64_t gap) {
    return (seconds(profile, {.access = sequential_read, .size = 4 * kilo, .gap = gap}) - none) /
           (all - none);
  };
  EXPECT_NEAR(share(64 * kilo), 0.2, 1e-6);
  EXPECT_NEAR(share(256 * kilo), 0.4, 1e-6);
  EXPECT_NEAR(share(1024 * mega), 0.6, 1e-6);
  EXPECT_NEAR(share(32 * kilo), 0.1, 1e-6);
}

TEST(Profile, StreamsTakeWhatWasMeasuredTogether) {
  const Profile profile = disk();
  const auto four = [&](std::uint64_t size) {
    return seconds(profile, {.access = sequential_read, .size = size, .streams = 4});
  };
  const auto one = [&](std::uint64_t size) {
    return seconds(profile, {.access = sequential_read, .size = size});
  };
  EXPECT_NEAR(four(4 * kilo), one(4 * kilo) / 0.1, 1e-6);
  EXPECT_NEAR(four(mega), one(mega) / 0.5, 1e-6);
  // The longer the requests the less the seeks matter.
  EXPECT_LT(four(16 * mega) / one(16 * mega), 1.3);
  // Two lie between one and four.
  const double two = seconds(profile, {.access = sequential_read, .size = 4 * kilo, .streams = 2});
  EXPECT_GT(two, one(4 * kilo));
  EXPECT_LT(two, four(4 * kilo));
  // Not measured: sequential streams side by side are random to the device.
  EXPECT_NEAR(seconds(profile, {.access = synced_write, .size = mega, .streams = 4}), 0.016 + 1e-8 * mega,
              1e-4);
  // Through the page cache they come in pieces of 128 KiB, or are gathered.
  const Access buffered_read{.mode = Mode::buffered, .write = false, .random = false};
  EXPECT_NEAR(seconds(profile, {.access = buffered_read, .size = 64 * kilo, .streams = 4}),
              (0.011 + 1e-8 * 128 * kilo) / 2, 1e-4);
  const Access buffered_write{.mode = Mode::buffered, .write = true, .random = false};
  EXPECT_NEAR(seconds(profile, {.access = buffered_write, .size = mega, .streams = 4}),
              seconds(profile, {.access = buffered_write, .size = mega}), 1e-6);
}

TEST(Profile, RandomReadsOfSeveralStreamsAreUnderWayTogether) {
  // Not measured with several streams; at a depth of eight, the disk does 200 a second instead of 90.
  const Profile profile = disk();
  EXPECT_NEAR(seconds(profile, {.access = random_read, .size = 4 * kilo, .streams = 8}),
              seconds(profile, {.access = random_read, .size = 4 * kilo}) * 90 / 200, 1e-6);
}

TEST(Profile, WritesMayTakeWhatTheDeviceSustains) {
  Profile profile = disk();
  const Wish wish{.access = {.mode = Mode::direct, .write = true, .random = true}, .size = 4 * kilo};
  const double cached = seconds(profile, wish);
  profile.curves[index_of({.mode = Mode::sustained, .write = true, .random = true})] = line(0.1, 1e-8);
  EXPECT_EQ(seconds(profile, wish), cached);
  EXPECT_GT(expect(profile, wish)->high, 0.1);
  EXPECT_LT(expect(profile, {.access = random_read, .size = 4 * kilo})->high, 0.1);
}

TEST(Profile, NoIntervalIsNarrowerThanTheMachineDrifts) {
  const auto width = [](double base, unsigned streams) {
    Profile profile = disk();
    profile.curves[0] = line(base, 1e-10);
    const Estimate out = *expect(profile, {.access = sequential_read, .size = 4 * kilo, .streams = streams});
    return std::log(out.high / out.low) / 2;
  };
  EXPECT_GE(width(0.01, 1), 0.15) << "a disk";
  EXPECT_LT(width(0.01, 1), 0.2);
  EXPECT_GT(width(1e-5, 1), 0.4) << "memory";
  EXPECT_GT(width(0.01, 4), 1.5 * width(0.01, 1)) << "several streams";
}

TEST(Profile, ThePageCacheIsNotFasterThanWhatIsBelowIt) {
  Profile profile = disk();
  const Wish wish{
      .access = {.mode = Mode::buffered, .write = false, .random = true}, .size = mega, .streams = 4};
  // Four streams in a small file found what the others had read.
  profile.streams.push_back({.access = wish.access, .size = mega, .streams = 4, .seconds = 1e-4});
  EXPECT_LT(seconds(profile, wish), 2e-4) << "memory, perhaps";
  profile.cache.state = "bypassed";
  EXPECT_GT(seconds(profile, wish), 0.009) << "100 MB/s";
}

TEST(Profile, WhatIsNotSureIsSaid) {
  Profile profile = disk();
  profile.sure = true;
  const Wish wish{.access = random_read, .size = 4 * kilo};
  EXPECT_EQ(explain(profile, wish).find("not sure"), std::string::npos);
  profile.sure = false;
  EXPECT_NE(explain(profile, wish).find("not sure"), std::string::npos);
}

TEST(Profile, ComesBackFromTheCatalogAsItWas) {
  Profile profile = disk();
  profile.files.push_back(
      {.file = mega, .curves = {line(1, 0), line(2, 0), line(3, 0), line(4, 0), line(5, 0), line(6, 0)}});
  const Json kept = kept_json(profile);
  const auto again = profile_from(Json::parse(write_json(kept)));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(write_json(kept_json(*again)), write_json(kept));
  EXPECT_TRUE(write_json(profile_json(*again)) == write_json(profile_json(profile)));
}

TEST(Profile, DamagedOnesAreRefused) {
  const Json kept = kept_json(disk());
  EXPECT_FALSE(profile_from(Json::parse("nonsense", nullptr, false)));
  EXPECT_FALSE(profile_from(Json::object()));
  for (const auto& [key, value] : kept.items()) {
    Json less = kept;
    less.erase(key);
    EXPECT_FALSE(profile_from(less)) << key;
    less[key] = Json::array({Json::array()});
    EXPECT_FALSE(profile_from(less)) << key;
  }
  Json odd = kept;
  odd["curves"]["direct random read"][0][1] = -1;
  EXPECT_FALSE(profile_from(odd));
  odd = kept;
  odd["curves"]["direct random read"] = Json::array();
  EXPECT_FALSE(profile_from(odd));
  const auto refuses = [&](const char* pointer, const Json& value) {
    Json other = kept;
    other[Json::json_pointer(pointer)] = value;
    EXPECT_FALSE(profile_from(other)) << pointer << " " << value;
  };
  refuses("/streams/0/0", 99);
  refuses("/streams/0/2", 0);
  refuses("/streams/0/3", 0);
  refuses("/strides/0/1", 0);
  refuses("/strides/0/2", -1e9);
  refuses("/sawtooth/tooth", -5);
  refuses("/sawtooth/block", 0);
  refuses("/curves/direct random read/0/1", 1e-300);
  refuses("/curves/direct random read/0/0", -5);
  refuses("/taken", std::uint64_t{1} << 63);
}

TEST(Profile, IsStaleWhenTheMachineIsAnother) {
  const Conditions then = disk().conditions;
  EXPECT_EQ(differences(then, then), "");
  Conditions now = then;
  now.kernel = "6.2";
  now.options = "ro";
  EXPECT_EQ(differences(then, now), "kernel '6.1' is now '6.2', mount options 'rw' is now 'ro'");
}

}  // namespace
}  // namespace sluice
