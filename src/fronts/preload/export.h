// How a function of libc is stood in for.
#pragma once

#include <atomic>

// Seen from outside, under its C name.
#define SLUICE_EXPORT extern "C" __attribute__((visibility("default")))
// Another name of one of ours: the 64-bit form is the same here.
#define SLUICE_ALIAS(result, name, of, parameters) \
  SLUICE_EXPORT __attribute__((alias(#of))) result name parameters
// The function of this name below ours, looked up when it is first called.
#define SLUICE_NEXT(name)                               \
  (reinterpret_cast<decltype(&::name)>([] {             \
    static constinit std::atomic<void*> slot = nullptr; \
    return sluice::preload::next_function(slot, #name); \
  }()))

// How libc ends a program that has less room than it says.
extern "C" [[noreturn]] void __chk_fail();
