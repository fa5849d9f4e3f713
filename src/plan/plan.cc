#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "forecast/measured.h"
#include "forecast/reliability.h"

namespace sluice {
namespace {

bool labelled(const Place& place, std::string_view label) {
  if (!place.labels) {
    return false;
  }
  const auto& labels = *place.labels;
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::uint64_t room(const Place& place) {
  const std::uint64_t free = place.free.value_or(0);
  return free > place.promised ? free - place.promised : 0;
}

// What keeps the place from holding any new data of this user.
void check_usable(const Place& place, std::vector<std::string>& because) {
  if (place.reach != Reach::reachable) {
    because.push_back(fmt::format("{}: {}", print(place.reach), place.reach_note));
  } else if (place.read_only) {
    because.emplace_back("mounted read-only");
  } else if (!place.writable) {
    because.emplace_back("you may not write there; name a folder of yours on it in sluice.toml");
  }
}

void check_words(const Intent& intent, const Place& place, std::vector<std::string>& because) {
  if (intent.is("global") && !place.global.value_or(false)) {
    because.emplace_back("global: it is visible on this machine only");
  }
  if (intent.is("local") && place.global.value_or(false)) {
    because.emplace_back("local: other machines see it too");
  }
  if (intent.is("persist") && place.is_volatile.value_or(true)) {
    because.emplace_back(place.is_volatile
                             ? "persist: it is volatile"
                             : "persist: whether it is volatile is not known; set volatile in sluice.toml");
  }
  for (const std::string_view label : {"archive", "tamperproof"}) {
    if (intent.is(label) && !labelled(place, label)) {
      because.push_back(fmt::format("{0}: it is not labelled {0}", label));
    }
  }
  const auto size = intent.total_size();
  if (size && place.reach == Reach::reachable) {
    if (!place.free) {
      because.emplace_back("totalsize: its free space is not known");
    } else if (*size > room(place)) {
      because.push_back(
          fmt::format("totalsize: {} do not fit into {} free{}", human_size(*size), human_size(room(place)),
                      place.promised > 0 ? fmt::format(" ({} are promised)", human_size(place.promised))
                                         : std::string{}));
    }
    if (place.max_file && *size > *place.max_file) {
      because.push_back(fmt::format("totalsize: {} is larger than its largest file, {}", human_size(*size),
                                    human_size(*place.max_file)));
    }
  }
}

void check_reliability(const Intent& intent, const Reliability& reliability, const Ranked& candidate,
                       std::vector<std::string>& because) {
  if (const auto wanted = intent.mttdl()) {
    if (!reliability.mttdl) {
      because.push_back(fmt::format("MTTDL: {}", reliability.why));
    } else if (*reliability.mttdl < wanted->in_seconds()) {
      because.push_back(
          fmt::format("MTTDL: {} is less than {}", human_duration(*reliability.mttdl), print(*wanted)));
    }
  }
  if (const auto most = intent.loss_probability()) {
    if (!reliability.mttdl) {
      because.push_back(fmt::format("availability: {}", reliability.why));
    } else if (!candidate.lifetime) {
      because.emplace_back("availability: no lifetime; write availability(P, D) or give totalsize");
    } else if (*candidate.loss_probability > *most) {
      because.push_back(
          fmt::format("availability: the data is lost within {} with probability {:.2g}, more than {:g}",
                      human_duration(*candidate.lifetime), *candidate.loss_probability, *most));
    }
  }
}

// Why there is no forecast from a profile.
std::string unmeasured_because(const Evidence* evidence, const Workload& workload) {
  if (evidence == nullptr || (!evidence->profile && evidence->why_not.empty())) {
    return "no profile yet";
  }
  return evidence->profile ? fmt::format("its profile lacks {} requests of this kind", print(workload.mode))
                           : evidence->why_not;
}

std::string result_text(const Throughput& throughput) {
  return fmt::format("{}, between {} and {}", human_rate(throughput.rate), human_rate(throughput.low),
                     human_rate(throughput.high));
}

// Three digits decide; what is closer than that is a tie.
double rounded(double value) {
  if (value <= 0) {
    return 0;
  }
  const double scale = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / scale) * scale;
}

Ranked judge(const Intent& intent, const Workload& workload, const Place& place, const Evidence* evidence,
             const Reliability& reliability) {
  Ranked out;
  out.place = place.name;
  out.path = place.path;
  out.where = &place;
  out.evidence = evidence;
  const Forecast found = forecast(place, evidence, workload);
  out.throughput = found.throughput;
  out.merit = rounded(out.throughput.rate);
  out.source = found.source();
  out.measured = found.measured;
  // What runs taught is no fact of the place: whether it keeps a constraint does not hang on it.
  std::optional<double> lifetime;
  if (const auto size = intent.total_size()) {
    out.seconds = static_cast<double>(*size) / out.throughput.rate;
    lifetime = static_cast<double>(*size) / found.uncorrected.rate;
  }
  out.mttdl = reliability.mttdl;
  if (const auto said = intent.lifetime()) {
    lifetime = said->in_seconds();
  }
  out.lifetime = lifetime;
  if (out.mttdl && out.lifetime) {
    out.loss_probability = loss_probability(*out.mttdl, *out.lifetime);
  }
  if (place.capacity && *place.capacity > 0) {
    out.free_share = static_cast<double>(room(place)) / static_cast<double>(*place.capacity);
  }
  return out;
}

bool better(const Ranked& a, const Ranked& b) {
  if (a.merit != b.merit) {
    return a.merit > b.merit;
  }
  const double reliable_a = a.mttdl.value_or(0);
  const double reliable_b = b.mttdl.value_or(0);
  return reliable_a != reliable_b ? reliable_a > reliable_b : a.free_share > b.free_share;
}

}  // namespace

Reasons explain(const Plan& plan, const Ranked& row) {
  const Workload& workload = plan.workload;
  const DeviceModel model = model_of(*row.where);
  const std::string_view media = print(row.where->media.value_or(Media::unknown));
  const std::string terms = explain_throughput(model, workload);
  Reasons out;
  const Forecast found = forecast(*row.where, row.evidence, workload);
  if (found.measured) {
    const std::string text = explain_measured(*row.evidence->profile, workload);
    out.why = text;
    out.arithmetic.push_back(fmt::format("{}: {}", text, result_text(found.uncorrected)));
  } else {
    const std::string because = unmeasured_because(row.evidence, workload);
    out.why = fmt::format("{} {} ({})", media, terms, because);
    out.arithmetic.push_back(fmt::format("not measured: {}", because));
  }
  out.arithmetic.push_back(
      fmt::format("by traits: {}: {}{}", terms, result_text(throughput(model, workload)),
                  model.doubtful.empty() ? std::string{} : fmt::format(" (defaults: {})", model.doubtful)));
  if (found.learned) {
    const std::string text = explain_correction(row.evidence, workload);
    out.why += fmt::format("; {}", text);
    out.arithmetic.push_back(fmt::format("{}: {}", text, result_text(found.throughput)));
  }
  out.arithmetic.push_back(reliability_of(*row.where, plan.intent.total_size()).why);
  return out;
}

bool is_sure(const Ranked& row) {
  return row.measured && row.evidence->profile->sure;
}

Throughput forecast(const Ranked& row, const Workload& workload) {
  return forecast(*row.where, row.evidence, workload).throughput;
}

Plan make_plan(const Intent& intent, std::span<const Place> places, const Profiles& profiles,
               const Usage& usage) {
  Plan out{.intent = intent, .workload = workload_of(intent, usage), .ranking = {}, .rejected = {}};
  for (const Place& place : places) {
    std::vector<std::string> because;
    check_usable(place, because);
    check_words(intent, place, because);
    const Reliability reliability = reliability_of(place, intent.total_size());
    const auto known = profiles.find(place.id);
    Ranked candidate =
        judge(intent, out.workload, place, known == profiles.end() ? nullptr : &known->second, reliability);
    check_reliability(intent, reliability, candidate, because);
    if (because.empty()) {
      out.ranking.push_back(std::move(candidate));
    } else {
      out.rejected.push_back({.place = place.name, .path = place.path, .because = std::move(because)});
    }
  }
  std::stable_sort(out.ranking.begin(), out.ranking.end(), better);
  return out;
}

}  // namespace sluice
