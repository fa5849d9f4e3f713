// A profile as pictures for people. Pure.
#pragma once

#include <string>

#include "profile/profile.h"

namespace sluice {

// SVG: access times past the page cache by request size, measured and fitted, and below it the ratio of
// sequential to random throughput.
std::string draw_profile(const Profile& profile);

// HTML that opens from a file: the same, the other modes, queue depths, streams, strides and the sawtooth as
// far as they were measured, and a table of what follows.
std::string page_profile(const Profile& profile);

}  // namespace sluice
