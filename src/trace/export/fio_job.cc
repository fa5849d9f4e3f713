// A job file for fio: a section for each family of files that does the like of what the trace did to it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "trace/export/export.h"
#include "trace/export/workload.h"

namespace sluice {
namespace {

constexpr std::size_t most_sizes = 8;

// "3-step" of "/data/step_*.dat"; fio's own characters are left out.
std::string section_name(std::size_t number, const std::string& path) {
  std::string out = fmt::format("{}-", number);
  for (const char letter : path.substr(path.rfind('/') + 1)) {
    const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '-';
    out += plain ? letter : '_';
    if (out.size() == 40) {
      break;
    }
  }
  return out;
}

// "bs=4096" where nearly all are alike, else "bssplit=4096/60:65536/40".
std::string sizes_of(const FamilyRequests& requests) {
  const auto top = requests.sizes.top(most_sizes);
  if (top.front().second >= 0.9) {
    return fmt::format("bs={}\n", top.front().first);
  }
  std::string out = "bssplit=";
  int left = 100;
  for (std::size_t i = 0; i < top.size() && left > 0; ++i) {
    const bool last = i + 1 == top.size();
    const int share = last ? left : std::clamp(static_cast<int>(std::lround(top[i].second * 100)), 1, left);
    left -= share;
    out += fmt::format("{}{}/{}", i == 0 ? "" : ":", top[i].first, share);
  }
  return out + "\n";
}

std::string way_of(const FamilyRequests& requests, std::string_view way) {
  const std::string pattern = requests.pattern();
  return pattern == "random"    ? fmt::format("rw=rand{}\n", way)
         : pattern == "strided" ? fmt::format("rw={}:{}\n", way, requests.gap())
                                : fmt::format("rw={}\n", way);
}

// Where the processes work, and how much each does.
std::string place_of(const TracedFamily& family, const FamilyRequests& requests, const std::string& name) {
  const std::uint64_t jobs = requests.processes.size();
  const auto largest = static_cast<std::uint64_t>(std::max<std::int64_t>(requests.sizes.largest(), 1));
  const std::uint64_t share = std::max(requests.bytes / jobs, largest);
  std::string out = fmt::format("numjobs={}\n", jobs);
  if (requests.sharing > 1 && family.files == 1) {
    // Each has a part of the file, or they take turns all through it.
    const std::string pattern = requests.pattern();
    const std::uint64_t part = std::max(requests.extent / jobs, largest);
    const std::uint64_t step = pattern == "sequential" ? part : pattern == "strided" ? requests.typical() : 0;
    const std::uint64_t size =
        pattern == "sequential" ? part
                                : std::max(requests.extent, step * (jobs - 1) + largest) - step * (jobs - 1);
    return out + fmt::format("filename={}.shared\noffset_increment={}\nsize={}\nio_size={}\n", name, step,
                             size, share);
  }
  const std::uint64_t files = std::max<std::uint64_t>((family.files + jobs - 1) / jobs, 1);
  const std::uint64_t size = std::max(requests.extent, largest);
  out += files == 1 ? "" : fmt::format("nrfiles={}\nfile_service_type=sequential\n", files);
  return out + fmt::format("size={}\nio_size={}\n", size * files, share);
}

std::string syncs_of(const TracedFamily& family) {
  std::string out;
  const auto every = [&](std::uint64_t syncs) {
    return std::max<std::uint64_t>((family.write.count + syncs / 2) / syncs, 1);
  };
  if (family.syncs > 0) {
    out += fmt::format("fsync={}\n", every(family.syncs));
  }
  if (family.data_syncs > 0) {
    out += fmt::format("fdatasync={}\n", every(family.data_syncs));
  }
  return out;
}

// What is read and what is written of a family are sections of their own, at the same time where they were.
struct Job {
  const TracedFamily* family;
  const FamilyRequests* requests;
  bool writes;
};

std::vector<Job> jobs_of(const std::vector<TracedFamily>& families) {
  std::vector<Job> out;
  for (const TracedFamily& family : families) {
    for (const bool writes : {true, false}) {
      const FamilyRequests& requests = writes ? family.write : family.read;
      if (requests.count > 0) {
        out.push_back({&family, &requests, writes});
      }
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Job& a, const Job& b) { return a.requests->first < b.requests->first; });
  return out;
}

class FioJob : public TraceExporter {
 public:
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    workload_.add(event, texts.path);
    return "";
  }
  std::string tail() override {
    std::string out =
        "; A workload like that of a trace, made by sluice trace export --as fio-job.\n"
        "; fio makes files of its own in the current folder, never those of the trace.\n\n"
        "[global]\nioengine=psync\nfallocate=none\n";
    std::int64_t busy_until = 0;
    std::size_t number = 0;
    const std::vector<TracedFamily> families = workload_.families();
    for (const Job& job : jobs_of(families)) {
      const FamilyRequests& requests = *job.requests;
      const std::string name = section_name(++number, job.family->name);
      out += fmt::format("\n; {}: {} {} of mostly {}, {}, by {} processes\n[{}]\n", escape(job.family->name),
                         requests.count, job.writes ? "writes" : "reads", human_size(requests.typical()),
                         requests.pattern(), requests.processes.size(), name);
      if (number > 1 && requests.first >= busy_until) {
        out += "stonewall\n";  // all before it had ended
      }
      busy_until = std::max(busy_until, requests.last);
      out += way_of(requests, job.writes ? "write" : "read") + sizes_of(requests) +
             place_of(*job.family, requests, name) + (job.writes ? syncs_of(*job.family) : "") +
             (job.family->direct ? "direct=1\n" : "");
    }
    return out;
  }

 private:
  TracedWorkload workload_;
};

}  // namespace

std::unique_ptr<TraceExporter> make_fio_job() {
  return std::make_unique<FioJob>();
}

}  // namespace sluice
