#include "tier/volume.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tier/test_device.h"

namespace sluice::tier {
namespace {

constexpr std::uint64_t chunk = 64 << 10;
constexpr std::uint64_t blocks_a_chunk = chunk / block_size;

Instant test_time{};
Instant test_clock() {
  return test_time += std::chrono::microseconds(50);
}

// A volume on devices in memory, and what each of its blocks must hold.
class Bench {
 public:
  explicit Bench(std::uint64_t seed, unsigned tiers = 3) : random(seed) {
    static constexpr std::array<std::uint64_t, 3> sizes = {2 << 20, 4 << 20, 8 << 20};
    for (unsigned i = 0; i < tiers; ++i) {
      devices.push_back(std::make_unique<TestDevice>(sizes[i], random));
    }
  }

  std::vector<TierDevice> tiers() {
    static constexpr std::array<const char*, 3> names = {"fast", "middle", "slow"};
    std::vector<TierDevice> out;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      out.push_back({.name = names[i], .device = devices[i].get(), .persistent = i != volatile_tier});
    }
    return out;
  }
  void create() {
    auto label = Store::plan({.chunk_size = chunk, .size = size}, tiers());
    ASSERT_TRUE(label) << label.error().text();
    ASSERT_TRUE(Store::create(*label, tiers()));
  }
  void open() {
    Store::Loaded notes;
    VolumeOptions options;
    options.clock = test_clock;
    options.prefetch_slots = 4;
    options.update_copies = update_copies;
    options.scheduler = scheduler;
    auto opened = Volume::open(tiers(), options, notes);
    ASSERT_TRUE(opened) << opened.error().text();
    volume = std::move(*opened);
    blocks.resize(volume->size() / block_size);
  }
  void turn() { volume->advance(test_clock()); }

  struct Block {
    std::vector<std::uint64_t> possible{0};  // the last one is the newest that was acknowledged
    bool busy = false;                       // a write is under way
  };
  struct Asked {
    Request request;
    Buffer data;
    std::uint64_t tag = 0;
    bool done = false;
  };

  Asked& ask(Op op, std::uint64_t block, std::uint64_t count, bool fua = false) {
    Asked& it = *asked.emplace_back(std::make_unique<Asked>());
    it.request.op = op;
    it.request.fua = fua;
    it.request.offset = block * block_size;
    it.request.length = count * block_size;
    if (op == Op::read || op == Op::write) {
      it.data = Buffer(count * block_size);
      it.request.data = it.data.data();
    }
    it.tag = op == Op::write ? ++next_tag : 0;
    if (op == Op::write) {
      for (std::uint64_t i = 0; i < count; ++i) {
        for (std::uint64_t at = 0; at < block_size; at += 8) {
          std::memcpy(it.data.data() + i * block_size + at, &it.tag, 8);
        }
      }
    }
    it.request.owner = &it;
    it.request.done = [](Request& request) { static_cast<Asked*>(request.owner)->done = true; };
    volume->submit(it.request, test_clock());
    return it;
  }
  void wait(Asked& it) {
    for (int i = 0; !it.done && i < 100000; ++i) {
      turn();
    }
    ASSERT_TRUE(it.done);
  }
  // The tag that the block holds; the block is all of one tag.
  std::uint64_t tag_in(const Asked& it, std::uint64_t i) {
    std::uint64_t first = 0;
    std::memcpy(&first, it.data.data() + i * block_size, 8);
    for (std::uint64_t at = 0; at < block_size; at += 8) {
      std::uint64_t tag = 0;
      std::memcpy(&tag, it.data.data() + i * block_size + at, 8);
      EXPECT_EQ(tag, first);
    }
    return first;
  }

