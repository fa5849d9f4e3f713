#include "plan/json.h"

#include "base/json.h"

namespace sluice {

Json to_json(const Plan& plan, const std::vector<std::string>& warnings) {
  Json ranking = Json::array();
  for (const Ranked& candidate : plan.ranking) {
    Json row;
    row["place"] = candidate.place;
    put_bytes(row, "path", candidate.path);
    row["throughput"] = candidate.throughput.rate;
    row["low"] = candidate.throughput.low;
    row["high"] = candidate.throughput.high;
    row["seconds"] = number_or_null(candidate.seconds);
    row["source"] = candidate.source;
    row["sure"] = is_sure(candidate);
    row["mttdl"] = number_or_null(candidate.mttdl);
    row["loss_probability"] = number_or_null(candidate.loss_probability);
    row["lifetime"] = number_or_null(candidate.lifetime);
    const Reasons reasons = explain(plan, candidate);
    row["why"] = reasons.why;
    row["arithmetic"] = reasons.arithmetic;
    ranking.push_back(std::move(row));
  }
  Json rejected = Json::array();
  for (const Rejection& rejection : plan.rejected) {
    Json row;
    row["place"] = rejection.place;
    put_bytes(row, "path", rejection.path);
    row["because"] = rejection.because;
    rejected.push_back(std::move(row));
  }
  const Ranked* chosen = plan.chosen();
  Json out;
  out["intent"] = print(plan.intent);
  out["assumed"] = plan.workload.assumed;
  out["io"] = print(plan.workload.mode);
  out["streams"] = plan.workload.streams;
  out["chosen"] = chosen != nullptr ? Json(chosen->place) : Json(nullptr);
  out["ranking"] = std::move(ranking);
  out["rejected"] = std::move(rejected);
  out["warnings"] = warnings;
  return out;
}

}  // namespace sluice
