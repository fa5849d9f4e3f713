// A whole `sluice tune`: the traced run, what comes of it, the runs under the rules, and what is kept.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "tune/folders.h"
#include "tune/outputs.h"
#include "tune/runs.h"
#include "tune/text.h"

namespace sluice {

struct TuneSettings {
  std::vector<std::string> command;
  std::vector<std::string> common;  // options that each `sluice run` gets
  std::string before;               // a command line that puts outputs back
  std::string trace;                // where the trace is kept; "" = nowhere
  std::string output;               // where rules go
  std::string report;               // where the page goes; "" = nowhere
  unsigned repeat = 0;
  bool cold = false;  // caches are dropped before each run
  bool yes = false;   // nobody is asked
  std::optional<double> limit = {};
  double replays = 0;  // seconds that they may take in all
  std::function<Result<Storage>()> survey;
};

// What a trace says, and what was tried with it.
struct Found {
  Study study;
  std::vector<Tried> tried;
};
// `starting`: seconds that `sluice run` takes besides the program.
Result<Found> find_out(const TuneSettings& settings, const std::string& trace, const std::string& scratch,
                       double starting);
// The page, where one is wanted.
Status write_report(const TuneSettings& settings, const std::string& trace, const Tuned& tuned);

class Tuning {
 public:
  // `scratch` is a folder of ours.
  Tuning(TuneSettings settings, const std::string& scratch);
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;
  ~Tuning() = default;

  // From the first run to the last. The exit status.
  Result<int> go();

  // REQUIRES: go() has succeeded. How the command ended, as waitpid() has it; 0 where it was ended.
  [[nodiscard]] int ended() const { return first_.stopped ? 0 : first_.ended.status; }
  // Its study is null where the command failed.
  [[nodiscard]] const Tuned& tuned() const { return tuned_; }
  // Whether the rules that are kept could be written.
  [[nodiscard]] const Status& written() const { return written_; }
  [[nodiscard]] Status report() const;

 private:
  // `sluice run` has said why.
  [[nodiscard]] Error not_watched() const;
  Status run_traced();
  // Outputs of the first run that the next one meets, a run that began at `begin`: what comes is run once
  // more beside them, so that what is forecast is what will be run. False where that failed; it is said.
  Result<bool> meet_outputs(timespec begin);
  void note(const std::string& text);
  // Data that is not temporary is nobody's to move but the user's.
  bool may_act();
  Status act();
  // What is done with runs that went well.
  Status judge(const Compared& compared, Moves& moves, Folders& folders, const std::string& rules);

  TuneSettings settings_;
  std::string trace_;
  Style style_;
  Runs runs_;
  ProgramRun first_;
  Found found_;
  Tuned tuned_;
  Status written_;
  bool broke_ = false;
};

}  // namespace sluice
