// What comes through the control socket, and model files: no text may crash the device, and none may make it
// answer a request twice or never.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "lab/device.h"

namespace lab = sluice::lab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto model = lab::parse_model(text, "model.toml");
  constexpr std::uint64_t bytes = 1 << 20;
  lab::Device device(model.value_or(lab::Model{}), *lab::Platter::create(*lab::memory_store(bytes), bytes));
  lab::Instant now = std::chrono::seconds(1);
  std::uint64_t made = 0;
  for (const std::string_view line : sluice::split(text, '\n')) {
    static_cast<void>(device.command(line, now));
    const std::uint64_t offset = made * 12345 % (bytes - 8192);
    device.read(++made, offset, 4096, now);
    device.write(++made, offset, std::vector<std::byte>(512), now);
    device.flush(++made, now);
    now += std::chrono::microseconds(100);
  }
  static_cast<void>(device.command("clear", now));
  std::uint64_t answered = 0;
  lab::Answer answer;
  for (;;) {
    answered += device.next(now, answer) ? 1 : 0;
    if (answered == made) {
      return 0;
    }
    if (device.next_event() == lab::never) {
      std::abort();
    }
    now = std::max(now, device.next_event());
  }
}
