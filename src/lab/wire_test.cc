#include "lab/wire.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::lab {
namespace {

using std::chrono::milliseconds;

constexpr Mac mac_a = {2, 0, 0, 0, 0, 1};
constexpr Mac mac_b = {2, 0, 0, 0, 0, 2};
constexpr Mac mac_c = {2, 0, 0, 0, 0, 3};
constexpr Mac everybody = {255, 255, 255, 255, 255, 255};

FrameBytes frame(const Mac& to, const Mac& from, std::uint8_t mark, std::size_t size = 60) {
  FrameBytes out(Wire::header_size + size);
  std::copy(to.begin(), to.end(), out.begin() + Wire::header_size);
  std::copy(from.begin(), from.end(), out.begin() + Wire::header_size + 6);
  out.back() = mark;
  return out;
}

// Three hosts; what each was given, as the marks of the frames.
class WireTest : public testing::Test {
 protected:
  void command(std::string_view line) {
    const auto parsed = parse_wire_command(line);
    ASSERT_TRUE(parsed) << line;
    wire.apply(*parsed);
  }
  std::string taken(std::size_t port) {
    std::string out;
    for (const FrameBytes& bytes : got[port]) {
      out += static_cast<char>(bytes.back());
    }
    got[port].clear();
    return out;
  }

