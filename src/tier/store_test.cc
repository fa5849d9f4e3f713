#include "tier/store.h"

#include <gtest/gtest.h>

#include <deque>

#include "tier/test_device.h"

namespace sluice::tier {
namespace {

constexpr std::uint64_t mib = 1 << 20;

class StoreTest : public testing::Test {
 protected:
  std::vector<TierDevice> tiers() {
    return {{.name = "fast", .device = &fast}, {.name = "slow", .device = &slow}};
  }
  std::unique_ptr<Store> load() {
    loaded = {};
    auto store = Store::load(tiers(), false, loaded);
    EXPECT_TRUE(store.has_value()) << store.error().text();
    return store ? std::move(*store) : nullptr;
  }
  std::unique_ptr<Store> make() {
    auto label = Store::plan({.chunk_size = 64 << 10}, tiers());
    EXPECT_TRUE(label.has_value()) << label.error().text();
    EXPECT_TRUE(Store::create(*label, tiers()));
    return load();
  }
  void turn(Store& store) {
    store.advance();
    fast.poll();
    slow.poll();
  }
  // Commits and waits.
  void put(Store& store, std::uint64_t chunk, Place place) {
    Commit commit;
    commit.records[0] = {.chunk = chunk, .entry = {}, .type = RecordType::entry};
    commit.records[0].entry.set_place(place);
    commit.count = 1;
    bool done = false;
    commit.owner = &done;
    commit.done = [](Commit& it) { *static_cast<bool*>(it.owner) = true; };
    store.commit(commit);
    while (!done) {
      turn(store);
    }
    EXPECT_EQ(commit.error, 0);
  }
  void flush_all() {
    for (TestDevice* device : {&fast, &slow}) {
      EXPECT_TRUE(flush(*device));
    }
  }

