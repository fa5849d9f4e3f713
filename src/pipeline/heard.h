// What a program tells the kernel of its files, as words of the intent language: the weakest that are said of
// a file. A mask of them is in its row. Of those in a group the one that was heard last counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "sluice/stage.h"

namespace sluice {

// In the order in which an intent is printed.
struct HeardWord {
  std::uint32_t bit;
  std::uint32_t group;
  std::string_view text;
};
inline constexpr std::uint32_t heard_pattern = 0x3;
inline constexpr std::uint32_t heard_reuse = 0xc;
inline constexpr std::uint32_t heard_lifetime = 0xf0;
inline constexpr std::uint32_t heard_priority = 0x300;
inline constexpr std::uint32_t heard_prefetch = 0x400;
inline constexpr std::array<HeardWord, 11> heard_words = {{
    {.bit = 0x1, .group = heard_pattern, .text = "random"},
    {.bit = 0x2, .group = heard_pattern, .text = "sequential"},
    {.bit = 0x4, .group = heard_reuse, .text = "reuse(once)"},
    {.bit = 0x8, .group = heard_reuse, .text = "reuse(seldom)"},
    {.bit = 0x10, .group = heard_lifetime, .text = "stream(life-short)"},
    {.bit = 0x20, .group = heard_lifetime, .text = "stream(life-medium)"},
    {.bit = 0x40, .group = heard_lifetime, .text = "stream(life-long)"},
    {.bit = 0x80, .group = heard_lifetime, .text = "stream(life-extreme)"},
    {.bit = 0x100, .group = heard_priority, .text = "priority(foreground)"},
    {.bit = 0x200, .group = heard_priority, .text = "priority(background)"},
    {.bit = 0x400, .group = heard_prefetch, .text = "prefetch"},
}};

// A hint, as SLUICE_ADVISE has it in its flags. Any thread, any process.
void hear(std::atomic<std::uint32_t>& heard, int flags);
// Words that were heard before, and others after them.
std::uint32_t later(std::uint32_t before, std::uint32_t after);

}  // namespace sluice
