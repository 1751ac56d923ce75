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

bool PlateauWatch::improves(double metric) const {
  if (!std::isfinite(metric)) return false;
  if (!observed_) return true;
  return metric_info(spec_.metric).higher_is_better ? metric > best_ + spec_.min_delta
                                                    : metric < best_ - spec_.min_delta;
}

void PlateauWatch::observe(double metric) {
  if (improves(metric)) {
    best_ = metric;
    observed_ = true;
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
  return {{"best", observed_ ? nlohmann::ordered_json(best_) : nlohmann::ordered_json()},
          {"waited", waited_},
          {"cooling", cooling_},
          {"factor", factor_}};
}

void PlateauWatch::restore(const nlohmann::ordered_json& state) {
  PlateauWatch restored(spec_);
  try {
    restored.observed_ = !state.at("best").is_null();
    if (restored.observed_) restored.best_ = state.at("best").get<double>();
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
