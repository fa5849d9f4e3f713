// What every page carries: how it looks, and the little script that sorts tables and explains the timeline.
#pragma once

#include <string_view>

namespace sluice {

extern const std::string_view report_style;
extern const std::string_view report_script;

}  // namespace sluice
