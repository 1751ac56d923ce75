#include "optim/learning_rate.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "core/error.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

TrainSpec spec_with(const std::string& rule, int64_t reference, int64_t warmup = 0) {
  TrainSpec spec;
  spec.optimizer.learning_rate = 1e-3;
  spec.learning_rate_scaling = {rule, reference, warmup};
  return spec;
}

LearningRate resolve(const TrainSpec& spec, int64_t global_batch) {
  return resolve_learning_rate(spec, global_batch, {.per_epoch = 10, .total = 40});
}

TEST_CASE("scaling is against the reference batch") {
  CHECK(resolve(spec_with("linear", 64), 128).scaled == Approx(2e-3));
  CHECK(resolve(spec_with("linear", 64), 32).scaled == Approx(5e-4));
  CHECK(resolve(spec_with("sqrt", 64), 256).scaled == Approx(2e-3));
  CHECK(resolve(spec_with("none", 64), 256).scaled == Approx(1e-3));
}

TEST_CASE("the derivation shows the arithmetic") {
  CHECK(resolve(spec_with("linear", 64), 128).derivation == "0.001 x 128/64 (linear) = 0.002");
  CHECK(resolve(spec_with("sqrt", 64), 256).derivation == "0.001 x sqrt(256/64) (sqrt) = 0.002");
  CHECK(resolve(spec_with("none", 64), 256).derivation == "0.001 (no scaling)");
  CHECK(resolve(spec_with("none", 64, 7), 256).derivation == "0.001 (no scaling); warmup over 7 steps");
}

TEST_CASE("warmup rises in equal parts and ends at the scaled rate") {
  const LearningRate rate = resolve(spec_with("linear", 64, 4), 128);
  CHECK(rate.at(0) == Approx(0.25 * 2e-3));
  CHECK(rate.at(3) == Approx(2e-3));
  CHECK(rate.at(4) == Approx(2e-3));
  CHECK(rate.at(1000000) == Approx(2e-3));
  CHECK(resolve(spec_with("linear", 64), 128).at(0) == Approx(2e-3));
}

TEST_CASE("scaling and warmup apply to every schedule") {
  for (const std::string& kind : schedule_kinds().built) {
    TrainSpec spec = spec_with("linear", 64, 8);
    spec.schedule.kind = kind;
    if (kind == "piecewise") spec.schedule.own = PiecewiseFields{.boundaries = {1}, .values = {1e-3, 1e-4}};
    if (schedule_uses(kind, "every")) spec.schedule.own = StepFields{.every = 2};
    const LearningRate rate = resolve(spec, 128);
    for (const int64_t step : {0, 3, 7, 8, 25, 39}) {
      INFO(kind << " at step " << step);
      const double warmth = step < 8 ? static_cast<double>(step + 1) / 8 : 1;
      CHECK(rate.at(step) == Approx(2 * warmth * rate.curve.at(step, 1e-3)));
    }
  }
}

TEST_CASE("a piecewise schedule's rates take the place of the optimizer's") {
  TrainSpec spec = spec_with("linear", 64);
  spec.optimizer.learning_rate = 5;
  spec.schedule = {.kind = "piecewise", .own = PiecewiseFields{.boundaries = {3}, .values = {1e-3, 1e-4}}};
  const LearningRate rate = resolve(spec, 128);
  CHECK(rate.scaled == 2e-3);
  CHECK(rate.at(29) == 2e-3);
  CHECK(rate.at(30) == 2e-4);
  CHECK(rate.derivation == "0.001 x 128/64 (linear) = 0.002; 0.0002 after 3 epochs (30 steps)");
}

TEST_CASE("evaluations change the rate of reduce_on_plateau alone, by its metric") {
  TrainSpec spec = spec_with("none", 64, 2);
  spec.schedule.kind = GENERATE("reduce_on_plateau", "cosine");
  const std::string metric = GENERATE("loss", "accuracy");
  if (schedule_uses(spec.schedule.kind, "metric"))
    spec.schedule.own = PlateauFields{.metric = metric, .patience = 1};
  const LearningRate plan = resolve(spec, 64);
  LearningRateSchedule schedule(plan);
  CHECK(schedule.at(1) == plan.at(1));
  schedule.on_evaluation({{"loss", 1.0}, {"accuracy", 0.5}});
  CHECK(schedule.at(20) == plan.at(20));
  schedule.on_evaluation({{"loss", 0.9}, {"accuracy", 0.5}});  // a better loss, the same accuracy
  const bool reduced = spec.schedule.kind == "reduce_on_plateau" && metric == "accuracy";
  CHECK(schedule.at(20) == Approx(plan.at(20) * (reduced ? 0.1 : 1.0)).epsilon(1e-14));

  LearningRateSchedule restored(plan);
  restored.restore(nlohmann::ordered_json::parse(schedule.state().dump()));
  CHECK(restored.at(20) == schedule.at(20));
  CHECK(restored.state() == schedule.state());
}

TEST_CASE("nothing is taken from the state of another schedule") {
  TrainSpec spec;
  spec.schedule = {.kind = "reduce_on_plateau", .own = PlateauFields{.patience = 1}};
  LearningRateSchedule schedule(resolve(spec, 64));
  const auto fresh = schedule.state();
  CHECK_NOTHROW(schedule.restore(nlohmann::ordered_json{{"kind", "cosine"}}));
  CHECK(schedule.state() == fresh);
  LearningRateSchedule constant(resolve(TrainSpec(), 64));
  CHECK_NOTHROW(constant.restore(fresh));
  CHECK(constant.at(0) == resolve(TrainSpec(), 64).at(0));
}

TEST_CASE("the best value of another metric is forgotten, and the rate stays reduced") {
  const auto by = [](const std::string& metric) {
    TrainSpec spec;
    spec.schedule = {.kind = "reduce_on_plateau", .own = PlateauFields{.metric = metric, .patience = 2}};
    return LearningRateSchedule(resolve(spec, 64));
  };
  LearningRateSchedule first = by("accuracy"), second = by("loss");
  for (int i = 0; i < 4; ++i) first.on_evaluation({{"loss", 2.0}, {"accuracy", 0.5}});
  second.restore(first.state());
  CHECK(second.at(0) == first.at(0));
  CHECK(second.at(0) < by("loss").at(0));
  for (const double loss : {1.9, 1.8, 1.7}) second.on_evaluation({{"loss", loss}, {"accuracy", 0.5}});
  CHECK(second.at(0) == first.at(0));
}

}  // namespace
}  // namespace dtrain
