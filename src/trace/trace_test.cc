#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/files.h"
#include "base/json.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/text.h"
#include "trace/writer.h"

namespace sluice {
namespace {

class Trace : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-trace-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/trace";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Of several threads, with numbers of all sizes.
  std::vector<TraceEvent> write_some(std::uint32_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    auto writer = TraceWriter::create(path_);
    EXPECT_TRUE(writer);
    EXPECT_TRUE(writer->begin({{"points", {"program"}}}));
    std::vector<TraceEvent> out;
    std::int64_t now = 0;
    const auto any = [&] { return static_cast<std::int64_t>(random() >> (random() % 64)); };
    for (std::size_t i = 0; i < count; ++i) {
      TraceEvent event;
      now += static_cast<std::int64_t>(random() % 1000) + 1;
      event.begin = now;
      event.duration = any();
      const auto any_operation = random() % 13;  // the last five change names
      event.operation = static_cast<std::uint8_t>(any_operation < 8 ? any_operation
                                                                    : any_operation - 8 + TraceEvent::remove);
      event.offset = random() % 4 == 0 ? TraceEvent::at_position : any();
      event.length = static_cast<std::uint64_t>(any());
      event.result = random() % 2 == 0 ? static_cast<std::int64_t>(event.length) : -any();
      event.flags = static_cast<std::int32_t>(any());
      event.mode = static_cast<std::uint32_t>(any());
      event.process = 1 + static_cast<std::uint32_t>(random() % 3);
      event.thread = event.process + static_cast<std::uint32_t>(random() % 2);
      event.file = static_cast<std::uint32_t>(any());
      event.point = static_cast<std::uint8_t>(random() % 8);
      if (event.operation == TraceEvent::open || event.is_about_names()) {
        event.path = writer->number_of("/data/" + std::to_string(random() % 100));
        event.other = random() % 2 == 0 ? writer->number_of(std::string("/a\n\xff\0b", 6)) : 0;
      }
      if (event.operation == TraceEvent::open) {
        event.site = random() % 2 == 0 ? writer->number_of("/bin/p+0x" + std::to_string(random() % 9)) : 0;
      }
      EXPECT_TRUE(writer->add(event));
      out.push_back(event);
    }
    EXPECT_TRUE(writer->finish({{"status", 0}}));
    return out;
  }

