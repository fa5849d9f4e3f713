#include "profile/picture.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Curve curve(double base, double slope) {
  std::vector<Measured> points;
  for (std::uint64_t size = 512; size <= std::uint64_t{64} << 20; size *= 8) {
    points.push_back({.size = size,
                      .seconds = base + slope * static_cast<double>(size),
                      .half = 0.02 * base,
                      .repetitions = 10});
  }
  return fit(std::move(points), {});
}

// Of a disk, everything measured.
Profile sample() {
  Profile out;
  out.place = "disk <1>";
  out.path = "/data";
  out.block = 4096;
  out.conditions = {.kernel = "6.1", .filesystem = "ext4", .options = "rw", .device = "sda", .scheduler = ""};
  for (std::size_t i = 0; i < access_count; ++i) {
    out.curves[i] = curve(accesses[i].random ? 12e-3 : 1e-4, accesses[i].write ? 9e-9 : 8e-9);
  }
  out.waits = {{.name = "create", .one = {.size = 0, .seconds = 1e-3}}};
  for (const bool write : {false, true}) {
    for (const unsigned depth : {1U, 4U, 16U, 64U}) {
      out.depths.push_back({.write = write, .depth = depth, .iops = 80.0 + depth});
    }
    out.strides.push_back({.write = write, .gap = 4096, .share = 0.1});
    out.strides.push_back({.write = write, .gap = 1 << 20, .share = 0.9});
  }
  for (const unsigned streams : {2U, 4U, 8U}) {
    out.streams.push_back(
        {.access = accesses[0], .size = 4096, .streams = streams, .seconds = 1e-4 * streams});
  }
  out.sawtooth = Sawtooth{.block = 16384, .base = 1e-3, .slope = 1e-8, .tooth = 1e-3};
  return out;
}

TEST(Picture, HasTimesAndRatio) {
  const std::string text = draw_profile(sample());
  for (const char* part :
       {"disk &lt;1&gt;", "sequential read", "random write", ">ratio<", ">reads<", "<circle"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Picture, PageHasWhatWasMeasured) {
  const std::string text = page_profile(sample());
  for (const char* part : {"<h1>Profile of disk &lt;1&gt;</h1>", "Through the page cache",
                           "Every write flushed", "queue depth", "streams", "gap", "blocks of 16K",
                           "<th>create</th><td>1.00 ms</td>", "<th>file system</th><td>ext4</td>"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text.find("scheduler"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Picture, NothingMeasuredIsNothingDrawn) {
  EXPECT_EQ(draw_profile({}).find("nan"), std::string::npos);
  EXPECT_EQ(page_profile({}).find("Every write flushed"), std::string::npos);
}

}  // namespace
}  // namespace sluice
