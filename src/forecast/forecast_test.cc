#include <gtest/gtest.h>

#include <cmath>

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
  EXPECT_NEAR(rate(hdd(), 1 << 30, Pattern::strided), rate(hdd(), 1 << 30, Pattern::random), 1);
  // Both directions alike: the mean of the times.
  EXPECT_NEAR(rate(nfs(), 1 << 20, Pattern::sequential, Operation::readwrite),
              (1 << 20) / (0.0004 + ((1 << 20) / 103e6 + (1 << 20) / 105e6) / 2), 1);
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
  EXPECT_EQ(workload_of(Intent{}).assumed.size(), 3U);
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
