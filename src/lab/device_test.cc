#include "lab/device.h"
#include "base/json.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace sluice::lab {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::uint64_t device_size = 16 << 20;
using Sector = std::array<std::byte, 512>;

// A device in memory or in a file, with a clock of its own.
class Machine {
 public:
  explicit Machine(const Model& model, const std::string& file = {}) {
    auto store = file.empty() ? memory_store(device_size) : file_store(file, device_size);
    EXPECT_TRUE(store) << store.error().text();
    device_ = std::make_unique<Device>(model, *Platter::create(std::move(*store), device_size));
  }

  Answer wait() {
    Answer out;
    while (!device_->next(now_, out)) {
      const Instant next = device_->next_event();
      if (next == never) {
        ADD_FAILURE() << "no answer will come";
        return out;
      }
      now_ = std::max(now_, next);
    }
    return out;
  }
  bool answers_within(Instant time) {
    Answer out;
    now_ += time;
    return device_->next(now_, out);
  }
  int write(std::uint64_t offset, std::size_t length, char fill) {
    const std::vector<std::byte> data(length, std::byte(fill));
    device_->write(++id_, offset, data, now_);
    return wait().error;
  }
  int flush() {
    device_->flush(++id_, now_);
    return wait().error;
  }
  int discard(std::uint64_t offset, std::uint64_t length) {
    device_->discard(++id_, offset, length, now_);
    return wait().error;
  }
  Answer read(std::uint64_t offset, std::size_t length) {
    device_->read(++id_, offset, length, now_);
    return wait();
  }
  // The byte that all of the range has, or '?'.
  char fill(std::uint64_t offset, std::size_t length) {
    const Answer answer = read(offset, length);
    if (answer.error != 0 || answer.data.size() != length) {
      return '!';
    }
    const bool same = std::all_of(answer.data.begin(), answer.data.end(),
                                  [&](std::byte each) { return each == answer.data.front(); });
    return same ? static_cast<char>(answer.data.front()) : '?';
  }
  Json tell(std::string_view command) {
    auto out = device_->command(command, now_);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : Json();
  }
  Error refuse(std::string_view command) {
    auto out = device_->command(command, now_);
    EXPECT_FALSE(out) << command;
    return out ? fail("") : out.error();
  }
  Device& device() { return *device_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  std::unique_ptr<Device> device_;
  Instant now_ = std::chrono::seconds(1);
  std::uint64_t id_ = 0;
};

constexpr Model cached = {.cache = 1 << 20};

TEST(Device, ReadsBackWhatWasWrittenAtAnyOffset) {
  Machine machine(cached);
  EXPECT_EQ(machine.fill(0, 8192), '\0');
  EXPECT_EQ(machine.write(512, 512, 'a'), 0);
  EXPECT_EQ(machine.write(4096 * 3 + 100, 10'000, 'b'), 0);
  EXPECT_EQ(machine.fill(0, 512), '\0');
  EXPECT_EQ(machine.fill(512, 512), 'a');
  EXPECT_EQ(machine.fill(1024, 3072), '\0');
  EXPECT_EQ(machine.fill(4096 * 3 + 100, 10'000), 'b');
  EXPECT_EQ(machine.fill(4096 * 3, 100), '\0');
  EXPECT_EQ(machine.write(device_size - 512, 512, 'z'), 0);
  EXPECT_EQ(machine.fill(device_size - 512, 512), 'z');
}

TEST(Device, APowerCutLosesWhatWasNotFlushedAndOnlyThat) {
  Machine machine(cached);
  machine.write(0, 4096, 'a');
  machine.write(1 << 20, 65536, 'a');
  machine.flush();
  machine.write(0, 512, 'b');
  machine.write(8192, 4096, 'b');
  EXPECT_EQ(machine.tell("status")["unflushed"], 8192);
  EXPECT_EQ(machine.tell("power-cut")["state"], "dead");
  EXPECT_EQ(machine.read(0, 512).error, EIO);
  EXPECT_EQ(machine.write(0, 512, 'c'), EIO);
  EXPECT_EQ(machine.flush(), EIO);
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 4096), 'a');
  EXPECT_EQ(machine.fill(1 << 20, 65536), 'a');
  EXPECT_EQ(machine.fill(8192, 4096), '\0');
}

TEST(Device, WithoutACacheWhatIsAcknowledgedIsSafe) {
  Machine machine(Model{});
  machine.write(0, 4096, 'a');
  machine.tell("power-cut");
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 4096), 'a');
}

TEST(Device, AVolatileOneLosesEverything) {
  Machine machine({.volatile_ = 1});
  machine.write(0, 4096, 'a');
  machine.flush();
  machine.tell("power-cut");
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 4096), '\0');
}

