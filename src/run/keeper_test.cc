#include "run/keeper.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <thread>

#include "run/shared.h"

namespace sluice {
namespace {

TEST(Keeper, TellsWhatSomebodyWhoDoesNotGoOnKeepsBack) {
  const auto shared = SharedArea::make({{.files = *Glob::parse("/**"), .stages = {"writeback"}}},
                                       {.memory = 4 << 20, .mounts = {}, .trace_points = {}});
  ASSERT_TRUE(shared) << shared.error().text();
  Area& area = shared->area();
  Buffer* buffer = area.take_buffer(getpid(), 1);
  ASSERT_NE(buffer, nullptr);
  buffer->block = area.take_block();
  ASSERT_NE(buffer->block, 0U);
  std::strcpy(area.head_of(*buffer).path.data(), "/no/such/file");
  buffer->base = 100;
  buffer->length = 50;
  std::promise<void> locked;
  std::promise<void> done;
  std::thread other([&] {
    EXPECT_EQ(lock_buffer(*buffer, gettid()), Locked::yes);
    locked.set_value();
    done.get_future().wait();
    buffer->length = 0;
    unlock_buffer(*buffer);
  });
  locked.get_future().wait();
  Keeper keeper(area);
  ASSERT_TRUE(keeper.start());
  const std::vector<Recovered> odd = keeper.finish();
  done.set_value();
  other.join();
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_EQ(odd[0].outcome, Recovered::Outcome::failed);
  EXPECT_EQ(odd[0].path, "/no/such/file");
  EXPECT_EQ(odd[0].offset, 100U);
  EXPECT_EQ(odd[0].bytes, 50U);
}

}  // namespace
}  // namespace sluice
