#include "optim/learning_rate.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

template <class Own>
ScheduleSpec in_steps(const std::string& kind, Own own) {
  own.unit = "steps";
  return {.kind = kind, .own = own};
}

// The rates of the first steps are `expected` to 12 digits.
void check_rates(const ScheduleSpec& spec, const RunSteps& steps, double rate,
                 const std::vector<double>& expected) {
  const ScheduleCurve curve(spec, steps);
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO(spec.kind << " at step " << i);
    CHECK(curve.at(static_cast<int64_t>(i), rate) == Approx(expected[i]).epsilon(1e-12).margin(1e-15));
  }
}

// The figures below are what PyTorch 2.11's torch.optim.lr_scheduler gives in float64.

TEST_CASE(
    "piecewise is PyTorch's MultiStepLR, and Keras's PiecewiseConstantDecay with exclusive boundaries") {
  const ScheduleSpec spec =
      in_steps("piecewise", PiecewiseFields{.boundaries = {3, 7}, .values = {1e-3, 1e-4, 1e-5}});
  // MultiStepLR(milestones=[3, 7], gamma=0.1)
  check_rates(spec, {1, 9}, 123, {0.001, 0.001, 0.001, 0.0001, 0.0001, 0.0001, 0.0001, 1e-05, 1e-05});
}

TEST_CASE("the lessons' rates: 1e-3, 1e-4 after 3 epochs, 1e-5 after 7, exactly") {
  const ScheduleSpec spec{.kind = "piecewise",
                          .own = PiecewiseFields{.boundaries = {3, 7}, .values = {1e-3, 1e-4, 1e-5}}};
  constexpr int64_t kSteps = 469;
  const ScheduleCurve curve(spec, {kSteps, 12 * kSteps});
  for (int64_t step = 0; step < 12 * kSteps; ++step) {
    const int64_t epoch = step / kSteps;
    REQUIRE(curve.at(step, 1) == (epoch < 3 ? 1e-3 : epoch < 7 ? 1e-4 : 1e-5));
  }
}

TEST_CASE("step is PyTorch's StepLR") {
  ScheduleSpec spec = in_steps("step", StepFields{.every = 3, .factor = 0.5});
  check_rates(spec, {1, 8}, 0.1, {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025});
  spec.own.get<StepFields>().unit = "epochs";  // of 2 steps each
  check_rates(spec, {2, 20}, 0.1, {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.025});
}

TEST_CASE("exponential is PyTorch's ExponentialLR, and Keras's ExponentialDecay over several steps") {
  ScheduleSpec spec = in_steps("exponential", StepFields{.factor = 0.9});
  check_rates(spec, {1, 6}, 0.1, {0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049});
  spec.own.get<StepFields>().every = 4;  // rate * decay_rate ^ (step / decay_steps)
  check_rates(spec, {1, 6}, 0.1, {0.1, 0.1 * std::pow(0.9, 0.25), 0.1 * std::pow(0.9, 0.5)});
}

TEST_CASE("cosine is PyTorch's CosineAnnealingLR and stays at its end") {
  const ScheduleSpec spec = in_steps("cosine", CurveFields{.over = 8, .final_factor = 0.1});
  // CosineAnnealingLR(T_max=8, eta_min=0.01); the tenth is Keras's CosineDecay(alpha=0.1), which stays
  check_rates(spec, {1, 9}, 0.1,
              {0.1, 0.0965745789630079, 0.08681980515339463, 0.07222075445642905, 0.055, 0.03777924554357096,
               0.023180194846605363, 0.013425421036992097, 0.01, 0.01});
}

TEST_CASE("polynomial is PyTorch's PolynomialLR, with an end as in Keras's PolynomialDecay") {
  ScheduleSpec spec = in_steps("polynomial", CurveFields{.over = 6, .power = 2});
  // PolynomialLR(total_iters=6, power=2)
  check_rates(spec, {1, 8}, 0.1,
              {0.1, 0.06944444444444446, 0.04444444444444447, 0.02500000000000001, 0.011111111111111117,
               0.0027777777777777775, 0.0, 0.0});
  spec.own.get<CurveFields>().power = 1;
  spec.own.get<CurveFields>().final_factor =
      0.4;  // (rate - end) * (1 - step / decay_steps) + end, end = 0.04
  check_rates(spec, {1, 8}, 0.1, {0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.04});
}

