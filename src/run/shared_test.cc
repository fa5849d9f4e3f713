#include "run/shared.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include "base/json.h"
#include "intent/parse.h"
#include "pipeline/heard.h"
#include "run/account.h"

namespace sluice {
namespace {

Stacked rule(const char* glob, std::vector<std::string> stages) {
  return {.files = *Glob::parse(glob), .stages = std::move(stages)};
}

TEST(SharedArea, HoldsTheRulesAndIsGoneAtTheEnd) {
  std::string path;
  {
    const auto shared =
        SharedArea::make({rule("/data/*.h5", {"stats", "delay:time=1ms"}), rule("/data/**", {"stats"})});
    ASSERT_TRUE(shared) << shared.error().text();
    path = shared->path();
    struct stat found {};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
    const Area& area = shared->area();
    EXPECT_TRUE(is_area(&area, area.bytes));
    EXPECT_FALSE(is_area(&area, area.bytes - 1));
    ASSERT_NE(area.rule_for("/data/a.h5"), nullptr);
    EXPECT_EQ(area.stages_of(*area.rule_for("/data/a.h5")), "stats\ndelay:time=1ms");
    EXPECT_EQ(area.stages_of(*area.rule_for("/data/b/c")), "stats");
    EXPECT_EQ(area.rule_for("/other"), nullptr);
  }
  struct stat found {};
  EXPECT_NE(stat(path.c_str(), &found), 0);
}

TEST(SharedArea, OneRowAFileUntilAllAreTaken) {
  const auto shared = SharedArea::make({rule("/**", {"stats"})});
  ASSERT_TRUE(shared);
  Area& area = shared->area();
  AreaFile* first = area.file("/a");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(area.file("/a"), first);
  EXPECT_NE(area.file("/b"), first);
  std::uint32_t refused = 0;
  for (std::uint32_t i = 0; i < area_files + 10; ++i) {
    refused += area.file("/many/" + std::to_string(i)) == nullptr ? 1U : 0U;
  }
  EXPECT_EQ(refused, 12U);
  EXPECT_EQ(area.file("/a"), first);
  // Paths that are too long for the room are left out, not cut.
  EXPECT_EQ(area.file(std::string(area_paths, 'x')), nullptr);
}

TEST(Account, SumsUpRowsOfOneFileAndNamesThePattern) {
  const auto shared = SharedArea::make({rule("/**", {"stats"})});
  ASSERT_TRUE(shared);
  Area& area = shared->area();
  AreaFile& row = *area.file("/a");
  row.calls[SLUICE_WRITE] = 10;
  row.nanoseconds[SLUICE_WRITE] = 2000000000;
  row.traffic[1].bytes = 40960;
  row.traffic[1].sizes[13] = 10;
  row.traffic[1].random = 8;
  row.traffic[1].sequential = 2;
  area.file("/b")->calls[SLUICE_OPEN] = 1;
  const Account account = account_of(area, 5);
  ASSERT_EQ(account.files.size(), 2U);
  EXPECT_EQ(account.files[0].path, "/a");
  EXPECT_EQ(account.files[0].write.typical, 4096U);
  EXPECT_EQ(account.files[0].write.pattern, "random");
  EXPECT_EQ(account.files[0].read.pattern, "");
  EXPECT_DOUBLE_EQ(account.files[0].seconds, 2);
  const std::string text = account_text(account, {});
  EXPECT_NE(text.find("10 x 4.00 KiB random"), std::string::npos) << text;
}

TEST(Account, FilesWithoutARowAreCountedTogether) {
  const auto shared = SharedArea::make({rule("/**", {"stats", "stats:point=below"})});
  ASSERT_TRUE(shared);
  Area& area = shared->area();
  AreaFile& row = *area.file("/a");
  row.calls[SLUICE_WRITE] = 1;
  row.traffic[1].bytes = 1024;
  AreaFile& others = area.others[0];
  others.calls[SLUICE_OPEN] = 7;
  others.calls[SLUICE_WRITE] = 9;
  others.traffic[1].bytes = 3072;
  const Account account = account_of(area, 1);
  ASSERT_EQ(account.files.size(), 1U);
  EXPECT_EQ(account.others.opens, 7U);
  EXPECT_EQ(account.points.at(0).others.opens, 0U);
  const Json json = account_json(account);
  EXPECT_EQ(json["calls"]["write"]["calls"], 10);
  EXPECT_EQ(json["others"]["write"]["bytes"], 3072);
  EXPECT_TRUE(json["points"][0]["others"].is_null());
  const std::string text = account_text(account, {});
  EXPECT_NE(text.find("1 file and 7 opens of further files, 0 B read, 4.00 KiB written"), std::string::npos)
      << text;
}

TEST(Account, SaysNothingOfWhatGainedNothing) {
  Account account;
  account.kept = {.writes = 24, .bytes = 240, .flushes = 24, .not_of = {}};
  account.small = {.files = 4, .bytes = 0, .removed = 0};
  EXPECT_EQ(done_text(account), "");
  account.kept.flushes = 2;
  account.small.removed = 4;
  EXPECT_NE(done_text(account).find("24 writes of 240 B in all were merged into 2"), std::string::npos);
  EXPECT_NE(done_text(account).find("4 small files"), std::string::npos);
}

// Every word that can be heard is one of the vocabulary, and they are in the order in which it prints them.
TEST(Account, WhatWasHeardIsAnIntent) {
  const auto shared = SharedArea::make({rule("/**", {"stats"})});
  ASSERT_TRUE(shared);
  Area& area = shared->area();
  std::uint32_t firsts = 0;
  for (const HeardWord& word : heard_words) {
    AreaFile& row = *area.file("/" + std::string(word.text));
    row.calls[SLUICE_OPEN] = 1;
    row.heard = word.bit;
    firsts |= (firsts & word.group) == 0 ? word.bit : 0;
  }
  AreaFile& all = *area.file("/all");
  all.calls[SLUICE_OPEN] = 1;
  all.heard = firsts;
  area.file("/nothing")->calls[SLUICE_OPEN] = 1;
  const Account account = account_of(area, 1);
  ASSERT_EQ(account.files.size(), heard_words.size() + 2);
  for (const FileAccount& file : account.files) {
    const auto intent = parse_intent(file.heard);
    ASSERT_TRUE(intent) << file.path << ": " << file.heard;
    EXPECT_EQ(print(*intent), file.heard);
    EXPECT_EQ(file.heard.empty(), file.path == "/nothing");
  }
  EXPECT_NE(account_text(account, {}).find("HEARD"), std::string::npos);
}

}  // namespace
}  // namespace sluice
