#include "run/combine.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

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
    const Combined combined = combine_pieces(parts, size);
    std::string made = std::string(size, '.').substr(0, combined.kept);
    made.resize(combined.size, '\0');
    std::uint64_t before = 0;
    for (const auto& [begin, extent] : combined.extents) {
      EXPECT_GE(begin, before);
      before = extent.end;
      made.replace(begin, extent.end - begin, data[extent.part].substr(begin, extent.end - begin));
    }
    EXPECT_EQ(made, file) << "round " << round;
  }
}

}  // namespace
}  // namespace sluice