  void start_random_request() {
    const std::uint64_t block = random() % blocks.size();
    const std::uint64_t count = std::min<std::uint64_t>(
        random() % 4 == 0 ? blocks_a_chunk : 1 + random() % 20, blocks.size() - block);
    const unsigned kind = random() % 16;
    const Op op = kind < 7 ? Op::read : kind < 14 ? Op::write : Op::zero;
    std::uint64_t from = block;
    std::uint64_t n = count;
    if (op == Op::zero && random() % 2 == 0) {
      from = block / blocks_a_chunk * blocks_a_chunk;
      n = blocks_a_chunk;
    }
    for (std::uint64_t i = from; i < from + n; ++i) {
      if (blocks[i].busy) {
        return;
      }
    }
    Asked& it = ask(op, from, n, random() % 8 == 0);
    for (std::uint64_t i = from; i < from + n; ++i) {
      blocks[i].busy = true;  // reads too, so that what they may see is known
      if (op != Op::read) {
        blocks[i].possible.push_back(it.tag);
      }
    }
  }
  void collect() {
    std::erase_if(asked, [this](const std::unique_ptr<Asked>& pointer) {
      Asked& it = *pointer;
      if (!it.done) {
        return false;
      }
      check(it);
      return true;
    });
  }
  void check(Asked& it) {
    EXPECT_TRUE(it.request.error == 0 || tolerated == it.request.error) << it.request.error;
    const std::uint64_t from = it.request.offset / block_size;
    for (std::uint64_t i = 0; i < it.request.length / block_size; ++i) {
      Block& block = blocks[from + i];
      block.busy = false;
      if (it.request.error != 0) {
        continue;
      }
      if (it.request.op == Op::read) {
        const std::uint64_t tag = tag_in(it, i);
        EXPECT_EQ(tag, block.possible.back()) << "block " << from + i;
      } else if (it.request.fua) {
        block.possible = {it.tag};
      }
    }
  }
  void start_random_operation() {
    static constexpr std::array<Action, 5> actions = {Action::migrate, Action::migrate, Action::replicate,
                                                      Action::prefetch, Action::drop};
    volume->enqueue({.chunk = random() % volume->store().chunks(),
                     .action = actions[random() % actions.size()],
                     .reason = Reason::asked,
                     .to = static_cast<std::uint8_t>(random() % devices.size())});
  }
  // Reads all, after a crash: each block holds one of what it may hold.
  void check_all() {
    asked.clear();
    for (std::uint64_t block = 0; block < blocks.size(); block += blocks_a_chunk) {
      Asked& it = ask(Op::read, block, blocks_a_chunk);
      wait(it);
      ASSERT_EQ(it.request.error, 0);
      for (std::uint64_t i = 0; i < blocks_a_chunk; ++i) {
        auto& possible = blocks[block + i].possible;
        const std::uint64_t tag = tag_in(it, i);
        ASSERT_NE(std::find(possible.begin(), possible.end(), tag), possible.end())
            << "block " << block + i << " holds " << tag << ", newest is " << possible.back();
        possible = {tag};
        blocks[block + i].busy = false;
      }
    }
    asked.clear();
  }
  // No slot is lost: what is used is in the map.
  void check_slots() {
    for (int i = 0; i < 200000 && (!volume->idle() || volume->queued() > 0); ++i) {
      turn();
    }
    ASSERT_TRUE(volume->idle());
    Store& store = volume->store();
    std::array<std::uint64_t, most_tiers> mapped{};
    for (std::uint64_t i = 0; i < store.chunks(); ++i) {
      if (store.entries[i].mapped()) {
        ++mapped[store.entries[i].place().tier];
      }
      if (volume->prefetched(i)) {
        ++prefetched;
      }
    }
    store.replicas.for_each([&](std::uint64_t, Place place) { ++mapped[place.tier]; });
    std::uint64_t used = 0;
    std::uint64_t known = 0;
    for (unsigned tier = 0; tier < devices.size(); ++tier) {
      used += store.slots[tier].count() - volume->space().free(tier);
      known += mapped[tier];
    }
    EXPECT_EQ(used, known + std::exchange(prefetched, 0));
  }

