// Frames with TCP in them, read and written.
#include <algorithm>

#include "lab/wire_flows.h"

namespace sluice::lab {
namespace {

constexpr std::size_t ethernet_size = 14;
constexpr std::size_t ipv4_size = 20;
constexpr std::size_t ipv6_size = 40;
constexpr std::size_t tcp_size = 20;
constexpr std::uint8_t tcp_protocol = 6;
constexpr unsigned flag_fin = 0x01;
constexpr unsigned flag_syn = 0x02;
constexpr unsigned flag_rst = 0x04;
constexpr unsigned flag_ack = 0x10;

std::uint16_t get16(FrameView bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

std::uint32_t get32(FrameView bytes, std::size_t at) {
  return static_cast<std::uint32_t>(get16(bytes, at)) << 16 | get16(bytes, at + 2);
}

void put16(std::span<std::uint8_t> bytes, std::size_t at, std::uint32_t value) {
  bytes[at] = static_cast<std::uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(value);
}

void put32(std::span<std::uint8_t> bytes, std::size_t at, std::uint32_t value) {
  put16(bytes, at, value >> 16);
  put16(bytes, at + 2, value & 0xffff);
}

// RFC 1071, over an even number of bytes.
std::uint32_t add_words(FrameView bytes, std::uint32_t sum = 0) {
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    sum += get16(bytes, at);
  }
  return sum;
}

std::uint32_t checksum(std::uint32_t sum) {
  while (sum >> 16 != 0) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return ~sum & 0xffff;
}

template <std::size_t size>
std::array<std::uint8_t, size> take(FrameView bytes, std::size_t at) {
  std::array<std::uint8_t, size> out{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, out.begin());
  return out;
}

template <class Bytes>
void put(std::span<std::uint8_t> out, std::size_t at, const Bytes& bytes, std::size_t size) {
  std::copy_n(bytes.begin(), size, out.begin() + static_cast<std::ptrdiff_t>(at));
}

// The packet after the Ethernet header, without the padding of short frames.
struct Packet {
  FrameView tcp;
  std::size_t address_size;
  std::size_t from_at;
};

std::optional<Packet> unpack(FrameView frame) {
  if (frame.size() < ethernet_size + ipv4_size + tcp_size) {
    return {};
  }
  const FrameView ip = frame.subspan(ethernet_size);
  const std::uint16_t type = get16(frame, 12);
  std::size_t header = 0;
  std::size_t total = 0;
  if (type == 0x0800 && ip[0] >> 4 == 4 && ip[9] == tcp_protocol && (get16(ip, 6) & 0x3fff) == 0) {
    header = std::size_t{ip[0] & 0x0fU} * 4;
    total = get16(ip, 2);
  } else if (type == 0x86dd && ip.size() >= ipv6_size + tcp_size && ip[6] == tcp_protocol) {
    header = ipv6_size;
    total = get16(ip, 4) == 0 ? 0 : ipv6_size + get16(ip, 4);
  } else {
    return {};
  }
  if (total == 0) {  // bundles of segments of more than 64 KiB say so
    total = ip.size();
  }
  if (header < ipv4_size || total < header + tcp_size || total > ip.size()) {
    return {};
  }
  const bool six = header == ipv6_size && type == 0x86dd;
  return Packet{.tcp = ip.subspan(header, total - header),
                .address_size = six ? 16U : 4U,
                .from_at = ethernet_size + (six ? 8U : 12U)};
}

}  // namespace

std::optional<TcpSegment> parse_tcp(FrameView frame) {
  const auto packet = unpack(frame);
  if (!packet) {
    return {};
  }
  const FrameView tcp = packet->tcp;
  const std::size_t header = std::size_t{(tcp[12] & 0xf0U) >> 4} * 4;
  if (header < tcp_size || header > tcp.size()) {
    return {};
  }
  TcpSegment out;
  out.six = packet->address_size == 16;
  out.to_mac = take<6>(frame, 0);
  out.from_mac = take<6>(frame, 6);
  put(out.from.address, 0, frame.subspan(packet->from_at), packet->address_size);
  put(out.to.address, 0, frame.subspan(packet->from_at + packet->address_size), packet->address_size);
  out.from.port = get16(tcp, 0);
  out.to.port = get16(tcp, 2);
  out.sequence = get32(tcp, 4);
  out.syn = (tcp[13] & flag_syn) != 0;
  out.fin = (tcp[13] & flag_fin) != 0;
  out.rst = (tcp[13] & flag_rst) != 0;
  if ((tcp[13] & flag_ack) != 0) {
    out.acknowledged = get32(tcp, 8);
  }
  out.length = static_cast<std::uint32_t>(tcp.size() - header) + (out.syn ? 1U : 0U) + (out.fin ? 1U : 0U);
  return out;
}

FrameBytes build_tcp(const TcpSegment& segment) {
  const std::size_t header = segment.six ? ipv6_size : ipv4_size;
  const std::size_t address_size = segment.six ? 16 : 4;
  const std::size_t from_at = segment.six ? 8 : 12;
  FrameBytes out(ethernet_size + header + tcp_size);
  const std::span<std::uint8_t> frame(out);
  put(frame, 0, segment.to_mac, 6);
  put(frame, 6, segment.from_mac, 6);
  put16(frame, 12, segment.six ? 0x86dd : 0x0800);

  const auto ip = frame.subspan(ethernet_size);
  put(ip, from_at, segment.from.address, address_size);
  put(ip, from_at + address_size, segment.to.address, address_size);
  if (segment.six) {
    ip[0] = 6 << 4;
    put16(ip, 4, tcp_size);
    ip[6] = tcp_protocol;
    ip[7] = 64;
  } else {
    ip[0] = 4 << 4 | ipv4_size / 4;
    put16(ip, 2, ipv4_size + tcp_size);
    put16(ip, 6, 0x4000);  // not to be fragmented
    ip[8] = 64;
    ip[9] = tcp_protocol;
    put16(ip, 10, checksum(add_words(ip.first(ipv4_size))));
  }

  const auto tcp = ip.subspan(header);
  put16(tcp, 0, segment.from.port);
  put16(tcp, 2, segment.to.port);
  put32(tcp, 4, segment.sequence);
  put32(tcp, 8, segment.acknowledged.value_or(0));
  tcp[12] = tcp_size / 4 << 4;
  tcp[13] = static_cast<std::uint8_t>((segment.rst ? flag_rst : 0) | (segment.syn ? flag_syn : 0) |
                                      (segment.fin ? flag_fin : 0) | (segment.acknowledged ? flag_ack : 0));
  const std::uint32_t pseudo_header =
      add_words(ip.subspan(from_at, 2 * address_size), tcp_protocol + std::uint32_t{tcp_size});
  put16(tcp, 16, checksum(add_words(tcp, pseudo_header)));
  return out;
}

}  // namespace sluice::lab