TEST(Device, AShareOfTheBlocksSurvives) {
  Machine machine(cached);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    machine.write(i * 4096, 4096, 'a');
  }
  machine.tell("power-cut survive=0.25");
  machine.tell("revive");
  int survived = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    survived += machine.fill(i * 4096, 4096) == 'a' ? 1 : 0;
  }
  EXPECT_NEAR(survived, 250, 60);
}

TEST(Device, RequestsUnderWayFailInAPowerCut) {
  Machine machine({.read_latency = 1});
  machine.device().read(1, 0, 4096, machine.now());
  machine.device().read(2, 8192, 4096, machine.now());
  machine.tell("power-cut");
  EXPECT_EQ(machine.wait().error, EIO);
  EXPECT_EQ(machine.wait().error, EIO);
  EXPECT_FALSE(machine.answers_within(std::chrono::seconds(10)));
}

TEST(Device, TurningTheCacheOffMakesEverythingSafe) {
  Machine machine(cached);
  machine.write(0, 4096, 'a');
  machine.tell("set cache=0");
  machine.tell("power-cut");
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 4096), 'a');
}

TEST(Device, ATornWriteIsHalfNewHalfOld) {
  Machine machine(cached);
  machine.write(0, 8192, 'a');
  machine.flush();
  machine.tell("torn at=2");
  EXPECT_EQ(machine.write(1 << 20, 4096, 'x'), 0);
  EXPECT_EQ(machine.write(0, 8192, 'b'), 0);
  EXPECT_EQ(machine.fill(0, 4096), 'b');
  EXPECT_EQ(machine.fill(4096, 4096), 'a');
  EXPECT_EQ(machine.write(0, 8192, 'c'), 0);
  EXPECT_EQ(machine.fill(0, 8192), 'c');
}

TEST(Device, ATornWriteWithThePowerGoing) {
  Machine machine(cached);
  machine.write(0, 8192, 'a');
  machine.flush();
  machine.write(1 << 20, 4096, 'x');
  machine.tell("torn keep=512 then=power-cut");
  EXPECT_EQ(machine.write(0, 8192, 'b'), EIO);
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 512), 'b');
  EXPECT_EQ(machine.fill(512, 7680), 'a');
  EXPECT_EQ(machine.fill(1 << 20, 4096), '\0');
}

TEST(Device, ErrorsByOperationRangeRateAndCount) {
  Machine machine(cached);
  machine.write(0, 1 << 20, 'a');
  machine.tell("eio write range=64K-128K");
  EXPECT_EQ(machine.write(0, 65536, 'b'), 0);
  EXPECT_EQ(machine.write(65536 - 512, 1024, 'b'), EIO);
  EXPECT_EQ(machine.write(131072, 512, 'b'), 0);
  EXPECT_EQ(machine.fill(65536, 65536), 'a');
  machine.tell("clear");
  machine.tell("eio read count=2");
  EXPECT_EQ(machine.read(0, 512).error, EIO);
  EXPECT_EQ(machine.write(0, 512, 'c'), 0);
  EXPECT_EQ(machine.read(0, 512).error, EIO);
  EXPECT_EQ(machine.read(0, 512).error, 0);
  machine.tell("eio flush");
  EXPECT_EQ(machine.flush(), EIO);
  machine.tell("clear");
  machine.tell("eio any rate=0.3");
  int errors = 0;
  for (int i = 0; i < 1000; ++i) {
    errors += machine.read(0, 512).error != 0 ? 1 : 0;
  }
  EXPECT_NEAR(errors, 300, 60);
}

