#include "optim/learning_rate.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

const std::vector<double> kLosses = {1.0,  0.9,  0.9,  0.89995, 0.9,  0.7, 0.71, 0.72,
                                     0.73, 0.74, 0.75, 0.76,    0.77, 0.5, 0.6,  0.6};

PlateauFields spec_of(double factor, int64_t cooldown, double final_factor) {
  return {
      .factor = factor, .final_factor = final_factor, .patience = 2 /* PyTorch's 1 */, .cooldown = cooldown};
}

// Of a rate of 0.1.
LearningRateSchedule schedule_of(const PlateauFields& spec) {
  LearningRate plan{.base = 0.1, .scaled = 0.1, .curve = {}, .derivation = {}};
  plan.curve = ScheduleCurve({.kind = "reduce_on_plateau", .own = spec}, {});
  return LearningRateSchedule(plan);
}

void observe(LearningRateSchedule& schedule, double loss) { schedule.on_evaluation({{"loss", loss}}); }

TEST_CASE("it reduces when PyTorch's ReduceLROnPlateau does") {
  // torch 2.11: mode='min', factor=0.5, patience=1, threshold=1e-4, threshold_mode='abs', cooldown=2,
  // min_lr=0.01, of a rate of 0.1
  const std::vector<double> expected = {0.1,   0.1,   0.1,   0.05,   0.05,   0.05,   0.05,   0.025,
                                        0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125, 0.0125, 0.01};
  LearningRateSchedule watch = schedule_of(spec_of(0.5, 2, 0.1));
  for (size_t i = 0; i < kLosses.size(); ++i) {
    observe(watch, kLosses[i]);
    INFO("evaluation " << i);
    CHECK(watch.at(0) == Approx(expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("accuracy has to rise, and the floor holds") {
  // torch 2.11: mode='max' of the negated losses, factor=0.1, patience=1, cooldown=0, min_lr=0.004
  const std::vector<double> expected = {0.1,   0.1,   0.1,   0.01,  0.01,  0.01,  0.01,  0.004,
                                        0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004, 0.004};
  PlateauFields spec = spec_of(0.1, 0, 0.04);
  spec.metric = "accuracy";
  LearningRateSchedule watch = schedule_of(spec);
  for (size_t i = 0; i < kLosses.size(); ++i) {
    watch.on_evaluation({{"accuracy", -kLosses[i]}});
    INFO("evaluation " << i);
    CHECK(watch.at(0) == Approx(expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("what is not a number is no improvement, not even at first") {
  LearningRateSchedule watch = schedule_of(spec_of(0.5, 0, 0));
  for (const double metric : {std::nan(""), std::numeric_limits<double>::infinity()}) observe(watch, metric);
  CHECK(watch.at(0) == 0.05);
  observe(watch, 1e9);
  observe(watch, std::nan(""));
  CHECK(watch.at(0) == 0.05);
}

TEST_CASE("saved after any evaluation and restored, it goes on as if nothing had happened") {
  for (size_t saved = 0; saved <= kLosses.size(); ++saved) {
    LearningRateSchedule undisturbed = schedule_of(spec_of(0.5, 2, 0.1));
    LearningRateSchedule first = schedule_of(spec_of(0.5, 2, 0.1));
    LearningRateSchedule second = schedule_of(spec_of(0.5, 2, 0.1));
    for (size_t i = 0; i < saved; ++i) observe(first, kLosses[i]);
    second.restore(nlohmann::ordered_json::parse(first.state().dump()));
    for (size_t i = 0; i < kLosses.size(); ++i) {
      observe(undisturbed, kLosses[i]);
      if (i >= saved) observe(second, kLosses[i]);
    }
    INFO("saved after " << saved);
    CHECK(second.state() == undisturbed.state());
  }
}

TEST_CASE("a state that dtrain does not save is refused and changes nothing") {
  LearningRateSchedule watch = schedule_of(spec_of(0.5, 2, 0.1));
  observe(watch, 1);
  const auto before = watch.state();
  for (const char* state :
       {"{}", "[]", "null", "3", R"({"best": "low", "waited": 0, "cooling": 0, "factor": 1})",
        R"({"best": 1, "waited": -1, "cooling": 0, "factor": 1})",
        R"({"best": 1, "waited": 0, "cooling": 0, "factor": 2})",
        R"({"best": 1, "waited": 0, "cooling": 0, "factor": null})"}) {
    INFO(state);
    try {
      watch.restore({{"kind", "reduce_on_plateau"}, {"plateau", nlohmann::ordered_json::parse(state)}});
      FAIL("was accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kCheckpoint);
    }
    CHECK(watch.state() == before);
  }
}

}  // namespace
}  // namespace dtrain
