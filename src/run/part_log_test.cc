#include "run/part_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>

#include "base/files.h"
#include "run/combine.h"

namespace sluice {
namespace {

using Outcome = Recovered::Outcome;

const std::string fixtures = std::string(SLUICE_SOURCE_DIR) + "/tests/fixtures/parts/";
constexpr std::size_t ranks = 3;

std::string part_name(std::size_t rank) {
  return "sluice-14696-" + std::to_string(rank) + "-checkpoint";
}

std::string frozen(const std::string& name) {
  return *read_file(fixtures + name);
}
std::string frozen_log(std::size_t rank) {
  return frozen("version-1/" + part_name(rank) + ".log");
}

bool write(const std::string& path, const std::string& bytes) {
  return bool(std::ofstream(path, std::ios::binary) << bytes << std::flush);
}

bool operator==(const Piece& a, const Piece& b) {
  return a.order == b.order && a.offset == b.offset && a.length == b.length;
}

bool is_beginning(const std::vector<Piece>& some, const std::vector<Piece>& all) {
  return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin(),
                                                 [](const Piece& a, const Piece& b) { return a == b; });
}

// The head as it would be with something else in it, and a check that is right.
std::string with_head(std::string log, const std::function<void(LogHead&)>& change) {
  LogHead head;
  std::memcpy(&head, log.data(), sizeof head);
  change(head);
  head.check = check_of(head);
  return log.replace(0, sizeof head, reinterpret_cast<const char*>(&head), sizeof head);
}

class PartLogs : public testing::Test {
 protected:
  void SetUp() override {
    if constexpr (std::endian::native != std::endian::little) {
      GTEST_SKIP() << "the sample is of another kind of machine";
    }
    std::string name = testing::TempDir() + "part_log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fast_ = folder_ + "/fast";
    whole_ = folder_ + "/checkpoint";
    std::filesystem::create_directory(fast_);
    put();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The sample as if its file were ours.
  void put() {
    std::filesystem::remove_all(fast_);
    std::filesystem::create_directory(fast_);
    std::filesystem::remove(whole_ + ".sluice-recovered");
    ASSERT_TRUE(write(whole_, before_));
    struct stat found {};
    ASSERT_EQ(stat(whole_.c_str(), &found), 0);
    for (std::size_t i = 0; i < ranks; ++i) {
      logs_[i] = with_head(frozen_[i], [&](LogHead& head) {
        head.inode = found.st_ino;
        head.stamp.size = found.st_size;
        head.stamp.changed = found.st_mtim.tv_sec * std::int64_t{1000000000} + found.st_mtim.tv_nsec;
        head.path = {};
        std::memcpy(head.path.data(), whole_.data(), whole_.size());
      });
      ASSERT_TRUE(write(data(i), frozen("version-1/" + part_name(i))));
      ASSERT_TRUE(write(log(i), logs_[i]));
    }
  }
  std::string data(std::size_t rank) const { return fast_ + "/" + part_name(rank); }
  std::string log(std::size_t rank) const { return data(rank) + ".log"; }

  // What the first pieces of each make of the file, by hand.
  std::string made_of(const std::array<std::size_t, ranks>& counts) const {
    std::map<std::uint64_t, std::pair<Piece, std::size_t>> all;
    for (std::size_t i = 0; i < ranks; ++i) {
      const PartLog log = *parse_part_log(logs_[i]);
      for (std::size_t k = 0; k < counts[i]; ++k) {
        all[log.pieces[k].order] = {log.pieces[k], i};
      }
    }
    std::string out = before_;
    for (const auto& [order, one] : all) {
      const auto& [piece, rank] = one;
      if (piece.length == Piece::cut) {
        out.resize(piece.offset);
        continue;
      }
      out.resize(std::max<std::size_t>(out.size(), piece.offset + piece.length));
      out.replace(piece.offset, piece.length, parts_[rank].substr(piece.offset, piece.length));
    }
    return out;
  }

  std::string folder_;
  std::string fast_;
  std::string whole_;
  const std::string before_ = frozen("before");
  const std::array<std::string, ranks> frozen_ = {frozen_log(0), frozen_log(1), frozen_log(2)};
  const std::array<std::string, ranks> parts_ = {frozen("version-1/" + part_name(0)),
                                                 frozen("version-1/" + part_name(1)),
                                                 frozen("version-1/" + part_name(2))};
  std::array<std::string, ranks> logs_;
};

TEST_F(PartLogs, OfVersion1AreRead) {
  constexpr std::array<std::size_t, ranks> counts = {86, 12, 6};
  for (std::size_t i = 0; i < ranks; ++i) {
    const auto log = parse_part_log(frozen_[i]);
    ASSERT_TRUE(log) << log.error().text();
    EXPECT_EQ(log->damage, "");
    EXPECT_EQ(log->pieces.size(), counts[i]);
    EXPECT_EQ(std::string(log->head.path.data()), "/tmp/example/house/checkpoint");
    EXPECT_EQ(std::string(log->head.run.data()), "/dev/shm/sluice-run-14690-de5f93ab");
    EXPECT_EQ(log->head.inode, 11214863U);
    EXPECT_EQ(log->head.stamp.size, std::ssize(before_));
  }
  const std::vector<Piece> last = parse_part_log(frozen_[1])->pieces;
  EXPECT_TRUE(last[0] == (Piece{.order = 81, .offset = 100, .length = 70}));
  EXPECT_TRUE(last[10] == (Piece{.order = 101, .offset = 1700, .length = Piece::cut}));
}

TEST_F(PartLogs, OfVersion1BecomeTheFile) {
  EXPECT_EQ(made_of({86, 12, 6}), frozen("whole"));
  ASSERT_EQ(combine_logs(fast_, true).size(), 1U);
  const std::vector<Recovered> done = combine_logs(fast_, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(describe(done[0]), "brought '" + whole_ + "' home");
  EXPECT_EQ(*read_file(whole_), frozen("whole"));
  EXPECT_TRUE(std::filesystem::is_empty(fast_));
}

TEST_F(PartLogs, OfAnotherVersionStay) {
  ASSERT_TRUE(write(log(0), with_head(logs_[0], [](LogHead& head) { head.version = 2; })));
  const std::vector<Recovered> done = combine_logs(fast_, false);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].path, data(0));
  EXPECT_EQ(done[0].why, "its log is of version 2, and this Sluice reads version 1");
  EXPECT_EQ(*read_file(data(0)), parts_[0]);
}

TEST_F(PartLogs, WhosePartIsGoneOrShorterChangeNothing) {
  std::filesystem::resize_file(data(2), 2099);
  std::vector<Recovered> done = combine_logs(fast_, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Outcome::failed);
  EXPECT_NE(done[0].why.find("ends at 2099, and should have bytes up to 2100"), std::string::npos)
      << done[0].why;
  EXPECT_EQ(*read_file(whole_), before_);
  std::filesystem::remove(data(2));
  done = combine_logs(fast_, false);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].outcome, Outcome::failed);
  EXPECT_NE(done[0].why.find("not there any more"), std::string::npos) << done[0].why;
  EXPECT_EQ(*read_file(whole_), before_);
  EXPECT_EQ(*read_file(log(2)), logs_[2]);
}

