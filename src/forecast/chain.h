// The absorbing Markov chain behind Eq. 2, solved exactly: how long until data is lost, and how likely it is
// lost within a given time. Pure.
//
// A group of d members of which m may fail is in state i when i of them have failed. Members fail one by one
// at rate (d-i)/MTTF; the group repairs one at a time at rate 1/MTTR, which is what Eq. 2 comes to when MTTR
// is small. The failure that uses up the last redundancy starts a rebuild that must read all of the d-m
// members left; with probability 1-(1-UBER)^bits it meets an error that nobody can correct any more, and data
// is lost at once. Each member holds all bytes of its group, as in the paper, so bits = (d-m) * 8 * bytes,
// and nothing where the members correct errors themselves. Members of raid0 share the bytes.
//
// A member that is a group itself has states of its own, and has failed when it has lost its data; it comes
// back whole. The chain of a nested layout has a state for every way in which like members may stand. Where
// these would be too many, a member counts as a disk whose MTTF is its own mean time to loss; `approximate`
// says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "forecast/reliability.h"

namespace sluice {

struct Chain {
  struct Move {
    std::size_t to = 0;
    double rate = 0;  // per second
  };
  // By state; state 0 is all well. Each state leads somewhere.
  std::vector<std::vector<Move>> moves;
  std::vector<double> loss;  // rates at which data is lost
  bool approximate = false;
};

Chain chain_of(const Layout& layout, const DiskModel& disk, std::uint64_t bytes);

// From state 0, in seconds. Only sums, products and quotients of positive numbers: good to about 1e-12
// whatever the rates. Infinite where it exceeds a double.
double mean_time(const Chain& chain);
// The probability of loss within `seconds` from state 0, likewise without cancellation.
// REQUIRES: a chain of few states; the cost is their number cubed.
double lost_within(const Chain& chain, double seconds);

struct Lifetime {
  double loss = 0;           // probability
  bool exponential = false;  // too many states: taken from the mean time as 1 - exp(-lifetime / mean)
  bool approximate = false;
};
// The same for a layout; groups side by side are independent, so that raid0 of many is no larger than one.
Lifetime lost_within(const Layout& layout, const DiskModel& disk, std::uint64_t bytes, double seconds);

}  // namespace sluice
