// Mean time to data loss by Monte-Carlo simulation of the disks themselves, as a check of the formulas: it
// shares no code with them.
//
// Every disk of the layout fails at random (exponential, MTTF). A group repairs one member at a time
// (exponential, MTTR), chosen at random among the failed, and a member that is a group comes back whole. The
// failure that uses up a group's last redundancy starts a rebuild which reads all members left, and whether
// it meets an uncorrectable error is drawn, too. Each member of a redundant group holds all its bytes; those
// of raid0 share.
//
// A trial is a pair of cycles; a cycle starts with all disks well and ends when they are again, or with the
// loss. The mean time to loss is the mean length of a cycle divided by the probability that it ends with the
// loss. The first cycle of a pair gives the length and is simulated as it is. The second gives the
// probability. Where pilot cycles show that loss is rare, it is simulated with failures and read errors made
// likely (failure biasing), half of the failures put where something is broken already, and the loss is
// weighted by the likelihood ratio. So a loss once in 1e30 years needs no more trials than one in ten.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "forecast/reliability.h"

namespace sluice {

struct SimulationOptions {
  std::uint64_t trials = 100000;
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: one a processor
  // How many trials are done; called now and then by the thread that called simulate().
  std::function<void(std::uint64_t)> progress = {};
};

struct Simulation {
  struct Estimate {
    double mttdl = 0;  // seconds
    double low = 0;    // 95 % confidence
    double high = 0;
  };
  std::optional<Estimate> estimate;  // nothing: fewer than two trials saw a loss
  std::uint64_t losses = 0;          // trials that did
  bool biased = false;               // by importance sampling
  bool endless = false;              // not simulated: so many disks that some are broken at any time
};

// The same options but for `threads` give the same result to the last bit.
Simulation simulate(const Layout& layout, const DiskModel& disk, std::uint64_t bytes,
                    const SimulationOptions& options);

}  // namespace sluice