TEST_CASE("a curve over one step is the rate itself, and a cycle that ends at its peak stays there") {
  for (const char* kind : {"one_cycle", "cosine", "polynomial"})
    check_rates(in_steps(kind, CurveFields()), {1, 1}, 0.1, {0.1});
  for (const char* kind : {"exponential", "step"})
    check_rates(in_steps(kind, StepFields()), {1, 1}, 0.1, {0.1});
  check_rates(in_steps("one_cycle", CurveFields{.peak_at = 1}), {1, 3}, 0.1, {0.004, 0.052, 0.1, 0.1});
}

TEST_CASE("one_cycle is PyTorch's OneCycleLR and stays at its end") {
  // OneCycleLR(max_lr=0.1, total_steps=10, pct_start=0.3, div_factor=25, final_div_factor=100)
  check_rates(in_steps("one_cycle", CurveFields{.final_factor = 1.0 / (25 * 100)}), {1, 10}, 0.1,
              {0.004, 0.052, 0.1, 0.09505042401776291, 0.08118202029689951, 0.061141596279136595,
               0.03889840372086341, 0.018857979703100502, 0.004989575982237097, 4e-05, 4e-05});
  // OneCycleLR(max_lr=0.1, total_steps=7, pct_start=0.5, div_factor=10, final_div_factor=10)
  const CurveFields seven{.over = 7, .initial_factor = 0.1, .final_factor = 0.01, .peak_at = 0.5};
  check_rates(in_steps("one_cycle", seven), {1, 100}, 0.1,
              {0.01, 0.041094235253127366, 0.09140576474687263, 0.09509795896116975, 0.061514786230837566,
               0.019637254807992693, 0.001, 0.001});
}

TEST_CASE("without `over` a curve takes the whole training, and epochs are smooth within") {
  ScheduleSpec spec{.kind = "cosine"};
  const ScheduleCurve whole(spec, {10, 40});
  CHECK(whole.at(20, 1) == Approx(0.5));
  spec.own = CurveFields{.over = 2};  // epochs
  const ScheduleCurve two(spec, {10, 40});
  CHECK(two.at(10, 1) == Approx(0.5));
  CHECK(two.at(5, 1) == Approx((1 + std::cos(M_PI / 4)) / 2));
  CHECK(two.at(39, 1) == Approx(0.0).margin(1e-15));
}

TEST_CASE("the worst lengths neither overflow nor divide by zero") {
  for (const std::string& kind : schedule_kinds().built) {
    ScheduleSpec spec{.kind = kind};
    if (kind == "piecewise")
      spec.own = PiecewiseFields{.boundaries = {1, 1'000'000'000'000}, .values = {0.1, 0.2, 0.3}};
    for (const int64_t length : {int64_t{1}, int64_t{1'000'000'000'000}}) {
      if (schedule_uses(kind, "over")) spec.own = CurveFields{.over = length};
      if (schedule_uses(kind, "every")) spec.own = StepFields{.every = length};
      for (const RunSteps& steps : {RunSteps{1, 1}, RunSteps{1'000'000'000, 1'000'000'000'000}}) {
        const ScheduleCurve curve(spec, steps);
        for (const int64_t step : {int64_t{0}, int64_t{1}, steps.total - 1}) {
          INFO(kind << " over " << length << " of " << steps.total << " at " << step);
          CHECK(curve.at(step, 1) >= 0);
          CHECK(curve.at(step, 1) <= 1);
        }
        CHECK(curve.description(1, 1).empty() == (kind == "constant"));
      }
    }
  }
}

TEST_CASE("the description says when what happens, in both units") {
  ScheduleSpec spec{.kind = "piecewise",
                    .own = PiecewiseFields{.boundaries = {1, 7}, .values = {1e-3, 1e-4, 1e-5}}};
  CHECK(ScheduleCurve(spec, {469, 2345}).description(2e-3, 2) ==
        "0.0002 after 1 epoch (469 steps), 2e-05 after 7 epochs (3,283 steps), which is not reached");
  spec.own.get<PiecewiseFields>().unit = "steps";
  CHECK(ScheduleCurve(spec, {469, 2345}).description(1e-3, 1) == "0.0001 after 1 step, 1e-05 after 7 steps");
  spec = {.kind = "cosine", .own = CurveFields{.final_factor = 0.01}};
  CHECK(ScheduleCurve(spec, {469, 2345}).description(2e-3, 2) ==
        "falls to 2e-05 as a cosine over all 2,345 steps");
  spec.own.get<CurveFields>().over = 2;
  CHECK(ScheduleCurve(spec, {469, 2345}).description(2e-3, 2) ==
        "falls to 2e-05 as a cosine over 2 epochs (938 steps)");
}

}  // namespace
}  // namespace dtrain
