#include "lab/wire_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::lab {
namespace {

constexpr std::uint32_t near_the_end = 0xffffff00U;  // numbers wrap around in every test

// The first segment of a connection from a to b; the others are made from it.
TcpSegment opening(bool six = false) {
  TcpSegment out;
  out.six = six;
  out.from_mac = {2, 0, 0, 0, 0, 1};
  out.to_mac = {2, 0, 0, 0, 0, 2};
  out.from = {.address = {10, 77, 0, 1}, .port = 4000};
  out.to = {.address = {10, 77, 0, 2}, .port = 80};
  out.sequence = near_the_end;
  out.syn = true;
  return out;
}

TcpSegment reply(TcpSegment segment, std::uint32_t sequence, std::uint32_t acknowledged) {
  std::swap(segment.from_mac, segment.to_mac);
  std::swap(segment.from, segment.to);
  segment.sequence = sequence;
  segment.acknowledged = acknowledged;
  return segment;
}

// The frame with `size` bytes of data.
FrameBytes with_data(const TcpSegment& segment, std::size_t size) {
  FrameBytes out = build_tcp(segment);
  out.resize(out.size() + size);
  const std::size_t at = segment.six ? 18 : 16;
  const std::size_t total = out.size() - (segment.six ? 54 : 14);
  out[at] = static_cast<std::uint8_t>(total >> 8);
  out[at + 1] = static_cast<std::uint8_t>(total);
  return out;
}

// An open connection in which b expects near_the_end + 1 and a expects 501.
FlowTable connected(const TcpSegment& syn, std::size_t limit = 100) {
  FlowTable out(limit);
  const FrameBytes first = build_tcp(syn);
  const FrameBytes second = build_tcp(reply(syn, 500, near_the_end + 1));
  EXPECT_FALSE(out.arrived(first));
  out.delivered(first);
  EXPECT_FALSE(out.arrived(second));
  out.delivered(second);
  return out;
}

TcpSegment data_of(TcpSegment syn, std::uint32_t offset) {
  syn.syn = false;
  syn.sequence = near_the_end + 1 + offset;
  syn.acknowledged = 501;
  return syn;
}

// Sequence numbers of the resets for one end.
std::vector<std::uint32_t> resets_for(const std::vector<FrameBytes>& frames, const TcpEnd& end) {
  std::vector<std::uint32_t> out;
  for (const FrameBytes& frame : frames) {
    const auto segment = parse_tcp(frame);
    EXPECT_TRUE(segment && segment->rst);
    if (segment->to == end) {
      out.push_back(segment->sequence);
    }
  }
  return out;
}

TEST(WireTcp, WhatIsBuiltIsReadBack) {
  for (const bool six : {false, true}) {
    TcpSegment segment = opening(six);
    segment.acknowledged = 7;
    const auto got = parse_tcp(build_tcp(segment));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->six, six);
    EXPECT_EQ(got->from, segment.from);
    EXPECT_EQ(got->to, segment.to);
    EXPECT_EQ(got->from_mac, segment.from_mac);
    EXPECT_EQ(got->sequence, near_the_end);
    EXPECT_EQ(got->acknowledged, 7U);
    EXPECT_EQ(got->length, 1U);
    EXPECT_EQ(parse_tcp(with_data(segment, 700))->length, 701U);
  }
}

TEST(WireTcp, ChecksumsAreRight) {
  TcpSegment segment = opening();
  const FrameBytes frame = build_tcp(segment);
  const auto sum = [&](std::size_t from, std::size_t to, std::uint32_t start) {
    for (; from < to; from += 2) {
      start += static_cast<std::uint32_t>(frame[from] << 8 | frame[from + 1]);
    }
    return (start & 0xffff) + (start >> 16);
  };
  EXPECT_EQ(sum(14, 34, 0), 0xffffU);
  EXPECT_EQ(sum(26, 54, 6 + 20), 0xffffU);  // with addresses, protocol and length
}

TEST(WireTcp, OtherFramesAreNotTaken) {
  const FrameBytes good = build_tcp(opening());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_tcp(FrameView(good).first(size))) << size;
  }
  FrameBytes fragment = good;
  fragment[21] = 1;
  EXPECT_FALSE(parse_tcp(fragment));
  FrameBytes udp = good;
  udp[23] = 17;
  EXPECT_FALSE(parse_tcp(udp));
  // Whatever bytes come, no more than those are read (the sanitizers watch).
  std::mt19937 dice(1);
  for (int i = 0; i < 20000; ++i) {
    FrameBytes noise = build_tcp(opening(i % 2 == 0));
    for (int j = 0; j < 3; ++j) {
      noise[12 + dice() % (noise.size() - 12)] = static_cast<std::uint8_t>(dice());
    }
    noise.resize(dice() % (noise.size() + 1));
    parse_tcp(noise);
  }
}