// A flush that failed has made nothing safe.
TEST(Device, AFailedFlushKeepsNothing) {
  Machine machine(cached);
  machine.write(0, 4096, 'a');
  machine.tell("eio flush");
  EXPECT_EQ(machine.flush(), EIO);
  machine.tell("power-cut");
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 4096), '\0');
}

TEST(Device, ADelayComesOnTop) {
  Machine machine({.read_latency = 0.001});
  machine.tell("delay 10ms read range=1M-2M");
  Instant start = machine.now();
  machine.read(0, 512);
  EXPECT_EQ(machine.now() - start, milliseconds(1));
  start = machine.now();
  machine.read(1 << 20, 512);
  EXPECT_EQ(machine.now() - start, milliseconds(11));
}

TEST(Device, FullAndReadOnly) {
  Machine machine(cached);
  machine.write(0, 512, 'a');
  machine.tell("full");
  EXPECT_EQ(machine.write(0, 512, 'b'), ENOSPC);
  machine.tell("clear");
  machine.tell("read-only");
  EXPECT_EQ(machine.write(0, 512, 'b'), EROFS);
  EXPECT_EQ(machine.discard(0, 4096), EROFS);
  EXPECT_EQ(machine.flush(), 0);
  machine.tell("clear");
  EXPECT_EQ(machine.fill(0, 512), 'a');
}

TEST(Device, WhatHangsIsAnsweredAfterRelease) {
  Machine machine(cached);
  machine.write(0, 512, 'a');
  machine.tell("hang read");
  machine.device().read(77, 0, 512, machine.now());
  EXPECT_FALSE(machine.answers_within(std::chrono::hours(1)));
  EXPECT_EQ(machine.write(4096, 512, 'b'), 0);
  EXPECT_EQ(machine.tell("status")["waiting"], 1);
  machine.tell("release");
  const Answer answer = machine.wait();
  EXPECT_EQ(answer.id, 77U);
  EXPECT_EQ(answer.error, 0);
  EXPECT_EQ(answer.data.front(), std::byte('a'));
}

