#include "trace/export/export.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "trace/export/workload.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

TraceEvent move(std::uint8_t operation, std::uint32_t process, std::uint32_t file, std::int64_t offset,
                std::int64_t size) {
  TraceEvent event;
  event.operation = operation;
  event.process = event.thread = process;
  event.file = file;
  event.offset = offset;
  event.length = static_cast<std::uint64_t>(size);
  event.result = size;
  return event;
}

std::string line(TraceExporter& form, const TraceEvent& event, const std::string& path) {
  return form.line(event, {.path = path, .other = "", .point = "", .site = ""});
}

// Four processes take turns in one file; each writes files of its own afterwards, synced.
std::string of_four(std::string_view name) {
  const auto form = make_exporter(name);
  std::string out = form->head();
  for (std::uint32_t p = 0; p < 4; ++p) {
    for (std::int64_t i = 0; i < 64; ++i) {
      out += line(*form, move(TraceEvent::write, p + 1, p + 1, (i * 4 + p) * 4096, 4096), "/data/shared");
    }
    for (std::uint32_t k = 0; k < 5; ++k) {
      const std::string path = "/data/step_" + std::to_string(p) + "_" + std::to_string(k) + ".dat";
      const std::uint32_t file = 10 + p * 5 + k;
      TraceEvent open = move(TraceEvent::open, p + 1, file, 0, 3);
      open.flags = O_WRONLY | O_DIRECT;
      out += line(*form, open, path);
      for (int i = 0; i < 4; ++i) {
        TraceEvent event = move(TraceEvent::write, p + 1, file, TraceEvent::at_position, 65536);
        event.begin = 1000;
        out += line(*form, event, path);
      }
      out += line(*form, move(TraceEvent::sync, p + 1, file, 0, 0), path);
      out += line(*form, move(TraceEvent::close, p + 1, file, 0, 0), path);
    }
  }
  return out + form->tail();
}

TEST(Export, NamesAreDifferentAndEachMakesOne) {
  std::set<std::string_view> names;
  for (const ExportFormat& format : export_formats) {
    EXPECT_TRUE(names.insert(format.name).second);
    EXPECT_NE(format.make(), nullptr);
  }
}

TEST(Export, FioJob) {
  const std::string job = of_four("fio-job");
  EXPECT_THAT(job, HasSubstr("[1-shared]\nrw=write:12288\nbs=4096\nnumjobs=4\nfilename=1-shared.shared\n"
                             "offset_increment=4096\nsize=1036288\nio_size=262144\n"));
  EXPECT_THAT(job,
              HasSubstr("\n[2-step____.dat]\nstonewall\nrw=write\nbs=65536\nnumjobs=4\nnrfiles=5\n"
                        "file_service_type=sequential\nsize=1310720\nio_size=1310720\nfsync=4\ndirect=1\n"));
  EXPECT_THAT(job, Not(HasSubstr("=/data")));
}

TEST(Export, FioJobSplitsSizes) {
  const auto form = make_fio_job();
  for (int i = 0; i < 100; ++i) {
    line(*form, move(TraceEvent::read, 1, 1, (i * 7919) % 1000 * 512, i % 4 == 0 ? 8192 : 512), "/a\n[b]");
  }
  const std::string job = form->tail();
  EXPECT_THAT(job, HasSubstr("[1-a__b_]\nrw=randread\nbssplit=512/75:8192/25\n"));
  EXPECT_THAT(job, Not(HasSubstr("/a\n")));
}

TEST(Export, RomioOfSharedAndScattered) {
  const std::string hints = of_four("romio");
  EXPECT_THAT(hints, HasSubstr("\nromio_cb_write enable\n"));
  EXPECT_THAT(hints, HasSubstr("\nromio_ds_write disable\n"));
  EXPECT_THAT(hints, HasSubstr("\n# nothing is read\n"));
  EXPECT_THAT(hints, HasSubstr("\ncb_buffer_size 4194304\n"));
  EXPECT_THAT(hints, HasSubstr("\nstriping_factor 4\n"));
  // "key value" or a comment, and the reason stands before every hint.
  bool reason = false;
  for (std::size_t at = 0; at < hints.size();) {
    const std::size_t end = hints.find('\n', at);
    const std::string line = hints.substr(at, end - at);
    EXPECT_TRUE(line.starts_with('#') || reason) << line;
    reason = line.starts_with('#');
    at = end + 1;
  }
}

TEST(Export, RomioOfLargeAndAlone) {
  const auto form = make_romio();
  for (int i = 0; i < 10; ++i) {
    line(*form, move(TraceEvent::write, 1, 1, i * (16LL << 20), 16 << 20), "/out");
    line(*form, move(TraceEvent::read, 1, 2, i * 200, 100), "/in");
  }
  const std::string hints = form->tail();
  EXPECT_THAT(hints, HasSubstr("\nromio_cb_write disable\n"));
  EXPECT_THAT(hints, HasSubstr("\nromio_ds_read enable\n"));
  EXPECT_THAT(hints, HasSubstr("\nstriping_unit 16777216\n"));
  EXPECT_THAT(hints, Not(HasSubstr("striping_factor")));
}

TEST(Export, WithoutCalls) {
  for (const ExportFormat& format : export_formats) {
    const auto form = format.make();
    static_cast<void>(form->head() + form->tail());
  }
}

TEST(Export, IologNamesNoFileOfTheTrace) {
  const auto form = make_iolog();
  EXPECT_EQ(line(*form, move(TraceEvent::started, 1, 0, 0, 0), "/bin/cp"), "");
  EXPECT_EQ(line(*form, move(TraceEvent::write, 1, 1, 5, 7), "/a"), "a add\na open\na write 5 7\n");
  EXPECT_EQ(line(*form, move(TraceEvent::write, 1, 1, 5, 7), "/d/a b"),
            "d+a_b add\nd+a_b open\nd+a_b write 5 7\n");
  EXPECT_EQ(line(*form, move(TraceEvent::write, 1, 1, 5, 7), "/d/a_b"),
            "d+a_b~2 add\nd+a_b~2 open\nd+a_b~2 write 5 7\n");
  // One that could not be opened is nothing that fio could open.
  EXPECT_EQ(line(*form, move(TraceEvent::open, 1, 0, 0, -2), "/missing"), "");
  EXPECT_EQ(form->tail(), "a close\nd+a_b close\nd+a_b~2 close\n");
}

TEST(TracedWorkload, NumbersThatCannotBe) {
  TracedWorkload workload;
  TraceEvent event = move(TraceEvent::write, 1, 1, std::numeric_limits<std::int64_t>::max() - 1, 5);
  workload.add(event, "/a");
  event.offset = 0;
  event.begin = event.duration = std::numeric_limits<std::int64_t>::max();
  workload.add(event, "/a");
  EXPECT_TRUE(workload.families().empty());
}

TEST(TracedWorkload, ManySizesAreRounded) {
  TracedWorkload workload;
  for (int i = 1; i <= 1000; ++i) {
    workload.add(move(TraceEvent::read, 1, 1, 0, 4096 + i), "/a");
  }
  EXPECT_EQ(workload.families().front().read.typical(), 4096U);
  EXPECT_EQ(workload.families().front().read.pattern(), "random");
}

}  // namespace
}  // namespace sluice
