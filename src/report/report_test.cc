#include "report/report.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>

#include "base/json.h"
#include "report/findings.h"
#include "report/pieces.h"
#include "trace/writer.h"

namespace sluice {
namespace {

std::uint64_t time_in(const Lane& lane) {
  std::uint64_t out = 0;
  for (const Cell& cell : lane.cells()) {
    for (const std::uint64_t time : cell.nanoseconds) {
      out += time;
    }
  }
  return out;
}

// However time passes, nothing is lost, bins are in order, and there are no more than there may be.
TEST(Timeline, KeepsSumsWhileItGrows) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    Grid grid;
    Lane lane;
    std::uint64_t time = 0;
    std::uint64_t bytes = 0;
    std::int64_t now = 0;
    for (int i = 0; i < 300; ++i) {
      now += static_cast<std::int64_t>(random() >> (34 + random() % 30));
      const auto duration = static_cast<std::int64_t>(random() >> (30 + random() % 34));
      for (unsigned halves = grid.grow_to(now + duration); halves > 0; --halves) {
        lane.halve();
      }
      grid.put(lane, static_cast<LaneKind>(random() % 2), now, duration, 3);
      time += static_cast<std::uint64_t>(duration);
      bytes += 3;
    }
    std::uint64_t calls = 0;
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < lane.cells().size(); ++i) {
      const Cell& cell = lane.cells()[i];
      EXPECT_LT(cell.bin, Grid::bins);
      EXPECT_TRUE(i == 0 || lane.cells()[i - 1].bin < cell.bin);
      calls += cell.calls;
      moved += cell.bytes[0] + cell.bytes[1];
    }
    EXPECT_EQ(time_in(lane), time);
    EXPECT_EQ(calls, 300U);
    EXPECT_EQ(moved, bytes);
  }
}

TEST(Timeline, ACallIsInEveryBinInWhichItLasts) {
  Grid grid;
  Lane lane;
  ASSERT_EQ(grid.grow_to(3500), 0U);
  grid.put(lane, LaneKind::write, 500, 3000, 7);
  ASSERT_EQ(lane.cells().size(), 4U);
  EXPECT_EQ(lane.cells()[0].nanoseconds[1], 500U);
  EXPECT_EQ(lane.cells()[1].nanoseconds[1], 1000U);
  EXPECT_EQ(lane.cells()[3].nanoseconds[1], 500U);
  EXPECT_EQ(lane.cells()[0].bytes[1], 7U);
  EXPECT_EQ(lane.cells()[1].calls, 0U);
}

// The bands of the file widen with it, and say the same as they would have from the beginning.
TEST(Timeline, BandsWiden) {
  Lane lane;
  lane.touch(0, LaneKind::read, 0, 1);
  lane.touch(0, LaneKind::read, 4096 * 63, 4096);
  EXPECT_EQ(lane.cells()[0].bands[0], 1U | std::uint64_t{1} << 63U);
  lane.touch(1, LaneKind::write, 4096 * 64, 8192);
  EXPECT_EQ(lane.band(), 8192U);
  EXPECT_EQ(lane.cells()[0].bands[0], 1U | std::uint64_t{1} << 31U);
  EXPECT_EQ(lane.cells()[1].bands[1], std::uint64_t{1} << 32U);
  Lane other;
  other.touch(0, LaneKind::read, 4096 * 2, 4096 * 4);
  lane.add(other);
  EXPECT_EQ(lane.cells()[0].bands[0], 1U | 0b110U | std::uint64_t{1} << 31U);
  other.add(lane);
  EXPECT_EQ(other.band(), 8192U);
  lane.touch(2, LaneKind::read, std::int64_t{1} << 62U, ~std::uint64_t{0});
  lane.touch(2, LaneKind::read, -1, 5);
  EXPECT_EQ(lane.cells()[0].bands[0], 1U);
  const FileMap map = file_map(lane, 4);
  EXPECT_NE(map.svg.find("class=\"r\""), std::string::npos);
  EXPECT_NE(map.svg.find("class=\"w\""), std::string::npos);
}