TEST(WireFlows, ResetsCarryWhatEachEndExpects) {
  for (const bool six : {false, true}) {
    const TcpSegment syn = opening(six);
    FlowTable flows = connected(syn);
    EXPECT_EQ(flows.alive(), 1U);
    const FrameBytes data = with_data(data_of(syn, 0), 1000);
    flows.arrived(data);
    flows.delivered(data);
    const FrameBytes on_its_way = with_data(data_of(syn, 1000), 1000);
    flows.arrived(on_its_way);
    const auto frames = flows.cut();
    EXPECT_EQ(resets_for(frames, syn.to), std::vector{near_the_end + 1001});
    EXPECT_EQ(resets_for(frames, syn.from), std::vector{501U});
    EXPECT_EQ(flows.alive(), 0U);
    EXPECT_TRUE(flows.cut().empty());
  }
}

TEST(WireFlows, WithAGapBothNumbersAreTried) {
  const TcpSegment syn = opening();
  FlowTable flows = connected(syn);
  const FrameBytes after_gap = with_data(data_of(syn, 1000), 1000);  // the first 1000 were lost
  flows.arrived(after_gap);
  flows.delivered(after_gap);
  EXPECT_EQ(resets_for(flows.cut(), syn.to), (std::vector{near_the_end + 1, near_the_end + 2001}));
}

TEST(WireFlows, TheReceiverKnowsBest) {
  const TcpSegment syn = opening();
  FlowTable flows = connected(syn);
  const FrameBytes after_gap = with_data(data_of(syn, 1000), 1000);
  flows.arrived(after_gap);
  flows.delivered(after_gap);
  TcpSegment ack = reply(data_of(syn, 0), 501, near_the_end + 2001);
  flows.arrived(build_tcp(ack));
  EXPECT_EQ(resets_for(flows.cut(), syn.to), std::vector{near_the_end + 2001});
}

TEST(WireFlows, AnAttemptThatWasNotAnsweredIsResetByItsAcknowledgement) {
  const TcpSegment syn = opening();
  FlowTable flows;
  flows.arrived(build_tcp(syn));
  const auto frames = flows.cut();
  ASSERT_EQ(frames.size(), 1U);  // the other end never heard of it
  const auto reset = parse_tcp(frames[0]);
  EXPECT_EQ(reset->to, syn.from);
  EXPECT_EQ(reset->to_mac, syn.from_mac);
  EXPECT_EQ(reset->from_mac, syn.to_mac);
  EXPECT_EQ(reset->acknowledged, near_the_end + 1);
}

TEST(WireFlows, WhatACutConnectionStillSendsIsAnsweredWithAReset) {
  const TcpSegment syn = opening();
  FlowTable flows = connected(syn);
  flows.cut();
  const auto answer = flows.arrived(with_data(data_of(syn, 0), 100));
  ASSERT_TRUE(answer);
  const auto reset = parse_tcp(*answer);
  ASSERT_TRUE(reset);
  EXPECT_TRUE(reset->rst);
  EXPECT_EQ(reset->to, syn.from);
  EXPECT_EQ(reset->sequence, 501U);
  TcpSegment given_up = data_of(syn, 0);
  given_up.rst = true;
  const auto silence = flows.arrived(build_tcp(given_up));
  EXPECT_TRUE(silence && silence->empty());
  // The same ports again.
  EXPECT_FALSE(flows.arrived(build_tcp(syn)));
  EXPECT_EQ(flows.alive(), 1U);
}

TEST(WireFlows, FinishedConnectionsAreForgotten) {
  const TcpSegment syn = opening();
  FlowTable flows = connected(syn);
  TcpSegment fin = data_of(syn, 0);
  fin.fin = true;
  flows.delivered(build_tcp(fin));
  EXPECT_EQ(flows.alive(), 1U);  // the other half is open
  flows.delivered(build_tcp(reply(fin, 501, near_the_end + 2)));
  EXPECT_EQ(flows.alive(), 0U);
  FlowTable refused = connected(syn);
  TcpSegment rst = data_of(syn, 0);
  rst.rst = true;
  refused.delivered(build_tcp(rst));
  EXPECT_EQ(refused.alive(), 0U);
}

TEST(WireFlows, TheQuietestIsForgottenFirst) {
  FlowTable flows(3);
  TcpSegment syn = opening();
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2, 3, 1, 4}) {
    syn.from.port = port;
    flows.arrived(build_tcp(syn));
  }
  EXPECT_EQ(flows.alive(), 3U);
  std::vector<std::uint16_t> left;
  for (const FrameBytes& frame : flows.cut()) {
    left.push_back(parse_tcp(frame)->to.port);
  }
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::uint16_t>{1, 3, 4}));
}

}  // namespace
}  // namespace sluice::lab
