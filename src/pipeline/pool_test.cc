#include "pipeline/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(Pool, GivesEachOnceUntilItComesBack) {
  static Pool<int, 3> pool;
  int* a = pool.take();
  int* b = pool.take();
  int* c = pool.take();
  EXPECT_TRUE(a != b && b != c && a != c && c != nullptr);
  EXPECT_EQ(pool.take(), nullptr);
  pool.give_back(b);
  EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(Pool, NeverGivesOneToTwoThreads) {
  struct One {
    std::atomic<int> users = 0;
  };
  static Pool<One, 4> pool;
  std::atomic<bool> twice = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20000; ++n) {
        if (One* one = pool.take(); one != nullptr) {
          twice = twice || one->users.fetch_add(1) != 0;
          one->users.fetch_sub(1);
          pool.give_back(one);
        }
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(twice);
}

}  // namespace
}  // namespace sluice
