#include "plan/json.h"

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
    row["mttdl"] = number_or_null(candidate.mttdl);
    row["loss_probability"] = number_or_null(candidate.loss_probability);
    row["lifetime"] = number_or_null(candidate.lifetime);
    row["why"] = candidate.why;
    row["arithmetic"] = candidate.arithmetic;
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
  return {{"intent", print(plan.intent)},
          {"assumed", plan.assumed},
          {"chosen", chosen != nullptr ? Json(chosen->place) : Json(nullptr)},
          {"ranking", std::move(ranking)},
          {"rejected", std::move(rejected)},
          {"warnings", warnings}};
}

}  // namespace sluice
