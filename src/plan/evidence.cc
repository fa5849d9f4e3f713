#include "plan/evidence.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "forecast/measured.h"

namespace sluice {
namespace {

std::vector<Workload> parts_of(const Workload& workload) {
  if (workload.operation != Operation::readwrite) {
    return {workload};
  }
  std::vector<Workload> out(2, workload);
  out[0].operation = Operation::read;
  out[1].operation = Operation::write;
  return out;
}

bool is_corrected(const Evidence& evidence, const Workload& workload) {
  for (const Workload& part : parts_of(workload)) {
    if (evidence.corrections.of(part).any()) {
      return true;
    }
  }
  return false;
}

}  // namespace

Forecast forecast(const Place& place, const Evidence* evidence, const Workload& workload) {
  const auto plain = [&](const Workload& one, bool measured) {
    const auto found = measured ? measured_throughput(*evidence->profile, one) : std::nullopt;
    return found ? *found : throughput(model_of(place), one);
  };
  Forecast out;
  const auto found = evidence != nullptr && evidence->profile
                         ? measured_throughput(*evidence->profile, workload)
                         : std::nullopt;
  out.measured = found.has_value();
  out.uncorrected = found ? *found : throughput(model_of(place), workload);
  out.throughput = out.uncorrected;
  out.learned = evidence != nullptr && is_corrected(*evidence, workload);
  if (!out.learned) {
    return out;
  }
  const std::vector<Workload> parts = parts_of(workload);
  // Of reads and writes, the mean of the seconds of both.
  Throughput seconds;
  for (const Workload& part : parts) {
    const Throughput one = correct(plain(part, out.measured), evidence->corrections.of(part));
    seconds.rate += 1 / one.rate;
    seconds.low += 1 / one.low;
    seconds.high += 1 / one.high;
  }
  const auto count = static_cast<double>(parts.size());
  out.throughput = {.rate = count / seconds.rate, .low = count / seconds.low, .high = count / seconds.high};
  return out;
}

std::string explain_correction(const Evidence* evidence, const Workload& workload) {
  if (evidence == nullptr || !is_corrected(*evidence, workload)) {
    return {};
  }
  std::vector<std::string> out;
  for (const Workload& part : parts_of(workload)) {
    const Correction& one = evidence->corrections.of(part);
    if (one.any()) {
      out.push_back(fmt::format("corrected by {} run{}{}: x{:.3g} the time", one.runs,
                                one.runs == 1 ? "" : "s",
                                workload.operation != Operation::readwrite ? ""
                                : part.operation == Operation::write       ? " that wrote"
                                                                           : " that read",
                                one.factor));
    }
  }
  return join(out, ", ");
}

}  // namespace sluice
