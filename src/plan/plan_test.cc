#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "intent/parse.h"
#include "plan/json.h"

namespace sluice {
namespace {

template <class T>
Trait<T> stated(T value) {
  return {.value = std::move(value), .source = Source::configuration, .detail = "test"};
}

Place place(std::string name, double bandwidth, Duration latency, double iops, std::uint64_t free) {
  Place out;
  out.name = std::move(name);
  out.path = "/" + out.name;
  out.writable = true;
  out.read_bandwidth = stated(bandwidth);
  out.write_bandwidth = stated(bandwidth);
  out.latency = stated(latency);
  out.seek = stated(Duration());
  out.iops = stated(iops);
  out.block = stated<std::uint64_t>(4096);
  out.capacity = stated(free * 2);
  out.free = stated(free);
  out.is_volatile = stated(false);
  out.global = stated(false);
  out.mttr = stated(Duration(86400, 0));
  out.mttf = {.value = Duration(315360000, 0), .source = Source::fallback, .detail = ""};
  out.ber = stated(1e-6);
  out.ecc_bits = stated<std::uint64_t>(2);
  out.sector_bits = stated<std::uint64_t>(512);
  out.layout = stated(Layout{});
  return out;
}

constexpr std::uint64_t gigabyte = 1'000'000'000;

// IOSIG's table 2.
std::vector<Place> table2() {
  std::vector<Place> out = {place("ramdisk", 2.4e9, Duration(0, 1000), 800000, gigabyte * 11 / 10),
                            place("nvram", 1.7e9, Duration(0, 100'000), 9000, gigabyte * 2),
                            place("raid1", 415e6, Duration(0, 110'000), 6000, gigabyte * 4),
                            place("hdd", 125e6, Duration(0, 150'000'000), 10, gigabyte * 1500),
                            place("nfs", 103e6, Duration(0, 400'000), 1000, gigabyte * 1000)};
  out[0].is_volatile = stated(true);
  out[2].layout = stated(*parse_layout("raid1:2"));
  out[3].seek = stated(Duration(0, 20'000'000));
  out[4].global = stated(true);
  return out;
}

std::string chosen(std::string_view words, const std::vector<Place>& places = table2()) {
  const Plan plan = make_plan(*parse_intent(words), places);
  return plan.chosen() != nullptr ? plan.chosen()->place : "nothing";
}

const Rejection* rejection(const Plan& plan, std::string_view name) {
  for (const Rejection& row : plan.rejected) {
    if (row.place == name) {
      return &row;
    }
  }
  return nullptr;
}

TEST(Plan, ChoosesWhatThePaperChose) {
  EXPECT_EQ(chosen("persist sequential write size-per-IO(16MB) totalsize(6GB)"), "nfs");
  EXPECT_EQ(chosen("persist sequential write size-per-IO(512MB) totalsize(6GB)"), "hdd");
  EXPECT_EQ(chosen("random write size-per-IO(512K) totalsize(1GB) global"), "nfs");
  EXPECT_EQ(chosen("random write size-per-IO(512K) totalsize(1GB) MTTDL(20y)"), "raid1");
  EXPECT_EQ(chosen("random write size-per-IO(512K) totalsize(1GB) persist"), "nvram");
  EXPECT_EQ(chosen("random write size-per-IO(512K) totalsize(1GB)"), "ramdisk");
}

TEST(Plan, EveryConstraintRejectsWhatItShould) {
  const auto places = table2();
  const auto rejected = [&](std::string_view words) {
    std::vector<std::string> out;
    for (const Rejection& row : make_plan(*parse_intent(words), places).rejected) {
      EXPECT_FALSE(row.because.empty());
      out.push_back(row.place);
    }
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(rejected(""), Names{});
  EXPECT_EQ(rejected("global"), (Names{"ramdisk", "nvram", "raid1", "hdd"}));
  EXPECT_EQ(rejected("local"), (Names{"nfs"}));
  EXPECT_EQ(rejected("persist"), (Names{"ramdisk"}));
  EXPECT_EQ(rejected("temp"), Names{});
  EXPECT_EQ(rejected("totalsize(3G)"), (Names{"ramdisk", "nvram"}));
  EXPECT_EQ(rejected("totalsize(1GB) MTTDL(20y)"), (Names{"ramdisk", "nvram", "hdd", "nfs"}));
  EXPECT_EQ(rejected("totalsize(1GB) MTTDL(100000y)"), (Names{"ramdisk", "nvram", "raid1", "hdd", "nfs"}));
  EXPECT_EQ(rejected("totalsize(1GB) availability(0.001, 1d)"), (Names{"ramdisk", "nvram", "hdd", "nfs"}));
  EXPECT_EQ(rejected("totalsize(1GB) availability(1e-12, 1d)").size(), 5U);
  EXPECT_EQ(rejected("archive").size(), 5U);
  EXPECT_EQ(rejected("tamperproof").size(), 5U);
}

TEST(Plan, LabelsAllowArchive) {
  auto places = table2();
  places[3].labels = stated(std::vector<std::string>{"archive"});
  EXPECT_EQ(chosen("archive", places), "hdd");
  EXPECT_EQ(chosen("archive tamperproof", places), "nothing");
}

TEST(Plan, PromisedSpaceAndLargestFilesCount) {
  auto places = table2();
  EXPECT_EQ(chosen("persist totalsize(1GB)", places), "nvram");
  places[1].promised = gigabyte * 3 / 2;
  EXPECT_EQ(chosen("persist totalsize(1GB)", places), "raid1");
  EXPECT_NE(rejection(make_plan(*parse_intent("persist totalsize(1GB)"), places), "nvram")
                ->because[0]
                .find("promised"),
            std::string::npos);
  places[2].max_file = stated<std::uint64_t>(1000);
  EXPECT_NE(chosen("persist totalsize(1GB)", places), "raid1");
}

TEST(Plan, PlacesThatCannotBeUsedAreRejectedWithTheReason) {
  auto places = table2();
  places[0].reach = Reach::unreachable;
  places[0].reach_note = "no answer";
  places[1].read_only = true;
  places[2].writable = false;
  places[3].free.value.reset();
  const Plan plan = make_plan(*parse_intent("totalsize(1K)"), places);
  EXPECT_NE(rejection(plan, "ramdisk")->because[0].find("no answer"), std::string::npos);
  EXPECT_NE(rejection(plan, "nvram")->because[0].find("read-only"), std::string::npos);
  EXPECT_NE(rejection(plan, "raid1")->because[0].find("may not write"), std::string::npos);
  EXPECT_NE(rejection(plan, "hdd")->because[0].find("not known"), std::string::npos);
  EXPECT_EQ(plan.chosen()->place, "nfs");
}

TEST(Plan, TiesGoToTheMoreReliableThenToTheEmptier) {
  std::vector<Place> places = {place("a", 1e8, Duration(), 1e4, gigabyte),
                               place("b", 1e8, Duration(), 1e4, gigabyte),
                               place("c", 1e8, Duration(), 1e4, gigabyte)};
  places[2].capacity = stated(gigabyte);  // all of it is free
  EXPECT_EQ(chosen("", places), "c");
  places[1].layout = stated(*parse_layout("raid1:2"));
  EXPECT_EQ(chosen("", places), "b");
}

TEST(Plan, AvailabilityUsesTheForecastTime) {
  auto places = table2();
  const Plan plan = make_plan(*parse_intent("totalsize(1GB) availability(0.1)"), places);
  ASSERT_NE(plan.chosen(), nullptr);
  EXPECT_EQ(plan.chosen()->place, "raid1");
  EXPECT_DOUBLE_EQ(*plan.chosen()->lifetime, *plan.chosen()->seconds);
  EXPECT_EQ(chosen("availability(0.1)", places), "nothing");  // no lifetime known
}

// A profile that says the same as the traits would, but `factor` times as slow.
Profile measured(const Place& place, double factor) {
  Profile out;
  for (std::size_t i = 0; i < direct_count; ++i) {
    std::vector<Measured> points;
    for (std::uint64_t size = 4096; size <= (1 << 26); size *= 4) {
      const double seconds =
          (*place.latency).in_seconds() + static_cast<double>(size) / *place.read_bandwidth;
      points.push_back({.size = size, .seconds = factor * seconds, .half = factor * seconds / 50});
    }
    out.curves[i] = fit(points, {});
  }
  return out;
}

TEST(Plan, WhatWasMeasuredCountsMoreThanTraits) {
  auto places = table2();
  for (Place& place : places) {
    place.id = "id of " + place.name;
  }
  const Intent intent = *parse_intent("persist random write size-per-IO(1M) totalsize(1GB)");
  const Plan before = make_plan(intent, places);
  EXPECT_EQ(before.ranking.at(0).place, "nvram");
  EXPECT_NE(explain(before, before.ranking.at(0)).why.find("no profile yet"), std::string::npos);

  Profiles profiles;
  profiles["id of nvram"].profile = measured(places[1], 100);
  profiles["id of nfs"].profile = measured(places[4], 0.01);
  profiles["id of raid1"].why_not = "its profile is stale: kernel 1 is now 2";
  profiles["id of nobody"].profile = measured(places[0], 1);
  const Plan plan = make_plan(intent, places, profiles);
  EXPECT_EQ(plan.ranking.at(0).place, "nfs");
  EXPECT_EQ(plan.ranking.size(), before.ranking.size());
  for (const Ranked& one : plan.ranking) {
    EXPECT_EQ(one.source, one.place == "nfs" || one.place == "nvram" ? "measured" : "traits") << one.place;
    EXPECT_LE(one.throughput.low, one.throughput.rate);
    EXPECT_LE(one.throughput.rate, one.throughput.high);
    EXPECT_DOUBLE_EQ(*one.seconds, static_cast<double>(*intent.total_size()) / one.throughput.rate);
    const Reasons reasons = explain(plan, one);
    EXPECT_EQ(reasons.why.find("kernel 1 is now 2") != std::string::npos, one.place == "raid1")
        << reasons.why;
    // Both ways are shown.
    const std::string all = join(reasons.arithmetic, "\n");
    EXPECT_NE(all.find("by traits: "), std::string::npos) << all;
    EXPECT_NE(all.find(one.source == "measured" ? "measured on " : "not measured: "), std::string::npos)
        << all;
  }
  EXPECT_DOUBLE_EQ(forecast(plan.ranking.at(0), plan.workload).rate, plan.ranking.at(0).throughput.rate);
}

TEST(Plan, AnAccessThatWasNotMeasuredFallsBackToTraits) {
  auto places = table2();
  places[1].id = "nvram";
  Profiles profiles;
  profiles["nvram"].profile = measured(places[1], 100);
  const Plan plan =
      make_plan(*parse_intent("persist"), places, profiles, {.mode = Mode::buffered, .streams = {}});
  EXPECT_EQ(plan.ranking.at(0).place, "nvram");
  EXPECT_EQ(plan.ranking.at(0).source, "traits");
  EXPECT_NE(explain(plan, plan.ranking.at(0)).why.find("buffered"), std::string::npos);
}

// So many runs agree that it takes so much longer.
Correction taught(double factor, std::uint64_t runs = 12) {
  return {.factor = factor, .spread = 0.1, .weight = static_cast<double>(runs), .runs = runs};
}

void teach(Evidence& evidence, std::string_view words, const Correction& correction) {
  evidence.corrections.set(kind_of(workload_of(*parse_intent(words))), correction);
}

const Ranked& row_of(const Plan& plan, std::string_view name) {
  return *std::find_if(plan.ranking.begin(), plan.ranking.end(),
                       [&](const Ranked& one) { return one.place == name; });
}

TEST(Plan, WhatProgramsTookChangesTheRanking) {
  auto places = table2();
  places[1].id = "nvram";
  Profiles profiles;
  teach(profiles["nvram"], "random write size-per-IO(512K)", taught(100));
  const Intent intent = *parse_intent("persist random write size-per-IO(512K) totalsize(1GB)");
  ASSERT_EQ(make_plan(intent, places).chosen()->place, "nvram");
  const Plan plan = make_plan(intent, places, profiles);
  EXPECT_EQ(plan.chosen()->place, "raid1");
  EXPECT_EQ(plan.chosen()->source, "traits");
  const Ranked& slow = row_of(plan, "nvram");
  EXPECT_EQ(slow.source, "learned");
  EXPECT_FALSE(slow.measured);
  EXPECT_NEAR(slow.throughput.rate, make_plan(intent, places).chosen()->throughput.rate / 100, 1);
  EXPECT_LT(slow.throughput.low, slow.throughput.rate);
  const Reasons reasons = explain(plan, slow);
  EXPECT_NE(reasons.why.find("no profile yet"), std::string::npos) << reasons.why;
  EXPECT_NE(reasons.why.find("corrected by 12 runs: x100 the time"), std::string::npos) << reasons.why;
  EXPECT_EQ(reasons.arithmetic.size(), 4U);
  EXPECT_DOUBLE_EQ(forecast(slow, plan.workload).rate, slow.throughput.rate);
  // It was learned of such requests only.
  EXPECT_EQ(make_plan(*parse_intent("persist random read"), places, profiles).chosen()->source, "traits");
  EXPECT_EQ(make_plan(intent, places, profiles, {.mode = Mode::buffered, .streams = {}}).chosen()->place,
            "nvram");
}

TEST(Plan, AProfileIsCorrectedToo) {
  auto places = table2();
  places[1].id = "nvram";
  Profiles profiles;
  profiles["nvram"].profile = measured(places[1], 100);
  const Intent intent = *parse_intent("persist sequential write size-per-IO(64K)");
  const Plan uncorrected = make_plan(intent, places, profiles);
  const double before = row_of(uncorrected, "nvram").throughput.rate;
  teach(profiles["nvram"], "sequential write size-per-IO(64K)", taught(2, 1));
  const Plan plan = make_plan(intent, places, profiles);
  const Ranked& row = row_of(plan, "nvram");
  EXPECT_EQ(row.source, "learned");
  EXPECT_TRUE(row.measured);
  EXPECT_NEAR(row.throughput.rate, before / 2, before / 1000);
  EXPECT_NE(explain(plan, row).why.find("corrected by 1 run: x2 the time"), std::string::npos);
}

TEST(Plan, OfReadsAndWritesEachIsCorrectedByItsOwn) {
  const std::vector<Place> places = {place("p", 100e6, Duration(), 1e9, gigabyte)};
  Profiles profiles;
  teach(profiles[""], "write sync size-per-IO(1M)", taught(3));
  teach(profiles[""], "read size-per-IO(1M)", taught(2));  // a read cannot be flushed
  const Intent intent = *parse_intent("readwrite sync size-per-IO(1M)");
  const double plain = make_plan(intent, places).chosen()->throughput.rate;
  const Plan plan = make_plan(intent, places, profiles);
  EXPECT_NEAR(plan.chosen()->throughput.rate, plain / 2.5, 1);
  const std::string why = explain(plan, *plan.chosen()).why;
  EXPECT_NE(why.find("12 runs that read: x2"), std::string::npos) << why;
  EXPECT_NE(why.find("12 runs that wrote: x3"), std::string::npos) << why;
}

// How long data is at risk where nobody says so follows from what is known of the place, not from what
// programs made of it.
TEST(Plan, CorrectionsChangeNoConstraint) {
  auto places = table2();
  for (Place& one : places) {
    one.id = one.name;
  }
  Profiles slow;
  Profiles fast;
  for (const Place& one : places) {
    teach(slow[one.id], "write", taught(1e6));
    teach(fast[one.id], "write", taught(1e-6));
  }
  for (const char* words : {"write totalsize(1GB) availability(0.000001)", "write totalsize(1GB) MTTDL(20y)",
                            "persist write totalsize(1GB)"}) {
    const Intent intent = *parse_intent(words);
    const Plan plain = make_plan(intent, places);
    EXPECT_FALSE(plain.ranking.empty()) << words;
    for (const Profiles* profiles : {&slow, &fast}) {
      const Plan plan = make_plan(intent, places, *profiles);
      ASSERT_EQ(plan.rejected.size(), plain.rejected.size()) << words;
      for (std::size_t i = 0; i < plan.rejected.size(); ++i) {
        EXPECT_EQ(plan.rejected[i].place, plain.rejected[i].place);
        EXPECT_EQ(plan.rejected[i].because, plain.rejected[i].because);
      }
    }
  }
}

TEST(Plan, JsonHasTheDesignsFields) {
  const auto places = table2();
  const Json json = to_json(make_plan(*parse_intent("persist totalsize(1GB)"), places));
  EXPECT_EQ(json["chosen"], "nvram");
  EXPECT_EQ(json["ranking"][0]["source"], "traits");
  for (const char* key : {"place", "path", "throughput", "low", "high", "seconds", "source",
                          "loss_probability", "lifetime", "why"}) {
    EXPECT_TRUE(json["ranking"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["rejected"][0]["place"], "ramdisk");
  EXPECT_TRUE(to_json(make_plan(*parse_intent("archive"), places))["chosen"].is_null());
}

}  // namespace
}  // namespace sluice