  // Without a sync: there are many.
  void put(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  static std::vector<TraceEvent> read_all(TraceReader& reader) {
    std::vector<TraceEvent> out;
    TraceEvent event;
    while (reader.next(event).value()) {
      out.push_back(event);
    }
    return out;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(Trace, WhatIsWrittenIsRead) {
  const std::vector<TraceEvent> written = write_some(1, 50000);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->about()["points"][0], "program");
  EXPECT_EQ(reader->end()["status"], 0);
  EXPECT_EQ(reader->trouble(), "");
  EXPECT_EQ(reader->events(), written.size());
  const std::vector<TraceEvent> read = read_all(*reader);
  ASSERT_EQ(read.size(), written.size());
  EXPECT_TRUE(read == written);
  for (const TraceEvent& event : read) {
    EXPECT_EQ(reader->path(event.path).empty(),
              event.operation != TraceEvent::open && !event.is_about_names());
  }
  EXPECT_EQ(reader->path(0), "");
  EXPECT_EQ(reader->path(100000), "");
}

TEST_F(Trace, AFileThatIsThereStays) {
  ASSERT_TRUE(write_file(path_, "mine"));
  EXPECT_EQ(TraceWriter::create(path_).error().number, EEXIST);
  EXPECT_EQ(*read_file(path_), "mine");
}

TEST_F(Trace, WhatIsNoneIsRefused) {
  ASSERT_TRUE(write_file(path_, "something else"));
  EXPECT_EQ(TraceReader::open(path_).error().number, EBADMSG);
  ASSERT_TRUE(write_file(path_, ""));
  EXPECT_EQ(TraceReader::open(path_).error().number, EBADMSG);
  std::string other(trace_magic);
  other += '\2';
  other.resize(trace_head_bytes);
  ASSERT_TRUE(write_file(path_, other));
  EXPECT_NE(TraceReader::open(path_).error().text().find("version 2"), std::string::npos);
  EXPECT_EQ(TraceReader::open(folder_ + "/none").error().number, ENOENT);
}

// Wherever it ends, what is whole before that is read, and it is said.
TEST_F(Trace, ACutIsTold) {
  const std::vector<TraceEvent> written = write_some(2, 300);
  const std::string whole = *read_file(path_);
  std::size_t most = 0;
  for (std::size_t size = trace_head_bytes; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    auto reader = TraceReader::open(path_);
    ASSERT_TRUE(reader);
    EXPECT_NE(reader->trouble(), "") << size;
    EXPECT_TRUE(reader->end().is_null());
    const std::vector<TraceEvent> read = read_all(*reader);
    EXPECT_GE(read.size(), most);
    most = read.size();
  }
  EXPECT_EQ(most, written.size());
}

// No byte can be another without being noticed, or without being none of the events'.
TEST_F(Trace, DamageIsTold) {
  const std::vector<TraceEvent> written = write_some(3, 60);
  const std::string whole = *read_file(path_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    put(damaged);
    auto reader = TraceReader::open(path_);
    if (!reader) {
      EXPECT_EQ(reader.error().number, EBADMSG);
      continue;
    }
    const std::vector<TraceEvent> read = read_all(*reader);
    EXPECT_LE(read.size(), written.size());
  }
}

TEST_F(Trace, OneThatGrowsIsReadOn) {
  auto writer = TraceWriter::create(path_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->begin(Json::object()));
  TraceEvent event;
  event.process = event.thread = 7;
  const auto add = [&](std::int64_t begin) {
    event.begin = begin;
    ASSERT_TRUE(writer->add(event));
    ASSERT_TRUE(writer->flush());
  };
  add(1);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_all(*reader).size(), 1U);
  add(2);
  event.thread = 8;
  add(3);
  ASSERT_TRUE(reader->look_again());
  EXPECT_EQ(read_all(*reader).size(), 2U);
  EXPECT_TRUE(reader->end().is_null());
  ASSERT_TRUE(writer->finish(Json::object()));
  ASSERT_TRUE(reader->look_again());
  EXPECT_EQ(read_all(*reader).size(), 0U);
  EXPECT_FALSE(reader->end().is_null());
}

TEST(TracePositions, AppendsAreAtTheEndWhoeverMakesThem) {
  TracePositions positions;
  const auto call = [&](std::uint8_t operation, std::uint32_t file, std::int64_t offset, std::int64_t result,
                        std::int32_t flags = 0) {
    TraceEvent event;
    event.operation = operation;
    event.file = file;
    event.path = operation == TraceEvent::open ? 1 : 0;
    event.offset = offset;
    event.length = static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0));
    event.result = result;
    event.flags = flags;
    return positions.offset_of(event);
  };
  call(TraceEvent::open, 1, 0, 3, O_WRONLY | O_CREAT | O_APPEND);
  call(TraceEvent::open, 2, 0, 4, O_WRONLY | O_APPEND);
  EXPECT_EQ(call(TraceEvent::write, 1, TraceEvent::at_position, 10), 0);
  EXPECT_EQ(call(TraceEvent::write, 2, TraceEvent::at_position, 10), 10);
  EXPECT_EQ(call(TraceEvent::write, 1, 0, 5), 20);  // pwrite appends too
  EXPECT_EQ(positions.size_of(1), 25);
  call(TraceEvent::open, 3, 0, 5, O_RDWR);
  EXPECT_EQ(call(TraceEvent::read, 3, TraceEvent::at_position, 10), 0);
  EXPECT_EQ(call(TraceEvent::write, 3, TraceEvent::at_position, 10), 10);
  call(TraceEvent::seek, 3, -5, 95, SEEK_END);
  EXPECT_EQ(call(TraceEvent::write, 2, TraceEvent::at_position, 1), 100);
  EXPECT_EQ(call(TraceEvent::write, 3, TraceEvent::at_position, INT64_MAX), 95);  // a trace of nobody's
  call(TraceEvent::open, 4, 0, 6, O_WRONLY | O_TRUNC);
  EXPECT_EQ(call(TraceEvent::write, 1, TraceEvent::at_position, 1), 0);
}