TEST(Device, DiscardedBlocksReadAsZeros) {
  Machine machine(cached);
  machine.write(0, 1 << 20, 'a');
  EXPECT_EQ(machine.discard(1000, 100'000), 0);
  EXPECT_EQ(machine.fill(0, 1000), 'a');
  EXPECT_EQ(machine.fill(1000, 100'000), '\0');
  EXPECT_EQ(machine.fill(101'000, 1000), 'a');
  EXPECT_EQ(machine.discard(200'000, 10), 0);
  EXPECT_EQ(machine.fill(200'000, 10), '\0');
  EXPECT_EQ(machine.fill(200'010, 100), 'a');
  EXPECT_EQ(machine.discard(8192 * 40, 4096), 0);
  EXPECT_EQ(machine.fill(8192 * 40, 4096), '\0');
}

TEST(Device, ADiscardIsNoWriteToFaultsThatTearOrFill) {
  Machine machine(cached);
  machine.write(0, 8192, 'a');
  machine.tell("torn");
  machine.tell("full");
  EXPECT_EQ(machine.discard(4096, 4096), 0);
  EXPECT_EQ(machine.tell("status")["faults"].size(), 2U);
  machine.tell("clear");
  machine.tell("eio write");
  EXPECT_EQ(machine.discard(0, 4096), EIO);
  machine.tell("clear");
  machine.tell("delay 1s write");
  const Instant start = machine.now();
  EXPECT_EQ(machine.discard(0, 4096), 0);
  EXPECT_EQ(machine.now() - start, std::chrono::seconds(1));
}

// The part that got through must not take its unflushed neighbours in the same block along.
TEST(Device, ATornSectorMakesOnlyItselfSafe) {
  Machine machine(cached);
  machine.write(0, 4096, 'a');
  machine.flush();
  machine.write(0, 1024, 'b');
  machine.tell("torn keep=512");
  machine.write(2048, 1024, 'c');
  machine.tell("power-cut");
  machine.tell("revive");
  EXPECT_EQ(machine.fill(0, 2048), 'a');
  EXPECT_EQ(machine.fill(2048, 512), 'c');
  EXPECT_EQ(machine.fill(2560, 1536), 'a');
}

TEST(Device, ClearTakesBackDelaysOfRequestsUnderWay) {
  Machine machine({.read_latency = 1});
  machine.tell("delay 1h");
  machine.device().read(1, 0, 4096, machine.now());
  machine.tell("clear");
  const Instant start = machine.now();
  machine.wait();
  EXPECT_EQ(machine.now() - start, std::chrono::seconds(1));
}

TEST(Device, APowerCutEndsAHang) {
  Machine machine(cached);
  machine.tell("hang");
  machine.device().read(9, 0, 512, machine.now());
  machine.tell("power-cut");
  EXPECT_EQ(machine.wait().error, EIO);
  machine.tell("revive");
  EXPECT_EQ(machine.read(0, 512).error, 0);
}

TEST(Device, WrongCommandsChangeNothingAndSayWhatIsRight) {
  Machine machine(cached);
  const Json before = machine.tell("status");
  EXPECT_THAT(machine.refuse("powercut").text(), HasSubstr("did you mean 'power-cut'"));
  EXPECT_THAT(machine.refuse("eio wrte").text(), HasSubstr("usage: eio"));
  EXPECT_THAT(machine.refuse("eio rate=2").text(), HasSubstr("probability"));
  EXPECT_THAT(machine.refuse("eio range=2M-1M").text(), HasSubstr("empty"));
  EXPECT_THAT(machine.refuse("eio range=2M").text(), HasSubstr("FROM-TO"));
  EXPECT_THAT(machine.refuse("torn at=0").text(), HasSubstr("counted from 1"));
  EXPECT_THAT(machine.refuse("delay soon").text(), HasSubstr("soon"));
  EXPECT_THAT(machine.refuse("hang now").text(), HasSubstr("usage: hang"));
  EXPECT_THAT(machine.refuse("power-cut please").text(), HasSubstr("usage: power-cut"));
  EXPECT_THAT(machine.refuse("set latency=x").text(), HasSubstr("latency"));
  EXPECT_THAT(machine.refuse("set parallel=0").text(), HasSubstr("out of range"));
  EXPECT_TRUE(machine.refuse("").usage);
  EXPECT_EQ(machine.tell("status"), before);
}

TEST(Device, InAFileAsInMemory) {
  const std::filesystem::path file =
      std::filesystem::path(SLUICE_SOURCE_DIR) / "build" / ("device_test-" + std::to_string(getpid()));
  std::filesystem::create_directories(file.parent_path());
  auto probe = file_store(file, device_size);
  if (!probe) {
    GTEST_SKIP() << probe.error().text();
  }
  probe->reset();
  {
    Machine machine(cached, file);
    machine.write(0, 100'000, 'a');
    machine.flush();
    machine.write(512, 512, 'b');
    machine.write(3 << 20, 2 << 20, 'c');
    EXPECT_EQ(machine.fill(512, 512), 'b');
    EXPECT_EQ(machine.fill(3 << 20, 2 << 20), 'c');
    machine.tell("power-cut");
    machine.tell("revive");
    EXPECT_EQ(machine.fill(0, 100'000), 'a');
    EXPECT_EQ(machine.fill(3 << 20, 2 << 20), '\0');
    machine.write(8 << 20, 4096, 'd');
  }
  Machine again(cached, file);
  EXPECT_EQ(again.fill(0, 100'000), 'a');
  EXPECT_EQ(again.fill(8 << 20, 4096), 'd');
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace sluice::lab