TEST_F(PartLogs, AreLookedForAmongOtherThings) {
  ASSERT_EQ(mkfifo((fast_ + "/pipe.log").c_str(), 0600), 0);
  std::filesystem::create_directory(fast_ + "/folder.log");
  ASSERT_TRUE(write(fast_ + "/other.log", "what a program has to say"));
  ASSERT_TRUE(write(fast_ + "/empty.log", ""));
  EXPECT_EQ(combine_logs(fast_, false).size(), 1U);
  EXPECT_EQ(*read_file(whole_), frozen("whole"));
  EXPECT_TRUE(std::filesystem::exists(fast_ + "/other.log"));
}

// Pieces that no file can have, with checks that are right.
TEST_F(PartLogs, WithImpossiblePiecesEndThere) {
  constexpr std::uint64_t most = INT64_MAX;
  const auto parse = [&](std::uint64_t offset, std::uint64_t length) {
    LogPiece row;
    row.piece = {.order = 1, .offset = offset, .length = length};
    row.check = check_of(row);
    std::string bytes = frozen_[1].substr(0, log_head_bytes);
    bytes.append(reinterpret_cast<const char*>(&row), sizeof row);
    return parse_part_log(bytes)->pieces.size();
  };
  EXPECT_EQ(parse(most - 5, 5), 1U);
  EXPECT_EQ(parse(most, Piece::cut), 1U);
  EXPECT_EQ(parse(most - 5, 6), 0U);
  EXPECT_EQ(parse(most + 1, Piece::grown), 0U);
  EXPECT_EQ(parse(most + 1, Piece::cut), 0U);
  EXPECT_EQ(parse(10, Piece::cut - 1), 0U);
  const auto unended = parse_part_log(with_head(frozen_[1], [](LogHead& head) { head.path.fill('/'); }));
  EXPECT_FALSE(unended);
}

