#include "optim/optimizer.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "optim/optimizer_specs.h"
#include "optim/weight_average.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

// A kernel, a bias, another kernel; float64.
struct Parameters {
  std::vector<at::Tensor> list = {at::full({2, 2}, 1.0, at::kDouble), at::full({2}, 2.0, at::kDouble),
                                  at::full({1, 2}, 3.0, at::kDouble)};
  void set_gradients(double value) {
    for (at::Tensor& parameter : list) parameter.mutable_grad() = at::full_like(parameter, value);
  }
};

OptimizerSpec decayed_spec_of(const std::string& kind, double weight_decay = 0.1) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.weight_decay = weight_decay;
  return spec;
}

std::vector<bool> decayed(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) {
  std::vector<bool> all;
  for (const at::Tensor& parameter : parameters) all.push_back(decays(spec, parameter));
  return all;
}

TEST_CASE("biases and the scales of norms do not decay, unless the spec says so") {
  OptimizerSpec spec = decayed_spec_of("sgd");
  CHECK(decayed(spec, Parameters().list) == std::vector<bool>{true, false, true});
  spec.weight_decay_exclude = "none";
  CHECK(decayed(spec, Parameters().list) == std::vector<bool>{true, true, true});
}

// PyTorch: optim([{"params": [kernels]}, {"params": [bias], "weight_decay": 0}], weight_decay=0.1) gives each
// group what an optimizer of its own with that decay gives it.
TEST_CASE("each group trains as if it were alone, and what it remembers stands in the parameters' order") {
  const std::string kind = GENERATE(from_range(optimizer_kinds().built));
  OptimizerSpec spec = decayed_spec_of(kind);
  set_kind(spec, kind);
  Parameters together, apart;
  const auto both = make_optimizer(spec, together.list, decayed(spec, together.list));
  const auto kernels = make_optimizer(spec, {apart.list[0], apart.list[2]});
  const auto bias = make_optimizer(of_excluded(spec), {apart.list[1]});
  for (int step = 1; step <= 5; ++step) {
    for (Parameters* parameters : {&together, &apart}) parameters->set_gradients(0.3 * step);
    for (Optimizer* optimizer : {both.get(), kernels.get(), bias.get()}) optimizer->step(0.1);
  }
  for (size_t i = 0; i < 3; ++i) CHECK(at::equal(together.list[i], apart.list[i]));
  CHECK(both->steps() == 5);
  const auto all = both->memory(), first = kernels->memory(), second = bias->memory();
  REQUIRE(all.size() == first.size());
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].name == first[i].name);
    REQUIRE(all[i].tensors.size() == 3);
    CHECK(at::equal(all[i].tensors[0], first[i].tensors[0]));
    CHECK(at::equal(all[i].tensors[1], second[i].tensors[0]));
    CHECK(at::equal(all[i].tensors[2], first[i].tensors[1]));
  }
}

TEST_CASE("decoupled decay shrinks a kernel without a gradient by 1 - rate x decay, and no bias") {
  const OptimizerSpec spec = decayed_spec_of("adamw", 0.5);
  Parameters parameters;
  const auto optimizer = make_optimizer(spec, parameters.list, decayed(spec, parameters.list));
  parameters.set_gradients(0);
  optimizer->step(0.1);
  CHECK(parameters.list[0].max().item<double>() == Approx(0.95).epsilon(1e-14));
  CHECK(parameters.list[1].min().item<double>() == 2.0);
  CHECK(parameters.list[2].max().item<double>() == Approx(3 * 0.95).epsilon(1e-14));
}

TEST_CASE("where all decay, none does, or there is no decay, one optimizer does") {
  Parameters parameters;
  parameters.set_gradients(1);
  const OptimizerSpec spec = decayed_spec_of("sgd", 0.1);
  make_optimizer(spec, parameters.list, {false, false, false})->step(0.1);
  CHECK(parameters.list[0].max().item<double>() == Approx(0.9).epsilon(1e-14));
  make_optimizer(spec, parameters.list, {true, true, true})->step(0.1);
  CHECK(parameters.list[0].max().item<double>() == Approx(0.9 - 0.1 * (1 + 0.09)).epsilon(1e-14));
  CHECK_NOTHROW(make_optimizer(decayed_spec_of("adam", 0), parameters.list, {true, false, true})->step(0.1));
}

