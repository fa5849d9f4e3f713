// What reading, printing and merging an intent costs, in time and allocations.
#include <benchmark/benchmark.h>

#include "allocations.h"
#include "intent/merge.h"
#include "intent/parse.h"
#include "intent/rules.h"

namespace {

constexpr const char* words = "persist random write size-per-IO(512K) totalsize(1GB) MTTDL(20y)";

void parse(benchmark::State& state) {
  measure(state, [] { return sluice::parse_intent(words); });
}
BENCHMARK(parse);

void print(benchmark::State& state) {
  const sluice::Intent intent = *sluice::parse_intent(words);
  measure(state, [&] { return sluice::print(intent); });
}
BENCHMARK(print);

// One path against a rules file of 100 rules, two of which match.
void rules(benchmark::State& state) {
  std::string text;
  for (int i = 0; i < 98; ++i) {
    text += "[[rule]]\npath='other" + std::to_string(i) + "/**/*.dat'\nintent='random'\n";
  }
  text +=
      "[[rule]]\npath='out/*.dat'\nintent='persist "
      "random'\n[[rule]]\npath='out/step_*'\nintent='sequential'\n";
  sluice::Rules rules;
  if (!rules.parse_toml_rules(text, "/data/run/rules.toml")) {
    state.SkipWithError("rules do not parse");
  }
  measure(state, [&] { return sluice::merge(rules.matching("/data/run/out/step_17.dat")); });
}
BENCHMARK(rules);

}  // namespace