TEST_F(PartLogs, WithAnyByteChangedGiveNothingThatWasNotWritten) {
  const std::vector<Piece> all = parse_part_log(frozen_[1])->pieces;
  for (std::size_t at = 0; at < frozen_[1].size(); ++at) {
    const bool unused = at >= sizeof(LogHead) && at < log_head_bytes;
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string bytes = frozen_[1];
      bytes[at] = static_cast<char>(bytes[at] ^ bits);
      const auto log = parse_part_log(bytes);
      ASSERT_EQ(log.has_value(), at >= sizeof(LogHead)) << at;
      if (log) {
        ASSERT_TRUE(is_beginning(log->pieces, all)) << at;
        ASSERT_EQ(log->pieces.size(), unused ? all.size() : (at - log_head_bytes) / sizeof(LogPiece)) << at;
        ASSERT_EQ(log->damage.empty(), unused) << at;
      }
    }
  }
}

TEST_F(PartLogs, CutOffAnywhereGiveWhatIsBeforeIt) {
  const std::vector<Piece> all = parse_part_log(frozen_[1])->pieces;
  for (std::size_t size = 0; size < frozen_[1].size(); ++size) {
    const auto log = parse_part_log(frozen_[1].substr(0, size));
    ASSERT_EQ(log.has_value(), size >= sizeof(LogHead)) << size;
    if (log) {
      const std::size_t behind = size < log_head_bytes ? 0 : size - log_head_bytes;
      ASSERT_TRUE(is_beginning(log->pieces, all)) << size;
      ASSERT_EQ(log->pieces.size(), behind / sizeof(LogPiece)) << size;
      ASSERT_EQ(log->damage.empty(), behind % sizeof(LogPiece) == 0) << size;
    }
  }
}

// Whole folders: the file becomes what the pieces say that are right, or stays; what is not in it is still
// there, and the rest is said.
TEST_F(PartLogs, DamagedAnyhowNeverMakeAnotherFile) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    put();
    std::array<std::size_t, ranks> counts = {};
    bool headless = false;  // one, of which nobody knows what it belongs to
    bool damaged = false;
    for (std::size_t i = 0; i < ranks; ++i) {
      std::string bytes = logs_[i];
      const std::size_t from = random() % 4 == 0 ? 0 : log_head_bytes;
      for (auto k = random() % 3; k > 0 && !bytes.empty(); --k) {
        const std::size_t at = std::min(from + random() % (logs_[i].size() - from), bytes.size() - 1);
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes.resize(at);
            break;
          case 2:
            bytes.erase(at, random() % 64);
            break;
          default:
            bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 64));
        }
      }
      ASSERT_TRUE(write(log(i), bytes));
      const auto log = parse_part_log(bytes);
      ASSERT_TRUE(!log || is_beginning(log->pieces, parse_part_log(logs_[i])->pieces)) << "round " << round;
      counts[i] = log ? log->pieces.size() : 0;
      headless = headless || (is_part_log(bytes) && !log);
      damaged = damaged || (log && !log->damage.empty());
    }
    const std::vector<Recovered> done = combine_logs(fast_, false);
    ASSERT_EQ(*read_file(whole_), done.empty() ? before_ : made_of(counts)) << "round " << round;
    std::string said;
    for (const Recovered& one : done) {
      said += one.why;
    }
    const bool told_head = said.find("the head of its log") != std::string::npos ||
                           said.find("its log is of version") != std::string::npos;
    ASSERT_EQ(said.find("damaged behind piece") != std::string::npos, damaged) << "round " << round << said;
    ASSERT_EQ(told_head, headless) << "round " << round << said;
    for (std::size_t i = 0; i < ranks; ++i) {
      const bool kept = std::filesystem::exists(log(i)) || std::filesystem::exists(log(i) + ".damaged");
      ASSERT_EQ(std::filesystem::exists(data(i)), kept) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace sluice
