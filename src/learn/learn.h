// What a trace says of the files in it, as words of the intent language: a trace in, rules out.
//
// Files whose names differ in numbers, dates or hashes alone, and that behave alike, are one family with one
// glob. Each word has its evidence and a confidence; one in doubt is proposed, not said. What would permit to
// lose data or to hide it (temp, local), or is not to be seen in a trace, is never said: a person confirms
// it.
//
// Memory goes with the number of files and of those open at once, never with the number of events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "intent/glob.h"
#include "trace/reader.h"

namespace sluice {

struct LearnSettings {
  std::uint8_t point = 0;   // where in the stacks
  std::string folder = {};  // of the rules file, to which globs are relative; "" = that of the traced command
  std::vector<Glob> files = {};  // only these, absolute; none = all that is not the system's
  std::optional<std::uint64_t> minimum_bytes = {};  // read and written, of a family; none = by the trace
  std::size_t most_families = 200;                  // those with the most bytes and calls
  bool look = false;  // whether files are still there may be looked up on this machine
};

struct LearnedWord {
  std::string word;       // as the parser takes it: "size-per-IO(4K)"
  double confidence = 0;  // that another look at the same behaviour would say so too
  std::string evidence;   // a sentence without a full stop
  bool doubtful = false;  // proposed, not said
  bool confirm = false;   // proposed, and a person must confirm it
};

// Requests of one kind of a family.
struct LearnedRequests {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t typical = 0;  // bytes of one
  std::string pattern;        // sequential, strided, random, backward, mixed; "" = too few
};

// What was measured, before thresholds decide. Shares are of 1; -1 where there is nothing to tell.
struct LearnedMeasures {
  double sequential = -1;   // requests that go on where one before ended
  double strided = -1;      // jumps of the most frequent distance
  double read = -1;         // of all bytes
  double synced = -1;       // writes that a sync follows before the next
  double passes = -1;       // how often what was read at all was read
  double spread = -1;       // requests within a factor 2 of the typical size
  double interleaved = -1;  // requests that follow one on another file of the group, both open
};

// From where files are opened.
struct LearnedSite {
  std::string site;  // as trace/site.h takes it
  std::uint64_t opens = 0;
};

struct LearnedFamily {
  std::string glob;                // as it stands in the rules file
  std::string pattern;             // absolute
  std::vector<std::string> files;  // absolute paths, the first few
  std::vector<LearnedWord> words;  // in the order in which an intent is printed, what is proposed last
  std::uint64_t file_count = 0;
  std::uint64_t created = 0;  // files that the program would have made, had they not been there
  std::uint64_t opens = 0;
  std::uint64_t calls = 0;  // of any kind
  std::uint64_t syncs = 0;
  std::uint64_t processes = 0;  // the most that used one file
  std::uint64_t size = 0;       // bytes of all files together, as far as it was seen
  LearnedRequests read;
  LearnedRequests write;
  double seconds = 0;              // in all of its calls
  double open_seconds = 0;         // of them, in opens
  std::vector<LearnedSite> sites;  // the first few, where the trace has them
  LearnedMeasures measures;
  bool exact = true;  // false: the files do not behave alike, and only what all have in common is said

  // The words that are said, as the parser takes them.
  [[nodiscard]] std::string intent() const;
};

struct Lessons {
  JsonBox about;        // of the trace
  std::string folder;   // to which globs are relative; "" = all are absolute
  std::string trouble;  // why the trace could not be read to its end; "" = it was
  bool hashed = false;  // paths are hashes, and no rule can match
  std::uint64_t events = 0;
  std::uint64_t files = 0;              // of the trace
  std::uint64_t bytes = 0;              // read and written, of all of them
  std::uint64_t minimum_bytes = 0;      // that families had to have
  std::uint64_t left_out_system = 0;    // files that were only read, of the system
  std::uint64_t left_out_small = 0;     // files of families with fewer bytes
  std::uint64_t left_out_unwanted = 0;  // files that no glob of the settings names
  std::uint64_t left_out_more = 0;      // files of families beyond the most
  std::vector<LearnedFamily> families;  // the most bytes first
};

Result<Lessons> learn(TraceReader& trace, const LearnSettings& settings);
// A rules file in TOML, with the evidence as comments.
std::string rules_text(const Lessons& lessons);
Json lessons_json(const Lessons& lessons);

}  // namespace sluice
