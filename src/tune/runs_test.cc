#include "tune/runs.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace sluice {
namespace {

TEST(ProgramRun, TheProgramAloneTakesNoLongerThanTheRun) {
  const ProgramRun run{.ended = {.seconds = 3}, .account = Json{{"seconds", 2.5}}};
  EXPECT_DOUBLE_EQ(run.program_seconds(), 2.5);
  const ProgramRun odd{.ended = {.seconds = 3}, .account = Json{{"seconds", 4.0}}};
  EXPECT_DOUBLE_EQ(odd.program_seconds(), 3);
  const ProgramRun untold{.ended = {.seconds = 3}, .account = {}};
  EXPECT_DOUBLE_EQ(untold.program_seconds(), 3);
}

}  // namespace
}  // namespace sluice