  std::mt19937_64 random;
  std::vector<std::unique_ptr<TestDevice>> devices;
  std::unique_ptr<Volume> volume;
  std::vector<Block> blocks;
  std::vector<std::unique_ptr<Asked>> asked;
  std::uint64_t next_tag = 0;
  std::size_t volatile_tier = 99;
  std::uint64_t size = 0;  // of the volume; 0: what the tiers hold
  std::uint64_t prefetched = 0;
  int tolerated = 0;
  bool update_copies = false;
  std::string scheduler = "adaptive";
};

TEST(Volume, ReadsZerosWhereNothingWasWritten) {
  Bench bench(1);
  bench.create();
  bench.open();
  auto& it = bench.ask(Op::read, 0, 4);
  bench.wait(it);
  EXPECT_EQ(bench.tag_in(it, 3), 0U);
  EXPECT_EQ(bench.volume->counts().hits[0], 0U);
}

TEST(Volume, AFirstPartialWriteDoesNotShowOldBytes) {
  Bench bench(1, 2);
  for (auto& device : bench.devices) {
    device->bytes().assign(device->size(), std::byte{0xee});
    device->sparse = false;
  }
  bench.create();
  bench.open();
  bench.wait(bench.ask(Op::write, 3, 1));
  auto& it = bench.ask(Op::read, 0, blocks_a_chunk);
  bench.wait(it);
  EXPECT_EQ(bench.tag_in(it, 2), 0U);
  EXPECT_EQ(bench.tag_in(it, 3), 1U);
  EXPECT_EQ(bench.tag_in(it, 4), 0U);
}

TEST(Volume, MovesAChunkAndKeepsItsBytes) {
  Bench bench(1);
  bench.create();
  bench.open();
  bench.wait(bench.ask(Op::write, 0, blocks_a_chunk));
  EXPECT_EQ(bench.volume->store().entries[0].place().tier, 0);
  bench.volume->enqueue({.chunk = 0, .to = 2});
  while (bench.volume->store().entries[0].place().tier != 2) {
    bench.turn();
  }
  auto& it = bench.ask(Op::read, 0, blocks_a_chunk);
  bench.wait(it);
  EXPECT_EQ(bench.tag_in(it, 5), 1U);
  bench.check_slots();
}

TEST(Volume, AFullTierSpillsAndAFullVolumeSaysSo) {
  Bench bench(1, 2);
  bench.create();
  bench.open();
  Store& store = bench.volume->store();
  for (std::uint64_t i = 0; i < store.chunks(); ++i) {
    auto& it = bench.ask(Op::write, i * blocks_a_chunk, 1);
    bench.wait(it);
    ASSERT_EQ(it.request.error, 0);
  }
  EXPECT_EQ(store.slots[0].free(), 0U);
}

TEST(Volume, DrainsATierAndRemovesIt) {
  Bench bench(1);
  bench.size = 5 << 20;
  bench.create();
  bench.open();
  for (std::uint64_t i = 0; i < 20; ++i) {
    bench.wait(bench.ask(Op::write, i * blocks_a_chunk, 4));
    bench.volume->enqueue({.chunk = i, .to = 2});
  }
  bench.check_slots();
  EXPECT_FALSE(bench.volume->remove_tier(2));
  ASSERT_TRUE(bench.volume->drain(2));
  for (int i = 0; i < 100000 && bench.volume->store().slots[2].used() > 0; ++i) {
    bench.turn();
  }
  const Status removed = bench.volume->remove_tier(2);
  ASSERT_TRUE(removed) << removed.error().text();
  auto& it = bench.ask(Op::read, 7 * blocks_a_chunk, 4);
  bench.wait(it);
  EXPECT_EQ(bench.tag_in(it, 0), 8U);
}

TEST(Volume, AVolatileTierHoldsFurtherCopiesAloneAndMayBeLost) {
  Bench bench(1);
  bench.volatile_tier = 0;
  bench.create();
  bench.open();
  bench.wait(bench.ask(Op::write, 0, blocks_a_chunk));
  EXPECT_EQ(bench.volume->store().entries[0].place().tier, 1);
  bench.volume->enqueue({.chunk = 0, .to = 0});
  bench.check_slots();
  EXPECT_EQ(bench.volume->store().entries[0].place().tier, 1);
  EXPECT_EQ(bench.volume->store().replicas.find(0).count, 1U);
  bench.wait(bench.ask(Op::flush, 0, 0));
  bench.volume.reset();
  for (auto& device : bench.devices) {
    device->power_cut();
  }
  bench.devices[0]->bytes().assign(bench.devices[0]->size(), {});
  // Killed once more, before anything else is written.
  bench.open();
  bench.volume.reset();
  bench.open();
  EXPECT_EQ(bench.volume->store().replicas.count(), 0U);
  auto& it = bench.ask(Op::read, 0, blocks_a_chunk);
  bench.wait(it);
  EXPECT_EQ(bench.tag_in(it, 0), 1U);
}

struct Way {
  bool update_copies;
  const char* scheduler;
};
class VolumeRandom : public testing::TestWithParam<std::tuple<Way, int>> {};

// Random I/O with moves, copies and prefetches under way, ended by a close, a kill or a power cut.
TEST_P(VolumeRandom, AgreesWithTheModel) {
  const auto& [way, seed] = GetParam();
  Bench bench(static_cast<std::uint64_t>(seed));
  bench.update_copies = way.update_copies;
  bench.scheduler = way.scheduler;
  bench.size = seed % 2 == 0 ? 0 : 9 << 20;  // with and without room for copies
  bench.create();
  std::uint64_t total = 0;
  std::uint64_t copies = 0;
  for (int round = 0; round < 6; ++round) {
    bench.open();
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    bench.check_all();
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    Bench::Asked* flush = nullptr;
    for (int step = 0; step < 2000; ++step) {
      const auto dice = bench.random() % 100;
      if (dice < 30 && bench.asked.size() < 40) {
        bench.start_random_request();
      } else if (dice < 34) {
        bench.start_random_operation();
      } else if (dice == 34 && flush == nullptr) {
        bench.collect();
        if (bench.asked.empty()) {  // so that what it covers is known
          auto& it = bench.ask(Op::flush, 0, 0);
          bench.wait(it);
          for (auto& block : bench.blocks) {
            block.possible = {block.possible.back()};
          }
          bench.asked.clear();
        }
      } else if (dice == 35) {
        bench.volume->store().checkpoint();
      } else {
        bench.turn();
        bench.collect();
      }
    }
    const auto end = bench.random() % 3;
    total += bench.volume->counts().moved_chunks[0];
    copies += bench.volume->counts().replicated;
    if (end == 0) {
      while (!bench.asked.empty()) {
        bench.turn();
        bench.collect();
      }
      bench.check_slots();
      const Status closed = bench.volume->close();
      ASSERT_TRUE(closed) << closed.error().text();
      for (auto& block : bench.blocks) {
        block.possible = {block.possible.back()};
      }
    } else if (end == 1) {
      bench.collect();
      for (auto& block : bench.blocks) {
        // A write under way may be there or not; the one before it was acknowledged.
        if (!block.busy) {
          block.possible = {block.possible.back()};
        } else if (block.possible.size() > 2) {
          block.possible.erase(block.possible.begin(), block.possible.end() - 2);
        }
      }
      for (auto& device : bench.devices) {
        device->kill();
      }
    } else {
      for (auto& device : bench.devices) {
        device->power_cut();
      }
    }
    bench.volume.reset();
    bench.asked.clear();
  }
  EXPECT_GT(total, 0U);
  EXPECT_TRUE(copies > 0 || bench.size == 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, VolumeRandom,
                         testing::Combine(testing::Values(Way{false, "adaptive"}, Way{true, "queues"},
                                                          Way{true, "fifo"}),
                                          testing::Range(1, 4)));

}  // namespace
}  // namespace sluice::tier
