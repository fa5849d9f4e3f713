// Traces a program and all its descendants and counts their calls on regular files: those that passed stages,
// and those that did not. The stage `mark` must be the lowest of its stages.
//
// For one thread: the kernel knows it as the tracer. When it ends, so do those that it traces.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/sys.h"
#include "run/launch.h"
#include "run/unseen.h"

namespace sluice {

class CallTrace final : public Attendant {
 public:
  // `ours` is a file that the program only has because it runs under Sluice.
  static Result<std::unique_ptr<CallTrace>> make(std::string ours);

  void prepare() override;
  // Until all descendants have ended. When the program itself has and they go on, a line says so, and a
  // signal that would end us ends them.
  Result<int> attend(pid_t program) override;

  // By the path of the executable.
  [[nodiscard]] const std::map<std::string, Tally, std::less<>>& tallies() const { return tallies_; }
  // Whether attend() gave an error: the program was not even tried.
  [[nodiscard]] bool was_hindered() const { return hindered_; }

 private:
  struct Program {  // what a process runs
    Image image;
    Tally* tally = nullptr;
  };
  struct Process {
    std::shared_ptr<const Program> program;
    Mappings maps;
    std::set<int> opened_by_libc;
  };
  struct Thread {
    pid_t process = 0;
    unsigned marks = 0;                 // it is in so many stages
    const FileCall* pending = nullptr;  // the result of this is waited for
    std::uint64_t argument = 0;         // of that
  };

  CallTrace(std::string ours, UniqueFd wait, UniqueFd go)
      : ours_(std::move(ours)), wait_(std::move(wait)), go_(std::move(go)) {}

  void stopped(pid_t id, int status);
  void began_program(pid_t id);
  // Whether its result matters, too.
  bool called(pid_t id, Thread& thread);
  void returned(pid_t id, Thread& thread);
  void ended(pid_t id);
  void end_all() const;

  Thread& thread_of(pid_t id);
  std::shared_ptr<const Program> program_of(pid_t process);
  Whose whose(pid_t process, std::uint64_t address);
  // The path of a file that counts; "" for everything else.
  [[nodiscard]] std::string file_of(pid_t process, int fd) const;
  static void count(Process& process, Fate fate, const std::string& file, std::uint64_t calls = 1);

  std::string ours_;
  UniqueFd wait_;  // the child waits here until it is traced
  UniqueFd go_;
  pid_t main_ = 0;
  bool began_ = false;
  bool hindered_ = false;
  std::map<pid_t, Thread> threads_;
  std::map<pid_t, Process> processes_;
  std::map<std::string, Tally, std::less<>> tallies_;
};

}  // namespace sluice