// An open file is the same whatever becomes of its name.
TEST(TracePositions, StayWithTheOpenFile) {
  TracePositions positions;
  const auto open = [&](std::uint32_t file, std::uint32_t path) {
    positions.offset_of({.result = 3,
                         .flags = O_WRONLY | O_CREAT | O_APPEND,
                         .file = file,
                         .path = path,
                         .operation = TraceEvent::open});
  };
  const auto append = [&](std::uint32_t file) {
    return positions.offset_of({.offset = TraceEvent::at_position,
                                .length = 100,
                                .result = 100,
                                .file = file,
                                .operation = TraceEvent::write});
  };
  const auto names = [&](TraceEvent::Operation operation, std::uint32_t path, std::uint32_t other,
                         int flags) {
    positions.offset_of({.flags = flags, .path = path, .other = other, .operation = operation});
  };
  open(1, 1);
  EXPECT_EQ(append(1), 0);
  names(TraceEvent::rename, 1, 2, 0);
  EXPECT_EQ(append(1), 100);
  EXPECT_EQ(positions.size_of(1), 0);
  EXPECT_EQ(positions.size_of(2), 200);
  names(TraceEvent::link, 2, 3, 0);
  names(TraceEvent::remove, 2, 0, 0);
  EXPECT_EQ(append(1), 200);
  EXPECT_EQ(positions.size_of(3), 300);
  open(2, 2);
  EXPECT_EQ(append(2), 0);
  names(TraceEvent::rename, 2, 3, RENAME_EXCHANGE);
  EXPECT_EQ(positions.size_of(2), 300);
  EXPECT_EQ(positions.size_of(3), 100);
  EXPECT_EQ(append(2), 100);
}

// Promise 12.
TEST_F(Trace, ASmallFileDoesNotFillTheMemory) {
  auto writer = TraceWriter::create(path_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->begin({{"points", {"program"}}}));
  // All begin at once, so that a block of each would be in memory.
  for (std::uint32_t thread = 1; thread <= 80; ++thread) {
    TraceEvent event;
    event.operation = TraceEvent::sync;
    event.process = event.thread = thread;
    for (std::uint32_t i = 0; i < TraceBlock::most_events; ++i) {
      event.begin = i == 0 ? 0 : 1000;
      ASSERT_TRUE(writer->add(event));
    }
  }
  ASSERT_TRUE(writer->finish({}));
  EXPECT_LT(std::filesystem::file_size(path_), 1U << 20U);
  auto trace = TraceReader::open(path_, 1U << 20U);
  ASSERT_TRUE(trace) << trace.error().text();
  TraceEvent event;
  auto more = trace->next(event);
  for (int i = 0; i < 100 && more && *more; ++i) {
    more = trace->next(event);
  }
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().number, E2BIG);
}

// Promise 12.
TEST_F(Trace, DeepJsonIsNone) {
  const std::string deep(1000000, '[');
  EXPECT_TRUE(parse_json(deep + std::string(deep.size(), ']')).is_discarded());
  EXPECT_FALSE(parse_json("[\"" + deep + "\\\"" + deep + "\"]").is_discarded());
  EXPECT_TRUE(parse_json("[").is_discarded());
}

}  // namespace
}  // namespace sluice
