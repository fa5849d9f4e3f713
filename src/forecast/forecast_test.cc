#include <gtest/gtest.h>

#include <cmath>

#include "forecast/measured.h"
#include "forecast/reliability.h"
#include "forecast/throughput.h"
#include "intent/parse.h"

namespace sluice {
namespace {

// IOSIG's table 2.
DeviceModel hdd() {
  return {.read_bandwidth = 130e6,
          .write_bandwidth = 125e6,
          .latency = 0.15,
          .seek = 0.02,
          .iops = 10,
          .chunk = 4096};
}
DeviceModel nfs() {
  return {.read_bandwidth = 105e6,
          .write_bandwidth = 103e6,
          .latency = 0.0004,
          .seek = 0,
          .iops = 1000,
          .chunk = 4096};
}

double rate(const DeviceModel& model, std::uint64_t request, Pattern pattern = Pattern::sequential,
            Operation operation = Operation::write) {
  return throughput(model, {.pattern = pattern, .operation = operation, .request = request, .assumed = {}})
      .rate;
}

TEST(Throughput, FollowsEquation3) {
  // 8 KiB aligned: latency and transfer only.
  EXPECT_NEAR(rate(nfs(), 8192), 8192 / std::max(0.0004 + 8192 / 103e6, 0.001), 1);
  // 1 MiB: the IOPS limit does not bind.
  EXPECT_NEAR(rate(nfs(), 1 << 20), (1 << 20) / (0.0004 + (1 << 20) / 103e6), 1);
  // Not a multiple of the chunk: whole chunks written, one read first, half the IOPS.
  const double amplified = 0.0004 + 3 * 4096 / 103e6 + 4096 / 105e6;
  EXPECT_NEAR(rate(nfs(), 10000), 10000 / std::max(amplified, 1.0 / 500), 1);
  // Reads need no second read.
  EXPECT_NEAR(rate(nfs(), 1000001, Pattern::sequential, Operation::read),
              1000001 / (0.0004 + 245 * 4096 / 105e6), 1);
  // Random adds the seek.
  EXPECT_NEAR(rate(hdd(), 1 << 30, Pattern::random), (1 << 30) / (0.17 + (1 << 30) / 125e6), 1);
  // Both directions alike: the mean of the times.
  EXPECT_NEAR(rate(nfs(), 1 << 20, Pattern::sequential, Operation::readwrite),
              (1 << 20) / (0.0004 + ((1 << 20) / 103e6 + (1 << 20) / 105e6) / 2), 1);
}

TEST(Throughput, StridesThatLeaveNothingOutAreSequential) {
  const auto strided = [](std::uint64_t stride) {
    return throughput(hdd(),
                      {.pattern = Pattern::strided, .request = 1 << 20, .stride = stride, .assumed = {}})
        .rate;
  };
  EXPECT_EQ(strided(1 << 21), rate(hdd(), 1 << 20, Pattern::random));
  EXPECT_EQ(strided(1 << 20), rate(hdd(), 1 << 20));
  EXPECT_EQ(strided(4096), rate(hdd(), 1 << 20));
}

TEST(Throughput, StreamsShareBandwidthAndIops) {
  const auto together = [](const DeviceModel& model, std::uint64_t request, unsigned streams) {
    return throughput(model, {.request = request, .streams = streams, .assumed = {}}).rate;
  };
  DeviceModel model = nfs();
  model.iops = 1e6;
  const double one = together(model, 4096, 1);
  EXPECT_NEAR(together(model, 4096, 2), 2 * one, 1e-6 * one);
  EXPECT_NEAR(together(model, 4096, 1000), 103e6, 1);      // the bandwidth
  EXPECT_NEAR(together(nfs(), 4096, 1000), 4096e3, 1e-3);  // the IOPS
  // Each is sequential, but the head goes from one to the other.
  model.seek = 0.1;
  EXPECT_LT(together(model, 4096, 2), one);
}

TEST(Throughput, TheModeComesFromSyncOrTheUsage) {
  const auto workload = [](std::string_view words, const Usage& usage = {}) {
    return workload_of(*parse_intent(words), usage);
  };
  EXPECT_EQ(workload("").mode, Mode::direct);
  EXPECT_EQ(workload("sync").mode, Mode::synced);
  EXPECT_EQ(workload("", {.mode = Mode::buffered, .streams = {}}).mode, Mode::buffered);
  EXPECT_EQ(workload("", {.mode = {}, .streams = 7}).streams, 7U);
  EXPECT_EQ(workload("strided(3K) size-per-IO(1K)").gap(), 2048U);
  EXPECT_EQ(workload("strided(1K) size-per-IO(3K)").gap(), 0U);
  using Words = std::vector<std::string>;
  EXPECT_EQ(workload("read random size-per-IO(1K)").assumed, (Words{"--io direct", "--streams 1"}));
  EXPECT_EQ(workload("read random size-per-IO(1K) sync", {.mode = {}, .streams = 1}).assumed, Words{});
}

// What scripts/bench posterize measured on the lab's disk, a chunk of 320 KiB, 4 MiB and 16 MiB with its
// flush.
TEST(Throughput, AFlushIsTwoMoreRequests) {
  const DeviceModel disk = {.read_bandwidth = 13631488,
                            .write_bandwidth = 13107200,
                            .latency = 0.03,
                            .seek = 0.004,
                            .iops = 29,
                            .chunk = 4096};
  const auto seconds = [&](std::uint64_t request, Operation operation) {
    return request_seconds(disk,
                           {.operation = operation, .request = request, .mode = Mode::synced, .assumed = {}});
  };
  EXPECT_NEAR(seconds(320 << 10, Operation::write), 0.128, 0.1 * 0.128);
  EXPECT_NEAR(seconds(4 << 20, Operation::write), 0.435, 0.1 * 0.435);
  EXPECT_NEAR(seconds(16 << 20, Operation::write), 1.46, 0.1 * 1.46);
  EXPECT_LT(seconds(4096, Operation::read), 0.04);  // there is nothing to flush
}

TEST(Throughput, ThePageCacheIsDoubtNotSpeed) {
  const Throughput direct = throughput(nfs(), {.assumed = {}});
  const Throughput buffered = throughput(nfs(), {.mode = Mode::buffered, .assumed = {}});
  EXPECT_EQ(direct.rate, buffered.rate);
  EXPECT_LT(buffered.low, direct.low);
  EXPECT_GT(buffered.high, direct.high);
  EXPECT_NE(explain_throughput(nfs(), {.mode = Mode::buffered, .assumed = {}}).find("page cache"),
            std::string::npos);
}

// A place that was measured: seconds = base + size / rate, of direct requests only.
Profile profile(double read_base, double write_base) {
  const auto curve = [](double base) {
    std::vector<Measured> points;
    for (std::uint64_t size = 4096; size <= (1 << 24); size *= 4) {
      points.push_back({.size = size, .seconds = base + static_cast<double>(size) / 1e8, .half = base / 20});
    }
    return fit(points, {});
  };
  Profile out;
  for (std::size_t i = 0; i < direct_count; ++i) {
    out.curves[i] = curve((accesses[i].write ? write_base : read_base) * (accesses[i].random ? 10 : 1));
  }
  return out;
}

TEST(Measured, ThroughputIsThatOfTheCurves) {
  const Profile measured = profile(1e-3, 3e-3);
  const auto of = [&](Operation operation, Pattern pattern) {
    const auto found = measured_throughput(
        measured, {.pattern = pattern, .operation = operation, .request = 1 << 20, .assumed = {}});
    EXPECT_TRUE(found);
    EXPECT_LE(found->low, found->rate);
    EXPECT_LE(found->rate, found->high);
    EXPECT_GT(found->low, 0);
    return (1 << 20) / found->rate;
  };
  const double transfer = (1 << 20) / 1e8;
  EXPECT_NEAR(of(Operation::read, Pattern::sequential), 1e-3 + transfer, 1e-5);
  EXPECT_NEAR(of(Operation::write, Pattern::sequential), 3e-3 + transfer, 1e-5);
  EXPECT_NEAR(of(Operation::readwrite, Pattern::sequential), 2e-3 + transfer, 1e-5);
  EXPECT_NEAR(of(Operation::write, Pattern::random), 30e-3 + transfer, 1e-4);
}

TEST(Measured, WhatWasNotMeasuredIsNotGuessed) {
  EXPECT_FALSE(measured_throughput(profile(1e-3, 1e-3), {.mode = Mode::buffered, .assumed = {}}));
  EXPECT_FALSE(measured_throughput(Profile{}, {.assumed = {}}));
}

TEST(Throughput, CrossesWhereThePaperSays) {
  // NFS is faster below, the disk above; by Eq. 3 with table 2 the crossing lies near 87.5 MB.
  EXPECT_GT(rate(nfs(), 80'000'000 / 4096 * 4096), rate(hdd(), 80'000'000 / 4096 * 4096));
  EXPECT_LT(rate(nfs(), 95'000'000 / 4096 * 4096), rate(hdd(), 95'000'000 / 4096 * 4096));
}

TEST(Throughput, BoundsAreWiderWhereTraitsAreDefaults) {
  Place place;
  place.read_bandwidth.value = 1e9;
  place.write_bandwidth.value = 1e9;
  place.latency.value = Duration(0, 1000);
  place.seek.value = Duration();
  place.iops.value = 1e6;
  const double wide = model_of(place).doubt;
  EXPECT_NE(model_of(place).doubtful.find("latency"), std::string::npos);
  for (Source* source : {&place.read_bandwidth.source, &place.write_bandwidth.source, &place.latency.source,
                         &place.seek.source, &place.iops.source}) {
    *source = Source::configuration;
  }
  EXPECT_LT(model_of(place).doubt, wide);
  EXPECT_EQ(model_of(place).doubtful, "");
}

TEST(Throughput, SurvivesPlacesThatKnowNothing) {
  const Throughput nothing = throughput(model_of(Place{}), workload_of(Intent{}));
  EXPECT_TRUE(std::isfinite(nothing.rate));
  EXPECT_GT(nothing.rate, 0);
  EXPECT_EQ(workload_of(Intent{}).assumed.size(), 5U);
}

TEST(Uber, FollowsEquation1) {
  // C(512,3) * 1e-18 / 510, the paper's "about 1e-14".
  EXPECT_NEAR(uber(1e-6, 512, 2), 4.36e-14, 0.01e-14);
  EXPECT_EQ(uber(0, 512, 2), 0);
  EXPECT_EQ(uber(1e-6, 512, 512), 0);
  // Without correction every bit error counts once: about n * ber / n.
  EXPECT_NEAR(uber(1e-9, 512, 0), 1e-9, 1e-14);
  // No overflow or cancellation at the ends.
  EXPECT_GT(uber(1e-15, 32768, 1), 0);
  EXPECT_TRUE(std::isfinite(uber(0.5, 32768, 72)));
}

constexpr double year = 365 * 86400.0;

DiskModel paper_disk() {
  return {.mttf = 10 * year, .mttr = 86400, .uber = uber(1e-6, 512, 2)};
}

double years(std::string_view layout, std::uint64_t bytes) {
  return mttdl(*parse_layout(layout), paper_disk(), bytes) / year;
}

TEST(Mttdl, FollowsEquation2) {
  const std::uint64_t tebibyte = std::uint64_t{1} << 40;
  EXPECT_NEAR(years("raid1:2", tebibyte), 13.0, 0.1);
  EXPECT_NEAR(years("raid5:5", tebibyte) * 12, 15.6, 0.1);
  EXPECT_NEAR(years("replica:2", tebibyte), years("raid1:2", tebibyte), 1e-9);
  EXPECT_NEAR(years("mds:4+1", tebibyte), years("raid5:5", tebibyte), 1e-9);
  EXPECT_NEAR(years("mds:4+2", tebibyte), years("raid6:6", tebibyte), 1e-9);
  EXPECT_NEAR(years("single", tebibyte), 10, 1e-9);
  EXPECT_NEAR(years("raid0:4", tebibyte), 2.5, 1e-9);
  EXPECT_NEAR(years("raid10:4", 0), years("raid1:2", 0) / 2, 1e-6);
  EXPECT_NEAR(years("raid0(raid1:2,raid1:2)", tebibyte), years("raid10:4", tebibyte), 1e-9);
  EXPECT_NEAR(years("raid0(raid5:5,raid5:5)", 0), years("raid5:5", 0) / 2, 1e-9);  // RAID 50
  EXPECT_NEAR(years("raid0(raid6:6,raid6:6)", 0), years("raid6:6", 0) / 2, 1e-6);  // RAID 60
  EXPECT_NEAR(years("raid0(raid5:5,raid5:5)", 2 * tebibyte), years("raid5:5", tebibyte) / 2, 1e-9);
  EXPECT_NEAR(years("raid10(raid0:2,raid0:2,raid0:2,raid0:2)", tebibyte),
              years("raid0(raid1(raid0:2,raid0:2),raid1(raid0:2,raid0:2))", tebibyte), 1e-9);
  EXPECT_GT(years("raid1:3", tebibyte), years("raid1:2", tebibyte) * 100);
  EXPECT_GT(years("raid1:2", 1 << 30), 100);
  EXPECT_TRUE(std::isfinite(years("mds:200+40", tebibyte)));
}

TEST(SurvivesOne, LooksIntoMembers) {
  for (const char* safe :
       {"raid1:2", "raid10:4", "raid0(raid1:2,raid5:3)", "mds:4+2", "raid1(raid0:2,raid0:2)"}) {
    EXPECT_TRUE(survives_one(*parse_layout(safe))) << safe;
  }
  for (const char* unsafe : {"single", "raid0:4", "replica:1", "raid0(raid1:2,single)"}) {
    EXPECT_FALSE(survives_one(*parse_layout(unsafe))) << unsafe;
  }
}

TEST(RebuildErrors, AreTheLargestOfAllGroups) {
  const DiskModel disk = paper_disk();
  const std::uint64_t tebibyte = std::uint64_t{1} << 40;
  const double h = read_errors(disk, tebibyte);
  EXPECT_NEAR(h, 0.3835, 0.001);
  EXPECT_NEAR(rebuild_errors(*parse_layout("raid5:5"), disk, tebibyte), 4 * h, 1e-12);
  EXPECT_NEAR(rebuild_errors(*parse_layout("raid10:4"), disk, tebibyte), h / 2, 1e-12);
  EXPECT_NEAR(rebuild_errors(*parse_layout("raid1(raid5:5,raid5:5)"), disk, tebibyte), 4 * h, 1e-12);
  EXPECT_EQ(rebuild_errors(*parse_layout("raid0:4"), disk, tebibyte), 0);
}

TEST(LossProbability, IsThatOfAnExponentialLife) {
  EXPECT_NEAR(loss_probability(10, 10), 1 - std::exp(-1), 1e-12);
  EXPECT_NEAR(loss_probability(1e15, 1), 1e-15, 1e-20);  // no cancellation
}

TEST(ReliabilityOf, ASingleDiskNeedsAStatedMttf) {
  Place place;
  place.layout.value = Layout{};
  place.mttf = {.value = Duration(315360000, 0), .source = Source::fallback, .detail = ""};
  place.mttr.value = Duration(86400, 0);
  place.ber.value = 1e-6;
  place.ecc_bits.value = 2;
  place.sector_bits.value = 512;
  EXPECT_FALSE(reliability_of(place, 1 << 30).mttdl);
  EXPECT_NE(reliability_of(place, 1 << 30).why.find("not reliable"), std::string::npos);
  place.mttf.source = Source::configuration;
  EXPECT_NEAR(*reliability_of(place, 1 << 30).mttdl, 315360000, 1);
  place.mttf.source = Source::fallback;
  place.layout.value = *parse_layout("raid1:2");
  EXPECT_TRUE(reliability_of(place, 1 << 30).mttdl);
  place.layout.value = *parse_layout("raid0(raid5:3,raid5:3)");  // its members are redundant
  EXPECT_TRUE(reliability_of(place, 1 << 30).mttdl);
  place.device = Device{};
  place.device->below.push_back(Device{});
  EXPECT_TRUE(reliability_of(place, 1 << 30).mttdl);
  place.device->below[0].degraded = true;  // promises nothing until it is repaired
  EXPECT_FALSE(reliability_of(place, 1 << 30).mttdl);
  place.device.reset();
  place.is_volatile.value = true;
  EXPECT_FALSE(reliability_of(place, 1 << 30).mttdl);
}

}  // namespace
}  // namespace sluice
