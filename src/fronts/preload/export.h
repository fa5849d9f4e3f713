// How a function of libc is stood in for.
#pragma once

#include "fronts/preload/real.h"

// Seen from outside, under its C name.
#define SLUICE_EXPORT extern "C" __attribute__((visibility("default")))
// Another name of one of ours: the 64-bit form is the same here.
#define SLUICE_ALIAS(result, name, of, parameters) \
  SLUICE_EXPORT __attribute__((alias(#of))) result name parameters
// The function of this name below ours.
#define SLUICE_NEXT(function)                                                                             \
  (reinterpret_cast<decltype(&::function)>([] {                                                           \
    using sluice::preload::Next;                                                                          \
    __attribute__((section("sluice_next"), used)) static constinit Next slot_of_next{#function, nullptr}; \
    return next_function(slot_of_next);                                                                   \
  }()))

// How libc ends a program that has less room than it says.
extern "C" [[noreturn]] void __chk_fail();
