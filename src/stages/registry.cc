#include "stages/registry.h"

#include <array>

namespace sluice {

#define SLUICE_STAGE(name) extern const sluice_stage stage_##name;
#include "stages.inc"
#undef SLUICE_STAGE

namespace {

constexpr std::array all = {
#define SLUICE_STAGE(name) &stage_##name,
#include "stages.inc"
#undef SLUICE_STAGE
};

}  // namespace

std::span<const sluice_stage* const> stages() {
  return all;
}

}  // namespace sluice