// As gradients arrive from other hosts: some are there before others.
TEST_CASE("parameters updated in lots, in another order, are those of one update, bit for bit") {
  const std::string kind = GENERATE(from_range(optimizer_kinds().built));
  const std::vector<bool> decayed = {true, GENERATE(true, false), true};
  OptimizerSpec spec = decayed_spec_of(kind);
  set_kind(spec, kind);
  Parameters at_once, in_lots;
  const auto make = [&](const Parameters& parameters) {
    return std::make_unique<WeightAverage>(make_optimizer(spec, parameters.list, decayed), parameters.list,
                                           0.9);
  };
  const auto whole = make(at_once), divided = make(in_lots);
  CHECK(divided->size() == 3);
  for (int step = 1; step <= 5; ++step) {
    for (Parameters* parameters : {&at_once, &in_lots}) parameters->set_gradients(0.3 * step);
    whole->step(0.1);
    divided->begin_step(0.1);
    divided->update({2, 1});
    divided->update({0});
  }
  for (size_t i = 0; i < 3; ++i) CHECK(at::equal(at_once.list[i], in_lots.list[i]));
  const auto expected = whole->memory(), got = divided->memory();
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    for (size_t j = 0; j < 3; ++j) CHECK(at::equal(got[i].tensors[j], expected[i].tensors[j]));
  }
}

// Layer-wise decay, compared with an optimizer at a rate of its own for each parameter. Decoupled decay goes
// with the rate, so it falls as well.
TEST_CASE("with factors, each parameter trains as if alone at its factor of the rate") {
  const std::string kind = GENERATE(from_range(optimizer_kinds().built));
  TrainSpec train;
  train.optimizer = decayed_spec_of(kind);
  set_kind(train.optimizer, kind);
  const std::vector<double> factors = {0.25, 0.5, 1};
  Parameters together, apart;
  std::vector<std::pair<std::string, at::Tensor>> whole;
  std::vector<std::unique_ptr<Optimizer>> alone;
  for (size_t i = 0; i < 3; ++i) {
    whole.emplace_back("layer" + std::to_string(i) + ".x", together.list[i]);
    alone.push_back(make_optimizer(i == 1 ? of_excluded(train.optimizer) : train.optimizer, {apart.list[i]}));
  }
  const TrainingOptimizer made = make_training_optimizer(train, together.list, whole, factors);
  for (int step = 1; step <= 5; ++step) {
    for (Parameters* parameters : {&together, &apart}) parameters->set_gradients(0.3 * step);
    made.optimizer->step(0.1 / step);
    for (size_t i = 0; i < 3; ++i) alone[i]->step(factors[i] * (0.1 / step));
  }
  for (size_t i = 0; i < 3; ++i) CHECK(at::equal(together.list[i], apart.list[i]));
  for (const OptimizerMemory& memory : made.optimizer->memory()) CHECK(memory.tensors.size() == 3);
}

// After n steps with a gradient of 1: SGD has moved by n rate, and Adam, whose means are then both 1, too.
TEST_CASE("with factors, sgd and adam move by their closed forms") {
  TrainSpec train;
  train.optimizer.kind = GENERATE("sgd", "adam");
  Parameters parameters;
  const std::vector<at::Tensor> first = {parameters.list[0].clone(), parameters.list[1].clone(),
                                         parameters.list[2].clone()};
  const TrainingOptimizer made = make_training_optimizer(
      train, parameters.list,
      {{"a.x", parameters.list[0]}, {"b.x", parameters.list[1]}, {"c.x", parameters.list[2]}},
      {0.5625, 0.75, 1});
  parameters.set_gradients(1);
  for (int step = 0; step < 10; ++step) made.optimizer->step(0.01);
  const std::vector<double> moved = {0.05625, 0.075, 0.1};
  for (size_t i = 0; i < 3; ++i)
    CHECK((first[i] - parameters.list[i] - moved[i]).abs().max().item<double>() < 1e-8);
}

}  // namespace
}  // namespace dtrain
