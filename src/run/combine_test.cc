#include "run/combine.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <utility>

#include "run/beside.h"
#include "run/part_source.h"
#include "run/recover.h"
#include "run/shared.h"

namespace sluice {
namespace {

// The same by hand: every byte is the number of the piece that wrote it last.
TEST(Combine, PiecesMakeWhatTheWritesMake) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t size = random() % 40;
    std::string file(size, '.');
    std::vector<std::string> data(3, std::string(200, '?'));
    std::vector<std::vector<Piece>> parts(3);
    for (std::uint64_t order = 1; order < 40; ++order) {
      const std::size_t part = random() % 3;
      const std::uint64_t offset = random() % 100;
      const std::uint64_t kind = random() % 20;
      const std::uint64_t length = kind == 0 ? Piece::cut : kind == 1 ? Piece::grown : 1 + random() % 30;
      parts[part].push_back({.order = order, .offset = offset, .length = length});
      if (length == Piece::cut) {
        file.resize(offset, '\0');
      } else {
        file.resize(std::max<std::size_t>(file.size(), offset + length), '\0');
        file.replace(offset, length, std::string(length, static_cast<char>('A' + order)));
        data[part].replace(offset, length, std::string(length, static_cast<char>('A' + order)));
      }
    }
    std::swap(parts[0].front(), parts[0].back());  // their order counts, not where they stand
    const Combined combined = combine_pieces(parts);
    std::string made = std::string(size, '.').substr(0, combined.kept);
    made.resize(std::max<std::size_t>(made.size(), combined.reach), '\0');
    std::uint64_t before = 0;
    for (const auto& [begin, extent] : combined.extents) {
      EXPECT_GE(begin, before);
      before = extent.end;
      made.replace(begin, extent.end - begin, data[extent.part].substr(begin, extent.end - begin));
    }
    EXPECT_EQ(made, file) << "round " << round;
  }
}

// Its name may be gone by then: without the descriptor that is on its way it would not be found.
TEST(Combine, AWholeWaitsUntilItsDescriptorHasCome) {
  const auto shared =
      SharedArea::make({{.files = *Glob::parse("/**"), .stages = {"rewrite:to=/tmp,combine=yes"}}},
                       {.memory = 4 << 20, .mounts = {}, .trace_points = {}});
  ASSERT_TRUE(shared) << shared.error().text();
  Area& area = shared->area();
  auto& parts = *area.at<AreaParts>(area.parts);
  AreaWhole& whole = parts.wholes[0];
  std::strcpy(whole.path.data(), (testing::TempDir() + "sluice-whole-" + std::to_string(getpid())).c_str());
  whole.state = AreaWhole::parted;
  parts.top = 1;
  parts.live = 1;
  const auto gather = [&] {
    return combine_parts(
               area, [](auto, auto) -> UniqueFd* { return nullptr; }, When::runs, true)
        .size();
  };
  EXPECT_EQ(gather(), 0U);
  EXPECT_EQ(whole.state, AreaWhole::parted);
  whole.known = 1;
  EXPECT_EQ(gather(), 1U);
  unlink(beside_name(whole.path.data(), 0).c_str());
  unlink(area.own_path.data());
}

// Who does not wait, because it cannot tell that somebody brings them together.
TEST(Combine, APartThatIsMadeMeanwhileIsNotForgotten) {
  const auto shared =
      SharedArea::make({{.files = *Glob::parse("/**"), .stages = {"rewrite:to=/tmp,combine=yes"}}},
                       {.memory = 4 << 20, .mounts = {}, .trace_points = {}});
  ASSERT_TRUE(shared) << shared.error().text();
  Area& area = shared->area();
  auto& parts = *area.at<AreaParts>(area.parts);
  const std::string path = testing::TempDir() + "sluice-meanwhile-" + std::to_string(getpid());
  const auto make = [](const std::string& name, const std::string& bytes) { std::ofstream(name) << bytes; };
  const auto make_part = [&](std::uint32_t number, const std::string& bytes, std::uint64_t offset) {
    AreaPart& part = parts.parts[number];
    make(path + "-" + std::to_string(number), std::string(offset, '\0') + bytes);
    std::strcpy(part.data.data(), (path + "-" + std::to_string(number)).c_str());
    part.flags = AreaPart::closed;
    part.pieces[0] = {.order = number + 1, .offset = offset, .length = bytes.size()};
    part.count = 1;
    part.generation.fetch_add(1);
  };
  make(path, "");
  AreaWhole& whole = parts.wholes[0];
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  std::strcpy(whole.path.data(), path.c_str());
  whole.device = found.st_dev;
  whole.inode = found.st_ino;
  whole.known = 1;
  whole.state = AreaWhole::parted;
  parts.top = 1;
  parts.live = 1;
  make_part(0, "first", 0);
  bool again = false;
  const auto held = [&](auto, auto) -> UniqueFd* {
    if (!std::exchange(again, true)) {
      make_part(1, "second", 5);
    }
    return nullptr;
  };
  combine_parts(area, held, When::runs, true);
  EXPECT_EQ(whole.state, AreaWhole::parted);
  EXPECT_EQ(parts.live, 1U);
  combine_parts(area, held, When::runs, true);
  EXPECT_EQ(whole.state, AreaWhole::unused);
  std::string bytes;
  std::getline(std::ifstream(path), bytes);
  EXPECT_EQ(bytes, "firstsecond");
  EXPECT_NE(access((path + "-1").c_str(), F_OK), 0);
  unlink(path.c_str());
  unlink(area.own_path.data());
}

}  // namespace
}  // namespace sluice