  std::mt19937_64 random{1};
  TestDevice fast{4 * mib, random};
  TestDevice slow{8 * mib, random};
  Store::Loaded loaded;
};

TEST_F(StoreTest, KeepsWhatWasCommittedOverCleanAndUncleanEnds) {
  auto store = make();
  put(*store, 3, {.tier = 1, .slot = 7});
  put(*store, 4, {.tier = 0, .slot = 1});
  ASSERT_TRUE(store->close());
  store = load();
  EXPECT_TRUE(loaded.was_clean);
  EXPECT_EQ(store->entries[3].place(), (Place{1, 7}));
  put(*store, 3, {.tier = 0, .slot = 2});
  fast.kill();
  slow.kill();
  store = load();
  EXPECT_FALSE(loaded.was_clean);
  EXPECT_EQ(store->entries[3].place(), (Place{0, 2}));
  EXPECT_EQ(store->entries[4].place(), (Place{0, 1}));
  EXPECT_TRUE(store->slots[0].is_used(2));
  EXPECT_FALSE(store->slots[1].is_used(7));
}

TEST_F(StoreTest, UsesTheCopyWhereAMapIsDamaged) {
  auto store = make();
  put(*store, 5, {.tier = 1, .slot = 9});
  ASSERT_TRUE(store->close());
  const MapLayout layout(store->label());
  for (const unsigned set : {0U, 1U}) {
    fast.bytes()[layout.page(set, 0) + 100] ^= std::byte{1};
  }
  store = load();
  EXPECT_EQ(store->entries[5].place(), (Place{1, 9}));
  ASSERT_EQ(loaded.notes.size(), 1U);
  EXPECT_NE(loaded.notes[0].find("damaged"), std::string::npos);
}

TEST_F(StoreTest, RefusesWhenBothCopiesAreDamaged) {
  auto store = make();
  ASSERT_TRUE(store->close());
  const MapLayout layout(store->label());
  for (const unsigned set : {0U, 1U}) {
    fast.bytes()[layout.page(set, 0) + 100] ^= std::byte{1};
    slow.bytes()[layout.page(set, 0) + 100] ^= std::byte{1};
  }
  EXPECT_FALSE(Store::load(tiers(), false, loaded));
}

TEST_F(StoreTest, AStaleCopyOfTheMapIsNotBelieved) {
  auto store = make();
  put(*store, 5, {.tier = 1, .slot = 9});
  ASSERT_TRUE(store->close());
  // A session without the slow tier, then one with it.
  const std::vector<TierDevice> alone = {{.name = "fast", .device = &fast}};
  auto without = Store::load(alone, false, loaded);
  ASSERT_TRUE(without) << without.error().text();
  EXPECT_EQ((*without)->device(1), nullptr);
  put(**without, 5, {.tier = 0, .slot = 3});
  store = load();
  EXPECT_EQ(store->entries[5].place(), (Place{0, 3}));
  ASSERT_TRUE(store->close());
  // By now the slow one has a good copy again.
  std::fill_n(fast.bytes().begin() + 2 * block_size, mib / 2, std::byte{0xff});
  store = load();
  EXPECT_EQ(store->entries[5].place(), (Place{0, 3}));
}

TEST_F(StoreTest, TiersUsedWithoutEachOtherAreRefused) {
  ASSERT_TRUE(make()->close());
  const std::vector<TierDevice> first = {{.name = "fast", .device = &fast}};
  const std::vector<TierDevice> second = {{.name = "slow", .device = &slow}};
  ASSERT_TRUE(Store::load(first, false, loaded));
  ASSERT_TRUE(Store::load(second, false, loaded));
  EXPECT_FALSE(Store::load(tiers(), false, loaded));
}

TEST_F(StoreTest, AMapTierThatFailsIsLeftBehind) {
  auto store = make();
  fast.fault = [](const Io& io) { return io.op == Op::write ? EIO : 0; };
  put(*store, 1, {.tier = 1, .slot = 1});
  EXPECT_EQ(store->failed_maps(), 1U);
  put(*store, 2, {.tier = 1, .slot = 2});
  fast.fault = nullptr;
  store = load();
  EXPECT_EQ(store->entries[2].place(), (Place{1, 2}));
}

// Random commits, flushes, checkpoints, kills and power cuts, against a model.
TEST_F(StoreTest, PowerCutsKeepWhatWasFlushed) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    random.seed(seed);
    fast.bytes().assign(fast.size(), {});
    slow.bytes().assign(slow.size(), {});
    auto store = make();
    struct Want {
      std::vector<Place> possible{Place{}};  // the last one flushed, and those since
    };
    std::vector<Want> want(store->chunks());
    for (int round = 0; round < 12; ++round) {
      std::deque<std::pair<Commit, bool>> commits;
      const int steps = static_cast<int>(random() % 300);
      for (int i = 0; i < steps; ++i) {
        const std::uint64_t chunk = random() % 20;
        auto& [commit, done] = commits.emplace_back();
        commit.records[0] = {.chunk = chunk, .entry = {}, .type = RecordType::entry};
        const Place place{.tier = 1, .slot = chunk + 20 * (random() % 4)};
        commit.records[0].entry.set_place(place);
        commit.count = 1;
        commit.owner = &done;
        commit.done = [](Commit& it) { *static_cast<bool*>(it.owner) = true; };
        want[chunk].possible.push_back(place);
        store->commit(commit);
        if (random() % 3 == 0) {
          turn(*store);
        }
        if (random() % 40 == 0) {
          store->checkpoint();
        }
      }
      while (!store->idle()) {
        turn(*store);
      }
      const bool flushed = random() % 2 == 0;
      if (flushed) {
        flush_all();
      }
      const bool killed = random() % 3 == 0;
      if (killed) {
        fast.kill();
        slow.kill();
      } else {
        fast.power_cut();
        slow.power_cut();
      }
      store = load();
      ASSERT_NE(store, nullptr);
      for (std::uint64_t chunk = 0; chunk < 20; ++chunk) {
        const Place found = store->entries[chunk].place();
        std::vector<Place>& possible = want[chunk].possible;
        if (flushed || killed) {
          possible = {possible.back()};
        }
        ASSERT_NE(std::find(possible.begin(), possible.end(), found), possible.end())
            << "seed " << seed << " round " << round << " chunk " << chunk;
        possible = {found};  // load() has flushed
      }
    }
  }
}

}  // namespace
}  // namespace sluice::tier
