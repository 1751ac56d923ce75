#include "optim/plateau.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

[[noreturn]] void refuse() {
  throw Error(ExitCode::kCheckpoint,
              "the state of reduce_on_plateau is not one that dtrain saves; resume from another checkpoint");
}

}  // namespace

bool improves(const std::string& metric, double value, std::optional<double> best, double min_delta) {
  if (!std::isfinite(value)) return false;
  if (!best) return true;
  return metric_info(metric).higher_is_better ? value > *best + min_delta : value < *best - min_delta;
}

void PlateauWatch::observe(double metric) {
  if (improves(spec_.metric, metric, best_, spec_.min_delta)) {
    best_ = metric;
    waited_ = 0;
  } else {
    ++waited_;
  }
  if (cooling_ > 0) {
    --cooling_;
    waited_ = 0;
  }
  if (waited_ < spec_.patience) return;
  waited_ = 0;
  cooling_ = spec_.cooldown;
  factor_ = std::max(factor_ * spec_.factor, spec_.final_factor);
}

nlohmann::ordered_json PlateauWatch::state() const {
  return {{"best", best_ ? nlohmann::ordered_json(*best_) : nlohmann::ordered_json()},
          {"waited", waited_},
          {"cooling", cooling_},
          {"factor", factor_}};
}

void PlateauWatch::restore(const nlohmann::ordered_json& state) {
  PlateauWatch restored(spec_);
  try {
    if (!state.at("best").is_null()) restored.best_ = state.at("best").get<double>();
    restored.waited_ = state.at("waited").get<int64_t>();
    restored.cooling_ = state.at("cooling").get<int64_t>();
    restored.factor_ = state.at("factor").get<double>();
  } catch (const nlohmann::json::exception&) {
    refuse();
  }
  if (restored.waited_ < 0 || restored.cooling_ < 0 || !(restored.factor_ >= 0 && restored.factor_ <= 1))
    refuse();
  *this = restored;
}

}  // namespace dtrain
