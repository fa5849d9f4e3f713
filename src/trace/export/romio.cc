// Hints for ROMIO, which reads them from the file that ROMIO_HINTS names and applies them to every file that
// the program opens. So they are chosen by what most bytes of shared files need.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "base/units.h"
#include "trace/export/export.h"
#include "trace/export/workload.h"

namespace sluice {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
// A request of so much is worth its way to the disk alone.
constexpr std::uint64_t large = 4 * mib;

std::string hint(std::string_view name, std::string_view value, const std::string& why) {
  return fmt::format("# {}\n{} {}\n", why, name, value);
}

// The family that moves most that way, among those that several processes share if there are any.
const TracedFamily* leading(const std::vector<TracedFamily>& all, FamilyRequests TracedFamily::*way) {
  const TracedFamily* out = nullptr;
  for (const TracedFamily& family : all) {
    const auto rank = [&](const TracedFamily& one) {
      return std::pair((one.*way).sharing > 1, (one.*way).bytes);
    };
    if ((family.*way).count > 0 && (out == nullptr || rank(family) > rank(*out))) {
      out = &family;
    }
  }
  return out;
}

std::string facts(const TracedFamily& family, const FamilyRequests& requests, std::string_view what) {
  return fmt::format("{} of {} are {} of {}, by {} to a file", what, escape(family.name),
                     requests.pattern() == "sequential" ? "sequential" : requests.pattern(),
                     human_size(requests.typical()),
                     requests.sharing == 1 ? "one process" : fmt::format("{} processes", requests.sharing));
}

std::string for_way(const TracedFamily& family, const FamilyRequests& requests, bool writes) {
  const std::string_view way = writes ? "write" : "read";
  const bool small = requests.typical() < large;
  const bool shared = requests.sharing > 1;
  const bool scattered = requests.pattern() != "sequential";
  const std::string known = facts(family, requests, writes ? "writes" : "reads");
  std::string out;
  if (shared && small && scattered) {
    out += hint(fmt::format("romio_cb_{}", way), "enable",
                known + ": a few processes put such together into large ones");
    out += hint(fmt::format("romio_ds_{}", way), "disable", "what is put together has no holes to sieve");
    return out;
  }
  out += hint(fmt::format("romio_cb_{}", way), "disable",
              known + (shared ? ": large or in order already" : ": nobody to put them together with"));
  const bool sieves = requests.pattern() == "strided" && small && !(shared && writes) &&
                      static_cast<std::uint64_t>(requests.gap()) <= requests.typical();
  out += hint(fmt::format("romio_ds_{}", way), sieves ? "enable" : "disable",
              sieves ? "holes are no larger than what is between them: one large request for both"
              : shared && writes
                  ? "sieving reads, changes and writes back, under a lock that the others wait for"
                  : "there are no small holes to sieve");
  return out;
}

class Romio : public TraceExporter {
 public:
  std::string line(const TraceEvent& event, const EventTexts& texts) override {
    workload_.add(event, texts.path);
    return "";
  }
  std::string tail() override {
    const std::vector<TracedFamily> all = workload_.families();
    std::string out =
        "# Hints for MPI-IO, made by sluice trace export --as romio: ROMIO_HINTS=this-file mpirun ...\n";
    const TracedFamily* const write = leading(all, &TracedFamily::write);
    const TracedFamily* const read = leading(all, &TracedFamily::read);
    out += write == nullptr ? "# nothing is written\n" : for_way(*write, write->write, true);
    out += read == nullptr ? "# nothing is read\n" : for_way(*read, read->read, false);
    const bool by_write = write != nullptr && (read == nullptr || write->write.bytes >= read->read.bytes);
    const TracedFamily* const most = by_write ? write : read;
    if (most == nullptr) {
      return out;
    }
    const FamilyRequests& requests = by_write ? most->write : most->read;
    const std::uint64_t round = requests.typical() * requests.sharing;
    const std::uint64_t buffer =
        std::clamp(std::bit_ceil(std::max<std::uint64_t>(round, 1)), 4 * mib, 64 * mib);
    out += hint("cb_buffer_size", std::to_string(buffer),
                fmt::format("room for a request of {} of each of {} processes, and 4 MiB at least",
                            human_size(requests.typical()), requests.sharing));
    const bool in_turns = requests.sharing > 1 && requests.pattern() != "sequential";
    const std::uint64_t unit =
        in_turns ? buffer
                 : std::clamp(std::bit_ceil(std::max<std::uint64_t>(requests.typical(), 1)), mib, 64 * mib);
    out += hint("striping_unit", std::to_string(unit),
                in_turns ? "a buffer is one stripe, so that each goes to one server"
                         : "a request is within one stripe, so that each goes to one server");
    if (requests.sharing > 1) {
      out += hint("striping_factor", std::to_string(std::min<std::size_t>(requests.sharing, 64)),
                  "as many servers as processes share the file; fewer where the file system has fewer");
    }
    return out;
  }

 private:
  TracedWorkload workload_;
};

}  // namespace

std::unique_ptr<TraceExporter> make_romio() {
  return std::make_unique<Romio>();
}

}  // namespace sluice
