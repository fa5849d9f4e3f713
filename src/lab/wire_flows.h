// The TCP connections that cross the wire: what each end has sent and received, so that all of them can be
// reset at once as if both hosts had given up. IPv4 and IPv6 without extension headers.
//
// A reset counts only when it carries exactly the sequence number that its receiver expects next. The table
// keeps its best guess of that. Where the guess was wrong but near, the receiver answers with the right
// number; that answer belongs to a connection that was cut, and is answered with a reset that fits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace sluice::lab {

using FrameBytes = std::vector<std::uint8_t>;
using FrameView = std::span<const std::uint8_t>;  // from the Ethernet header on
using Mac = std::array<std::uint8_t, 6>;

struct TcpEnd {
  std::array<std::uint8_t, 16> address{};  // IPv4: the first four
  std::uint16_t port = 0;
  auto operator<=>(const TcpEnd&) const = default;
};

struct TcpSegment {
  bool six = false;  // IPv6
  Mac from_mac{};
  Mac to_mac{};
  TcpEnd from;
  TcpEnd to;
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;  // in sequence numbers: SYN and FIN count one each
  std::optional<std::uint32_t> acknowledged;
  bool syn = false;
  bool fin = false;
  bool rst = false;
};

// What a frame carries; nothing when it is not TCP, or cut short.
std::optional<TcpSegment> parse_tcp(FrameView frame);
// The frame of a segment without data. Its length is not used.
FrameBytes build_tcp(const TcpSegment& segment);

class FlowTable {
 public:
  // Beyond the limit the connection that was quiet for longest is forgotten.
  explicit FlowTable(std::size_t limit = std::size_t{64} * 1024) : limit_(limit) {}

  // A host sent the frame. Nothing: let it pass. A frame: drop this one, and give that to its sender (unless
  // it is empty), because the connection was cut.
  std::optional<FrameBytes> arrived(FrameView frame);
  // The frame is being given to its receiver.
  void delivered(FrameView frame);
  // Frames that reset every connection at both ends, each with its receiver's address.
  std::vector<FrameBytes> cut();
  // Connections begun and neither finished nor cut.
  [[nodiscard]] std::size_t alive() const;

 private:
  struct Key {
    bool six = false;
    TcpEnd low;
    TcpEnd high;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  // One direction: what an end has sent.
  struct Stream {
    Mac mac{};                          // of the sender
    std::optional<std::uint32_t> sent;  // the number after the last that it sent
    std::optional<std::uint32_t> edge;  // the first that the receiver lacks, as far as we know
    std::uint32_t top = 0;              // the number after the last that was delivered
    bool finished = false;
  };
  struct Flow {
    Key key;
    std::array<Stream, 2> streams;  // of key.low, of key.high
    bool cut = false;
  };
  using Flows = std::list<Flow>;  // the most recently used first

  static Key key_of(const TcpSegment& segment);
  Flow* find(const Key& key);
  Flow* begin(const Key& key);
  static void reset_end(const Flow& flow, std::size_t receiver, std::vector<FrameBytes>& out);

  std::size_t limit_;
  Flows flows_;
  std::unordered_map<Key, Flows::iterator, Hash> index_;
};

}  // namespace sluice::lab