  std::array<std::vector<FrameBytes>, 3> got;
  Wire wire{{mac_a, mac_b, mac_c},
            Duration(0, 40'000'000),
            [this](std::size_t port, const FrameBytes& bytes) {
              got[port].push_back(bytes);
              return true;
            },
            10'000};
};

TEST_F(WireTest, EveryFrameTakesHalfARoundTripWhateverElseIsOnItsWay) {
  wire.arrive(0, milliseconds(0), frame(mac_b, mac_a, '1'));
  wire.arrive(0, milliseconds(1), frame(mac_b, mac_a, '2'));
  wire.arrive(1, milliseconds(2), frame(mac_a, mac_b, '3'));
  EXPECT_EQ(wire.advance(milliseconds(19)), milliseconds(20));
  EXPECT_EQ(taken(1), "");
  EXPECT_EQ(wire.advance(milliseconds(20)), milliseconds(21));
  EXPECT_EQ(taken(1), "1");
  EXPECT_EQ(wire.advance(milliseconds(30)), never);
  EXPECT_EQ(taken(1), "2");
  EXPECT_EQ(taken(0), "3");
  EXPECT_EQ(taken(2), "");
  EXPECT_EQ(wire.ports()[0].forwarded.frames, 2U);
  EXPECT_EQ(wire.ports()[0].forwarded.bytes, 120U);
}

TEST_F(WireTest, FramesLeaveInTheOrderInWhichTheyCame) {
  wire.arrive(0, milliseconds(2), frame(mac_b, mac_a, '2'));
  wire.arrive(0, milliseconds(1), frame(mac_b, mac_a, '1'));
  wire.arrive(0, milliseconds(2), frame(mac_b, mac_a, '3'));
  wire.advance(milliseconds(100));
  EXPECT_EQ(taken(1), "123");
}

TEST_F(WireTest, BroadcastsAndUnknownReceiversReachAllOthers) {
  wire.arrive(0, milliseconds(0), frame(everybody, mac_a, '1'));
  wire.arrive(1, milliseconds(0), frame({2, 9, 9, 9, 9, 9}, mac_b, '2'));
  wire.arrive(2, milliseconds(0), frame(mac_c, mac_c, '3'));  // to itself
  wire.advance(milliseconds(20));
  EXPECT_EQ(taken(0), "2");
  EXPECT_EQ(taken(1), "1");
  EXPECT_EQ(taken(2), "12");
  EXPECT_EQ(wire.ports()[2].dropped.frames, 1U);
}

TEST_F(WireTest, AStallLosesNothingUntilTheMemoryIsFull) {
  command("stall");
  EXPECT_EQ(wire.state(), "stalled");
  wire.arrive(0, milliseconds(0), frame(mac_b, mac_a, '1'));
  wire.arrive(0, milliseconds(1), frame(mac_b, mac_a, '2'));
  EXPECT_EQ(wire.advance(milliseconds(500)), never);
  wire.arrive(0, milliseconds(500), frame(mac_b, mac_a, '3', 20'000));
  EXPECT_EQ(wire.overflowed(), 1U);
  EXPECT_EQ(wire.ports()[0].dropped.bytes, 20'000U);
  EXPECT_EQ(wire.queue().frames(), 2U);
  wire.arrive(0, milliseconds(590), frame(mac_b, mac_a, '4'));
  command("release");
  EXPECT_EQ(wire.advance(milliseconds(600)), milliseconds(610));  // the last was not held long enough
  EXPECT_EQ(taken(1), "12");
  wire.advance(milliseconds(610));
  EXPECT_EQ(taken(1), "4");
  EXPECT_EQ(wire.queue().bytes(), 0U);
}

TEST_F(WireTest, DownLosesWhatIsOnItsWay) {
  wire.arrive(0, milliseconds(0), frame(mac_b, mac_a, '1'));
  command("down");
  EXPECT_EQ(wire.state(), "down");
  wire.arrive(0, milliseconds(1), frame(mac_b, mac_a, '2'));
  wire.advance(milliseconds(100));
  command("up");
  wire.arrive(0, milliseconds(100), frame(mac_b, mac_a, '3'));
  wire.advance(milliseconds(200));
  EXPECT_EQ(taken(1), "3");
  EXPECT_EQ(wire.ports()[0].dropped.frames, 2U);
}

TEST_F(WireTest, LossIsTheSameEveryTime) {
  const auto send_many = [&] {
    for (int i = 0; i < 1000; ++i) {
      wire.arrive(0, milliseconds(0), frame(mac_b, mac_a, static_cast<std::uint8_t>('a' + i % 26)));
      wire.advance(milliseconds(20));
    }
    return taken(1);
  };
  command("loss 0.25");
  const std::string first = send_many();
  EXPECT_GT(first.size(), 650U);
  EXPECT_LT(first.size(), 850U);
  command("loss 0.25");
  EXPECT_EQ(send_many(), first);
  command("loss 1");
  EXPECT_EQ(send_many(), "");
  command("loss 0");
  EXPECT_EQ(send_many().size(), 1000U);
}

TEST_F(WireTest, ANewRoundTripTimeIsForFramesOnTheirWayToo) {
  wire.arrive(0, milliseconds(0), frame(mac_b, mac_a, '1'));
  command("set rtt=10s");
  EXPECT_EQ(wire.advance(milliseconds(20)), milliseconds(5000));
  command("set rtt=2ms");
  EXPECT_DOUBLE_EQ(wire.rtt(), 0.002);
  EXPECT_EQ(wire.advance(milliseconds(21)), never);
  EXPECT_EQ(taken(1), "1");
}

TEST_F(WireTest, ClearEndsAllTrouble) {
  command("stall");
  command("down");
  command("loss 1");
  command("clear");
  EXPECT_EQ(wire.state(), "up");
  EXPECT_EQ(wire.loss(), 0);
  wire.arrive(0, milliseconds(0), frame(mac_b, mac_a, '1'));
  wire.advance(milliseconds(20));
  EXPECT_EQ(taken(1), "1");
}

TEST_F(WireTest, ACutDropsTcpOnItsWayAndResetsBothEnds) {
  const TcpEnd a{.address = {10, 77, 0, 1}, .port = 4000};
  const TcpEnd b{.address = {10, 77, 0, 2}, .port = 80};
  const auto tcp = [](TcpSegment segment) {
    FrameBytes out(Wire::header_size);
    const FrameBytes built = build_tcp(segment);
    out.resize(out.size() + built.size());
    std::copy(built.begin(), built.end(), out.begin() + Wire::header_size);
    return out;
  };
  TcpSegment syn;
  syn.from_mac = mac_a;
  syn.to_mac = mac_b;
  syn.from = a;
  syn.to = b;
  syn.sequence = 100;
  syn.syn = true;
  TcpSegment answer = syn;
  std::swap(answer.from_mac, answer.to_mac);
  std::swap(answer.from, answer.to);
  answer.sequence = 900;
  answer.acknowledged = 101;
  wire.arrive(0, milliseconds(0), tcp(syn));
  wire.advance(milliseconds(20));
  EXPECT_EQ(got[1].size(), 1U);
  wire.arrive(1, milliseconds(20), tcp(answer));
  wire.arrive(0, milliseconds(20), frame(mac_b, mac_a, 'x'));
  EXPECT_EQ(wire.connections(), 1U);
  command("cut");
  EXPECT_EQ(wire.connections(), 0U);
  // At once: a reset for each; the answer, which was on its way, is gone, the other frame is not.
  ASSERT_EQ(got[0].size(), 1U);
  ASSERT_EQ(got[1].size(), 2U);
  const auto reset = parse_tcp(FrameView(got[0][0]).subspan(Wire::header_size));
  ASSERT_TRUE(reset);
  EXPECT_TRUE(reset->rst);
  EXPECT_EQ(reset->acknowledged, 101U);
  wire.advance(milliseconds(50));
  EXPECT_EQ(got[0].size(), 1U);
  EXPECT_EQ(got[1].size(), 3U);
  EXPECT_EQ(wire.ports()[1].dropped.frames, 1U);
}

TEST(WireCommandTest, Understands) {
  EXPECT_EQ(parse_wire_command(" stall ")->kind, WireCommand::Kind::stall);
  EXPECT_EQ(parse_wire_command("loss 0.5")->loss, 0.5);
  EXPECT_EQ(parse_wire_command("set rtt=20ms")->rtt, Duration(0, 20'000'000));
}

TEST(WireCommandTest, SaysWhatIsWrong) {
  for (const char* line :
       {"", "   ", "stal", "stall now", "loss", "loss 2", "loss -0.1", "loss nan", "loss 1%", "set",
        "set rate=1mbit", "set rtt=", "set rtt=11s", "set rtt=20", "cut x"}) {
    const auto parsed = parse_wire_command(line);
    ASSERT_FALSE(parsed) << line;
    EXPECT_TRUE(parsed.error().usage) << line;
  }
  EXPECT_NE(parse_wire_command("stal").error().advice.find("'stall'"), std::string::npos);
}

}  // namespace
}  // namespace sluice::lab