class View : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-report-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto writer = TraceWriter::create(folder_ + "/trace");
    ASSERT_TRUE(writer);
    writer_.emplace(std::move(*writer));
    ASSERT_TRUE(writer_->begin({{"command", {"prog"}}, {"points", {"program", "below"}}}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TraceEvent event(std::uint8_t operation, std::uint32_t file, std::int64_t duration) {
    TraceEvent out;
    out.operation = operation;
    out.process = out.thread = 10;
    out.file = file;
    out.begin = now_;
    out.duration = duration;
    now_ += duration + 10;
    return out;
  }
  void open(const std::string& path, std::uint32_t file) {
    TraceEvent out = event(TraceEvent::open, file, 5);
    out.path = writer_->number_of(path);
    ASSERT_TRUE(writer_->add(out));
  }
  void move(std::uint8_t operation, std::uint32_t file, std::int64_t offset, std::uint64_t length,
            std::int64_t duration) {
    TraceEvent out = event(operation, file, duration);
    out.offset = offset;
    out.length = length;
    out.result = static_cast<std::int64_t>(length);
    ASSERT_TRUE(writer_->add(out));
  }
  TraceView view(std::uint8_t point = 0) {
    EXPECT_TRUE(writer_->finish({{"status", 0}}));
    auto reader = TraceReader::open(folder_ + "/trace");
    EXPECT_TRUE(reader);
    return view_of(*reader, point).value();
  }

  std::string folder_;
  std::optional<TraceWriter> writer_;
  std::int64_t now_ = 0;
};

TEST_F(View, SumsByFile) {
  open("/a", 1);
  open("/b", 2);
  for (int i = 0; i < 20; ++i) {
    move(TraceEvent::read, 1, i * 4096, 4096, 100);
    move(TraceEvent::write, 2, i * i * 100000 + 7, 512, 10);
  }
  move(TraceEvent::close, 1, 0, 0, 1);
  TraceEvent failed = event(TraceEvent::sync, 2, 1000);
  failed.result = -5;
  ASSERT_TRUE(writer_->add(failed));
  const TraceView view = this->view();
  ASSERT_EQ(view.files.size(), 2U);
  EXPECT_EQ(view.file_count, 2U);
  EXPECT_EQ(view.files[0].name, "/a");
  EXPECT_EQ(view.files[0].read.bytes, 20U * 4096);
  EXPECT_EQ(view.files[0].read.pattern(), "sequential");
  EXPECT_EQ(view.files[0].read.typical(), 4096U);
  EXPECT_EQ(view.files[1].write.pattern(), "random");
  EXPECT_EQ(view.files[1].syncs, 1U);
  EXPECT_EQ(view.files[1].failures, 1U);
  EXPECT_EQ(view.all.calls, 44U);
  EXPECT_EQ(view.all.nanoseconds, 2000U + 200 + 1000 + 10 + 1);
  EXPECT_EQ(time_in(view.all.lane), view.all.nanoseconds);
  EXPECT_EQ(view.operations.front().name, "read");
  EXPECT_EQ(view.processes.size(), 1U);
  EXPECT_EQ(view.processes[0].nanoseconds, view.all.nanoseconds);
  EXPECT_EQ(view.point, "program");
}

TEST_F(View, AnotherPointIsAnother) {
  open("/a", 1);
  TraceEvent below = event(TraceEvent::write, 1, 10);
  below.point = 1;
  ASSERT_TRUE(writer_->add(below));
  const TraceView view = this->view(1);
  EXPECT_EQ(view.events, 1U);
  EXPECT_EQ(view.point, "below");
}

// Few files of a family are themselves; many are one row, and nothing of them is lost or counted twice.
TEST_F(View, ManyOfAFamilyAreOneRow) {
  for (std::uint32_t i = 1; i <= 20; ++i) {
    open("/few/" + std::to_string(i), i);
    move(TraceEvent::write, i, 0, 10, 5);
  }
  for (std::uint32_t i = 1; i <= 500; ++i) {
    open("/many/" + std::to_string(i) + ".x", 100 + i);
    move(TraceEvent::write, 100 + i, 0, 10, 5);
    // Those of the beginning are used again when they are in the row of all.
    move(TraceEvent::write, 101, 10, 10, 5);
  }
  const TraceView view = this->view();
  EXPECT_EQ(view.files.size(), 21U);
  EXPECT_EQ(view.file_count, 520U);
  EXPECT_EQ(view.files[0].name, "/many/*.x");
  EXPECT_EQ(view.files[0].files, 500U);
  EXPECT_EQ(view.files[0].write.calls, 1000U);
  EXPECT_EQ(view.all.files, 520U);
  EXPECT_EQ(view.all.write.calls, 1020U);
}

// Names without numbers are no family: those that took least are put together, the heavy ones stay.
TEST_F(View, TooManyFilesAreOthers) {
  const auto word = [](unsigned number) {
    std::string out = "/w/";
    for (int i = 0; i < 4; ++i, number /= 20) {
      out += static_cast<char>('g' + number % 20);
    }
    return out;
  };
  constexpr unsigned count = 9000;
  open("/heavy", 1);
  move(TraceEvent::write, 1, 0, 10, 1000000);
  for (unsigned i = 0; i < count; ++i) {
    open(word(i), 2 + i);
    move(TraceEvent::write, 2 + i, 0, 10, 5 + i % 7);
    move(TraceEvent::close, 2 + i, 0, 0, 1);
  }
  move(TraceEvent::write, 1, 10, 10, 5);
  const TraceView view = this->view();
  EXPECT_EQ(view.file_count, count + 1);
  EXPECT_EQ(view.files.size(), TraceView::most_rows);
  EXPECT_EQ(view.files[0].name, "/heavy");
  EXPECT_EQ(view.files[0].write.calls, 2U);
  EXPECT_EQ(view.other_files.files, count + 1 - TraceView::most_rows);
  EXPECT_EQ(view.all.write.calls, count + 2);
  EXPECT_EQ(time_in(view.all.lane), view.all.nanoseconds);
  EXPECT_LT(report_page({.view = view, .tune = {}, .source = ""}).size(), 1000000U);
}

// Numbers as they are in a trace that somebody made up.
TEST_F(View, SurvivesAnyNumber) {
  std::mt19937_64 random(5);
  const auto any = [&] { return static_cast<std::int64_t>(random() << (random() % 64)); };
  for (int i = 0; i < 3000; ++i) {
    TraceEvent out;
    out.operation = static_cast<std::uint8_t>(i % 11 == 0 ? 32 : random() % 9);
    out.begin = any();
    out.duration = any();
    out.offset = any();
    out.length = static_cast<std::uint64_t>(any());
    out.result = any();
    out.file = static_cast<std::uint32_t>(any());
    out.path = out.operation == TraceEvent::open ? static_cast<std::uint32_t>(any()) : 0;
    out.process = static_cast<std::uint32_t>(any());
    out.thread = 1;
    ASSERT_TRUE(writer_->add(out));
  }
  EXPECT_GT(report_page({.view = view(), .tune = {}, .source = ""}).size(), 1000U);
}

ViewRow row(const std::string& name, std::uint64_t time) {
  ViewRow out;
  out.name = name;
  out.files = 1;
  out.nanoseconds = time;
  return out;
}

TEST(Findings, SayWhereTheTimeGoes) {
  TraceView view;
  EXPECT_EQ(finding_of_time(view), "No time was spent on files");
  for (int i = 0; i < 10; ++i) {
    view.files.push_back(row("/f" + std::to_string(i), i < 3 ? 260 : 30));
    view.all.nanoseconds += view.files.back().nanoseconds;
  }
  view.file_count = 10;
  EXPECT_EQ(finding_of_time(view), "79 % of the I/O time goes to 3 of 10 files");
  view.files[0].nanoseconds = 100000;
  view.all.nanoseconds = 101000;
  EXPECT_EQ(finding_of_time(view), "Nearly all of the I/O time goes to one file: f0");
  view.files[0].nanoseconds = 30;
  view.files[0].files = 50;
  view.all.nanoseconds = 1000;
  view.file_count = 59;
  EXPECT_EQ(finding_of_time(view), "The I/O time is spread over 59 files; f0 takes 3 % of it");
}

TEST(Findings, SayWhatWasGained) {
  ReportTune tune;
  EXPECT_EQ(finding_of_gain(tune), "Nothing better was found");
  tune.before = {10, 12};
  tune.after = {5, 6};
  tune.gain = ReportFigure{2, 1.9, 2.1};
  EXPECT_EQ(finding_of_gain(tune), "No better by more than the noise: 11.0 s before, 5.50 s after");
  tune.sure = true;
  EXPECT_EQ(finding_of_gain(tune), "2 times as fast: 11.0 s before, 5.50 s after");
}

TEST(Findings, Numbers) {
  EXPECT_EQ(grouped(9999), "9999");
  EXPECT_EQ(grouped(1234567), "1\u202f234\u202f567");
  EXPECT_EQ(percent(0.5), "50 %");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(percent(0.0001), "<\u202f1 %");
}

// Whatever is in a name, it is text.
TEST(Page, EscapesAll) {
  const std::string odd = "</script><script>x()</script>\"'&\n\xff";
  TraceView view;
  view.about = Json{{"command", {odd}}, {"host", odd}};
  view.trouble = odd;
  view.point = odd;
  view.files.push_back(row("/" + odd, 10));
  view.processes.push_back(row("/" + odd, 10));
  view.processes[0].process = 3;
  view.process_count = 2;
  view.all = row("", 10);
  const std::string page = report_page({.view = view, .tune = {}, .source = odd});
  EXPECT_EQ(page.find("<script>x"), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;x()"), std::string::npos);
}

}  // namespace
}  // namespace sluice
