// The bound against what the optimizers do with the gradients that move them furthest.
#include "optim/optimizer_kinds.h"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <limits>

#include "catch.h"
#include "optim/optimizer.h"
#include "optim/optimizer_specs.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

constexpr double kRate = 0.01;
constexpr int kSteps = 400;

OptimizerSpec optimizer(const std::string& kind) {
  OptimizerSpec spec;
  spec.kind = kind;
  return spec;
}

// The largest movement of one step, in units of the learning rate, under gradient(step).
double movement(const OptimizerSpec& spec, const std::function<double(int)>& gradient) {
  at::Tensor parameter = at::zeros({1}, at::kDouble);
  const auto made = make_optimizer(spec, {parameter});
  double most = 0;
  for (int step = 0; step < kSteps; ++step) {
    parameter.mutable_grad() = at::full({1}, gradient(step), at::kDouble);
    const double before = parameter.item<double>();
    made->step(kRate);
    const double moved = std::abs(parameter.item<double>() - before) / kRate;
    if (std::isnan(moved)) return moved;  // std::max() would leave it out
    most = std::max(most, moved);
  }
  return most;
}

// What the bound allows of it: a tenth of what it adds for a step.
double allowed(const OptimizerSpec& spec, double clip_norm = 0) {
  GrowthBound bound(spec, clip_norm);
  bound.begin(0);
  bound.add_step(kRate);
  return bound.value() / 1.01 / 10 / kRate;
}

TEST_CASE("no gradients move adam further than the bound, and the worst ones nearly as far") {
  const auto [beta1, beta2] =
      GENERATE(table<double, double>({{0.9, 0.999}, {0.9, 0.95}, {0.0, 0.99}, {0.5, 0.9}, {0.0, 0.0}}));
  OptimizerSpec spec = optimizer(GENERATE("adam", "adamw"));
  spec.own = AdamFields{.beta1 = beta1, .beta2 = beta2, .epsilon = 1e-14};
  const double most = allowed(spec);
  // Equality in the inequality of Cauchy and Schwarz: g_i in proportion to a_i / b_i, i steps before the
  // last.
  const double ratio = beta2 == 0 ? 0 : beta1 / beta2;
  const double worst = movement(spec, [&](int step) { return std::pow(ratio, kSteps - 1 - step); });
  CHECK(worst <= most * 1.0001);
  CHECK(worst >= most * 0.5);
  const double once = movement(spec, [](int step) { return step == kSteps - 1 ? 1.0 : 0.0; });
  CHECK(once <= most * 1.0001);
  CHECK(movement(spec, [](int) { return 1e-3; }) <= most * 1.0001);
  CHECK(movement(spec, [](int step) { return std::exp(0.1 * step); }) <= most * 1.0001);
}

TEST_CASE("no gradients move rmsprop further than the bound") {
  OptimizerSpec spec = optimizer("rmsprop");
  spec.own = RmspropFields{.momentum = GENERATE(0.0, 0.9)};
  const double most = allowed(spec);
  for (const double growth : {1.0, 1.1, 2.0, 4.0}) {
    const double moved = movement(spec, [&](int step) { return std::pow(growth, step / 2); });
    CHECK(moved <= most * 1.0001);
    if (growth == 4) CHECK(moved >= most * 0.5);
  }
}

TEST_CASE("every gradient moves lion by the learning rate") {
  const OptimizerSpec spec = optimizer("lion");
  const double most = allowed(spec);
  for (const double growth : {0.5, 1.0, 4.0}) {
    const double moved = movement(spec, [&](int step) { return std::pow(growth, step); });
    CHECK(moved <= most * 1.0001);
    CHECK(moved >= most * 0.9999);
  }
}

TEST_CASE("no gradients move muon's matrices further than the bound, whatever their shape") {
  const OptimizerSpec spec = optimizer("muon");
  using Sizes = std::vector<int64_t>;
  const Sizes shape = GENERATE(Sizes{16, 4}, Sizes{3, 2, 2, 2}, Sizes{5, 5});
  at::Tensor parameter = at::zeros(shape, at::kDouble);
  GrowthBound bound(std::vector<OptimizerGroup>{{spec}}, 0, tallest_of({parameter}));
  bound.begin(0);
  bound.add_step(kRate);
  const double most = bound.value() / 1.01 / 10 / kRate;
  CHECK(tallest_of({parameter, at::zeros({100})}) == Approx(shape.size() == 2 && shape[0] == 16 ? 2 : 1));
  const auto made = make_optimizer(spec, {parameter});
  double moved = 0;
  for (int step = 0; step < 60; ++step) {
    const at::Tensor gradient = at::arange(parameter.numel(), at::kDouble).mul(step).sin().view(shape);
    if (step == 0) gradient.view(-1)[0].fill_(1);  // one singular value, and one element that has all of it
    parameter.mutable_grad() = gradient;
    const at::Tensor before = parameter.clone();
    made->step(kRate);
    const double largest = (parameter - before).abs().max().item<double>() / kRate;
    CHECK(largest <= most * 1.0001);
    moved = std::max(moved, largest);
  }
  CHECK(moved >= most * 0.5);
}

TEST_CASE("clipped gradients and weight decay move sgd no further than the bound") {
  OptimizerSpec spec = optimizer("sgd");
  const double momentum = GENERATE(0.0, 0.9);
  const bool nesterov = GENERATE(false, true);
  spec.own = SgdFields{.momentum = momentum, .nesterov = nesterov && momentum != 0};
  const double most = allowed(spec, /*clip_norm=*/2);
  const double moved = movement(spec, [](int) { return 2.0; });
  CHECK(moved <= most * 1.0001);
  CHECK(moved >= most * 0.99);

  spec.weight_decay = 0.5;  // of a weight that is pushed away: it moves as far as both together
  at::Tensor parameter = at::full({1}, 3.0, at::kDouble);
  const auto made = make_optimizer(spec, {parameter});
  GrowthBound bound(spec, 2);
  bound.begin(3);
  for (int step = 0; step < kSteps; ++step) {
    parameter.mutable_grad() = at::full({1}, step < kSteps / 2 ? -2.0 : 2.0, at::kDouble);
    made->step(kRate);
    bound.add_step(kRate);
    CHECK(parameter.abs().item<double>() <= bound.value());
  }
}

TEST_CASE("decoupled decay counts where it makes weights larger") {
  OptimizerSpec spec = optimizer(GENERATE("adamw", "lion"));
  spec.weight_decay = 400;  // times the rate: 4
  GrowthBound bound(spec);
  bound.begin(2);
  bound.add_step(kRate);
  CHECK(bound.value() > 3 * 2);
  spec.weight_decay = 1;
  GrowthBound shrinking(spec);
  shrinking.begin(2);
  shrinking.add_step(kRate);
  CHECK(shrinking.value() < 3);
}

TEST_CASE("where a step has no bound, a thousandfold is too much") {
  OptimizerSpec fading = optimizer("adam");
  fading.own = AdamFields{.beta1 = 0.9, .beta2 = 0.5};  // the mean square forgets faster than the mean
  OptimizerSpec tiny = optimizer("rmsprop");
  tiny.own = RmspropFields{.epsilon = 1e-20};
  for (const OptimizerSpec& spec : {optimizer("sgd"), fading, tiny}) {
    INFO(spec.kind);
    GrowthBound bound(spec);
    bound.begin(0.01);
    for (int step = 0; step < 1000; ++step) bound.add_step(1);
    CHECK(bound.value() == Approx(1010));
    bound.begin(20);
    CHECK(bound.value() == Approx(20200));
  }
}

}  // namespace
}  // namespace dtrain
