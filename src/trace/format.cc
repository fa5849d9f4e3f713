#include "trace/format.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <type_traits>

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "heads are copied as they are");
static_assert(sizeof(TraceBlock) == TraceBlock::head_bytes);

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1U ^ (0 - (value & 1)));
}
// Differences wrap, as they do when they are added again.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Writes numbers one after another.
class Encoder {
 public:
  explicit Encoder(std::size_t most)
      : bytes_(std::make_unique_for_overwrite<char[]>(most * longest)), at_(bytes_.get()) {}

  std::uint64_t operator()(std::uint64_t value) {
    std::uint64_t rest = value;
    for (; rest >= 0x80; rest >>= 7U) {
      *at_++ = static_cast<char>(rest | 0x80);
    }
    *at_++ = static_cast<char>(rest);
    return value;
  }
  [[nodiscard]] std::string_view bytes() const {
    return {bytes_.get(), static_cast<std::size_t>(at_ - bytes_.get())};
  }

 private:
  static constexpr std::size_t longest = 10;  // bytes of a number
  std::unique_ptr<char[]> bytes_;
  char* at_;
};

// Reads numbers one after another, whatever is asked for; once there is none, all that follow are 0.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t operator()(std::uint64_t = 0) {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) {
        return out;
      }
    }
    good_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view bytes(std::uint64_t count) {
    good_ = good_ && count <= rest_.size();
    const std::string_view out = rest_.substr(0, good_ ? count : 0);
    rest_.remove_prefix(out.size());
    return out;
  }
  [[nodiscard]] bool all_read() const { return good_ && rest_.empty(); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

constexpr std::size_t columns = 15;        // numbers of an event at most
constexpr std::size_t least_columns = 12;  // and at least
constexpr std::size_t operations = 64;
constexpr std::size_t remembered_ends = 1024;

bool has_path(const TraceEvent& event) {
  return event.operation == TraceEvent::open || event.operation == TraceEvent::started ||
         event.is_about_names();
}

// A number as its difference to another.
template <class Code>
std::int64_t code_difference(Code& code, std::int64_t value, std::int64_t to) {
  return sum(to, unzigzag(code(zigzag(difference(value, to)))));
}

// The lowest seven bits of a number are chance where it is a time: they stand by themselves.
template <class Code, class Numbers>
void code_times(Code& code, Numbers&& numbers) {
  numbers([&](std::uint64_t value) { return (value & ~std::uint64_t{127}) | code(value & 127); });
  numbers([&](std::uint64_t value) { return (value & 127) | code(value >> 7U) << 7U; });
}

// The format, for both ways: what is coded is what it was before, or what was read. A column after another,
// each as long as there are events: what is alike stands together.
template <class Code>
void code_events(Code& code, std::vector<TraceEvent>& events) {
  for (TraceEvent& event : events) {
    event.operation = static_cast<std::uint8_t>(code(event.operation));
  }
  for (TraceEvent& event : events) {
    event.point = static_cast<std::uint8_t>(code(event.point));
  }
  code_times(code, [&](auto&& one) {
    for (TraceEvent& event : events) {
      event.duration = static_cast<std::int64_t>(one(static_cast<std::uint64_t>(event.duration)));
    }
  });
  // From the end of the event before.
  std::vector<std::uint64_t> gaps(events.size());
  std::int64_t end = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    gaps[i] = zigzag(difference(events[i].begin, end));
    end = sum(events[i].begin, events[i].duration);
  }
  code_times(code, [&](auto&& one) {
    for (std::uint64_t& gap : gaps) {
      gap = one(gap);
    }
  });
  end = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].begin = sum(end, unzigzag(gaps[i]));
    end = sum(events[i].begin, events[i].duration);
  }
  std::uint32_t file = 0;
  for (TraceEvent& event : events) {
    event.file = file = static_cast<std::uint32_t>(code_difference(code, event.file, file));
  }
  // From the event before of the same operation.
  const auto alike = [&](auto member) {
    std::array<std::int64_t, operations> before = {};
    for (TraceEvent& event : events) {
      std::int64_t& last = before[event.operation % operations];
      last = code_difference(code, static_cast<std::int64_t>(event.*member), last);
      event.*member = static_cast<std::remove_reference_t<decltype(event.*member)>>(last);
      last = static_cast<std::int64_t>(event.*member);
    }
  };
  alike(&TraceEvent::flags);
  alike(&TraceEvent::mode);
  alike(&TraceEvent::length);
  std::array<std::int64_t, remembered_ends> ends = {};
  for (TraceEvent& event : events) {
    const bool writes = event.operation == TraceEvent::write;
    std::int64_t& last = ends[(event.file * 2 + (writes ? 1 : 0)) % remembered_ends];
    const std::uint64_t number =
        code(event.offset == TraceEvent::at_position ? 0 : zigzag(difference(event.offset, last)) + 1);
    event.offset = number == 0 ? TraceEvent::at_position : sum(last, unzigzag(number - 1));
    if (number != 0) {
      last = sum(event.offset, static_cast<std::int64_t>(event.length));
    }
  }
  for (TraceEvent& event : events) {
    const auto length = static_cast<std::int64_t>(event.length);
    const std::uint64_t number = code(event.result == length ? 0 : zigzag(event.result) + 1);
    event.result = number == 0 ? length : unzigzag(number - 1);
  }
  std::uint32_t path = 0;
  for (TraceEvent& event : events) {
    if (has_path(event)) {
      event.path = path = static_cast<std::uint32_t>(code_difference(code, event.path, path));
      event.other = static_cast<std::uint32_t>(code(event.other));
    }
  }
  for (TraceEvent& event : events) {
    if (event.operation == TraceEvent::open) {
      event.site = static_cast<std::uint32_t>(code(event.site));
    }
  }
}

}  // namespace

std::string print_head(const TraceBlock& block) {
  return {reinterpret_cast<const char*>(&block), sizeof block};
}

TraceBlock parse_head(std::string_view bytes) {
  TraceBlock out;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

std::string encode_events(std::vector<TraceEvent>& events) {
  Encoder code(events.size() * columns);
  code_events(code, events);
  return std::string(code.bytes());
}

std::string encode_paths(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    Encoder code(1);
    code(path.size());
    out += code.bytes();
    out += path;
  }
  return out;
}

Status decode_events(const TraceBlock& block, std::string_view raw, std::vector<TraceEvent>& events) {
  // A number is a byte at least.
  if (block.count > raw.size() / least_columns) {
    return fail(EBADMSG, "more events than there can be");
  }
  TraceEvent event;
  event.process = block.process;
  event.thread = block.thread;
  events.assign(block.count, event);
  Decoder code(raw);
  code_events(code, events);
  return code.all_read() ? Status() : fail(EBADMSG, "the numbers of events end too early, or too late");
}

Status decode_paths(const TraceBlock& block, std::string_view raw, std::vector<std::string>& paths) {
  Decoder numbers(raw);
  for (std::uint32_t i = 0; i < block.count && numbers.good(); ++i) {
    paths.emplace_back(numbers.bytes(numbers()));
  }
  return numbers.all_read() ? Status() : fail(EBADMSG, "the paths end too early, or too late");
}

}  // namespace sluice
