// tune_page TRACE: the page of a trace with what `sluice tune` might have found, on standard output. Every
// text of it tries to break out.
#include <cstdio>
#include <string>

#include "report/report.h"

int main(int count, char** words) {
  using namespace std::string_literals;
  if (count != 2) {
    std::fprintf(stderr, "tune_page TRACE\n");
    return 2;
  }
  auto trace = sluice::TraceReader::open(words[1]);
  auto view = trace ? sluice::view_of(*trace, 0) : sluice::Result<sluice::TraceView>(trace.error());
  if (!view) {
    std::fprintf(stderr, "%s\n", view.error().text().c_str());
    return 1;
  }
  const std::string odd = "</script><script>x()</script>\"'&\n\xff";
  sluice::ReportInput input;
  input.view = *view;
  input.source = odd;
  sluice::ReportTune& tune = input.tune.emplace();
  tune.candidates = {
      {.name = "nvme + writeback",
       .by_model = sluice::ReportFigure{4, 3, 6},
       .by_replay = sluice::ReportFigure{4.4, 4.2, 4.6},
       .measured = sluice::ReportFigure{4.5, 4.4, 4.7},
       .note = ""},
      {.name = "hdd + writeback",
       .by_model = sluice::ReportFigure{9, 7, 12},
       .by_replay = sluice::ReportFigure{9.9, 9.1, 10.4},
       .measured = {},
       .note = ""},
      {.name = "hdd (as it is)",
       .by_model = sluice::ReportFigure{12, 8, 17},
       .by_replay = {},
       .measured = sluice::ReportFigure{11.8, 11.2, 12.3},
       .note = ""},
      {.name = "memory " + odd, .by_model = {}, .by_replay = {}, .measured = {}, .note = "volatile " + odd}};
  tune.chosen = "nvme + writeback";
  tune.why = "It is the fastest that keeps every constraint. " + odd;
  tune.before = {11.2, 11.9, 12.3};
  tune.after = {4.4, 4.5, 4.7};
  tune.gain = sluice::ReportFigure{2.6, 2.4, 2.8};
  tune.sure = true;
  tune.actions = {{.files = "/scratch/run/step_*.dat",
                   .place = "nvme",
                   .stages = "writeback:block=1M",
                   .why = "small sequential writes"},
                  {.files = odd, .place = "", .stages = "", .why = odd}};
  tune.risks = {{.text = "Data of the last second is lost when the machine loses power.", .confirm = true},
                {.text = odd}};
  tune.words = {{.files = "/scratch/run/step_*.dat",
                 .word = "sequential",
                 .evidence = "4 975 000 of 4 975 000 writes",
                 .confidence = 0.99},
                {.files = odd, .word = "temp", .evidence = odd, .confidence = 0.4, .doubtful = true}};
  tune.notes = {"Caches were dropped before each run.", odd};
  const std::string page = sluice::report_page(input);
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
