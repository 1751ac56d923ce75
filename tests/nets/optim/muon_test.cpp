// muon against torch.optim.Muon, what it does to singular values, and adamw.
#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "optim/muon_values.h"
#include "optim/optimizer.h"
#include "optim/optimizer_specs.h"

namespace dtrain {
namespace {

constexpr double kMuonRate = 0.03;

using Tensors = std::vector<at::Tensor>;

// A high kernel, a bias, a convolution's kernel, a square one.
Tensors muon_parameters() {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  return {at::arange(12, options).view({4, 3}).sin(), at::arange(5, options).cos(),
          at::arange(24, options).view({2, 3, 2, 2}).cos().mul(3), at::arange(9, options).view({3, 3}).tan()};
}

at::Tensor gradient_at(const at::Tensor& parameter, int step) {
  const at::Tensor numbers = at::arange(parameter.numel(), at::kDouble).view(parameter.sizes());
  return (numbers * (1 + 0.1 * step) + step).sin() + parameter * 0.1;
}

OptimizerSpec muon_spec(const MuonFields& own, double decay) {
  OptimizerSpec spec;
  spec.kind = "muon";
  spec.learning_rate = 0.02;
  spec.weight_decay = decay;
  spec.own = own;
  return spec;
}

std::vector<bool> decaying(const Tensors& parameters, const OptimizerSpec& spec) {
  std::vector<bool> all;
  for (const at::Tensor& parameter : parameters) all.push_back(decays(spec, parameter));
  return all;
}

// Five steps of 3.4445 s - 4.775 s^3 + 2.0315 s^5 on each singular value, from its share of their norm.
at::Tensor by_singular_values(const at::Tensor& matrix) {
  const auto [left, values, right] = at::linalg_svd(matrix, /*full_matrices=*/false);
  at::Tensor s = values / (values.norm() + 1e-7);
  for (int step = 0; step < 5; ++step) s = 3.4445 * s - 4.775 * s.pow(3) + 2.0315 * s.pow(5);
  return at::matmul(left * s, right);
}

// With the starts and gradients of tests/scripts/muon_reference.py.
TEST_CASE("100 steps of muon are those of torch.optim.Muon in float64") {
  const MuonValues expected = GENERATE(from_range(kMuonValues));
  INFO(expected.nesterov);
  const std::vector<std::vector<int64_t>> shapes = {{5, 3}, {2, 3, 2, 2}, {4, 4}};
  Tensors matrices, squares;
  for (const std::vector<int64_t>& shape : shapes) {
    squares.push_back(at::arange(c10::multiply_integers(shape), at::kDouble).square().view(shape));
    matrices.push_back((squares.back() * 0.7).cos());
  }
  const auto optimizer = make_optimizer(
      muon_spec({.momentum = 0.9, .nesterov = expected.nesterov}, expected.weight_decay), matrices);
  for (int step = 1; step <= 100; ++step) {
    for (size_t i = 0; i < matrices.size(); ++i)
      matrices[i].mutable_grad() = ((squares[i] * 0.37 + step * 0.1).sin() + matrices[i] * 0.1) * 1e6;
    optimizer->step(0.02);
  }
  Tensors flat;
  for (const at::Tensor& matrix : matrices) flat.push_back(matrix.flatten());
  const at::Tensor difference = at::cat(flat) - at::tensor(expected.parameters, at::kDouble);
  CHECK(difference.abs().max().item<double>() < 1e-10);
}

TEST_CASE("muon turns the singular values of matrices, and leaves the rest to adamw") {
  MuonFields own = {.momentum = 0.9, .adam_learning_rate = 0.01, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-4};
  own.nesterov = GENERATE(true, false);
  OptimizerSpec spec = muon_spec(own, GENERATE(0.0, 0.1));
  spec.weight_decay_exclude = GENERATE("biases_and_norms", "none");
  INFO(own.nesterov << " " << spec.weight_decay << " " << spec.weight_decay_exclude);
  Tensors parameters = muon_parameters(), expected = muon_parameters(), averages;
  for (const at::Tensor& parameter : expected) averages.push_back(at::zeros_like(parameter));
  OptimizerSpec rest = spec;
  rest.kind = "adamw";
  rest.own = AdamFields{.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-4};
  if (spec.weight_decay_exclude != "none") rest.weight_decay = 0;
  const auto adamw = make_optimizer(rest, {expected[1]});
  const auto optimizer = make_optimizer(spec, parameters, decaying(parameters, spec));
  for (int step = 1; step <= 10; ++step) {
    Tensors gradients;
    for (size_t i = 0; i < parameters.size(); ++i) {
      gradients.push_back(gradient_at(parameters[i], step));
      parameters[i].mutable_grad() = gradients.back().clone();
      const at::Tensor gradient = gradient_at(expected[i], step);
      if (expected[i].dim() == 1) {
        expected[i].mutable_grad() = gradient;
        adamw->step(kMuonRate * 0.01 / 0.02);
        continue;
      }
      averages[i] = averages[i] * 0.9 + gradient * 0.1;
      const at::Tensor update = own.nesterov ? averages[i] * 0.9 + gradient * 0.1 : averages[i];
      const at::Tensor matrix = update.reshape({update.size(0), -1});
      const double rows = static_cast<double>(matrix.size(0)), columns = static_cast<double>(matrix.size(1));
      const at::Tensor change = by_singular_values(matrix) * std::sqrt(std::max(1.0, rows / columns));
      expected[i] = expected[i] - kMuonRate * (change.view_as(update) + spec.weight_decay * expected[i]);
    }
    optimizer->step(kMuonRate);
    for (size_t i = 0; i < parameters.size(); ++i) CHECK(parameters[i].grad().equal(gradients[i]));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    INFO(i);
    CHECK((parameters[i] - expected[i]).abs().max().item<double>() < 1e-9);
    CHECK((parameters[i] - muon_parameters()[i]).abs().max().item<double>() > 0.01);
  }
}

TEST_CASE("class tokens and positional embeddings are no matrices to muon") {
  const at::Tensor token = at::ones({1, 3, 4}, at::kDouble), expected = token.clone();
  OptimizerSpec adamw;
  adamw.kind = "adamw";
  adamw.own = AdamFields{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-10};
  for (const at::Tensor& tensor : {token, expected})
    tensor.mutable_grad() = at::arange(12, at::kDouble).view({1, 3, 4});
  make_optimizer(muon_spec({.adam_learning_rate = 0.01}, 0), {token})->step(0.02);
  make_optimizer(adamw, {expected})->step(0.01);
  CHECK((token - expected).abs().max().item<double>() < 1e-15);
  CHECK(token.min().item<double>() < 0.991);
}

TEST_CASE("an update of muon has singular values near 1, times the root of rows / columns, at any scale") {
  const double scale = GENERATE(1e-3, 1.0, 1e4);
  const at::Tensor start = at::zeros({8, 2}, at::kFloat);
  at::Tensor matrix = start.clone();
  matrix.mutable_grad() = at::arange(16, at::kFloat).view({8, 2}).mul(7).sin().mul(scale);
  make_optimizer(muon_spec({}, 0), {matrix})->step(1);
  const at::Tensor values = at::linalg_svdvals(matrix) / 2;
  CHECK(values.min().item<double>() > 0.65);
  CHECK(values.max().item<double>() < 1.22);
}

TEST_CASE("a matrix without a gradient stays, or only decays") {
  at::Tensor matrix = at::ones({3, 2}, at::kDouble);
  matrix.mutable_grad() = at::zeros({3, 2}, at::kDouble);
  make_optimizer(muon_spec({}, 0), {matrix})->step(0.1);
  CHECK(matrix.equal(at::ones({3, 2}, at::kDouble)));
  make_optimizer(muon_spec({}, 0.5), {matrix})->step(0.1);
  CHECK(matrix.min().item<double>() == Approx(0.95).epsilon(1e-14));
  CHECK(matrix.max().item<double>() == Approx(0.95).epsilon(1e-14));
}

TEST_CASE("only muon takes whole parameters, as the only optimizer or among others") {
  TrainSpec train;
  for (const OptimizerKind& kind : all_optimizers()) {
    train.optimizer.kind = kind.name;
    CHECK(takes_whole(train) == (kind.name == "muon"));
  }
  train.optimizer.kind = "sgd";
  train.optimizers = {{"head.*", {.kind = "muon"}}};
  CHECK(takes_whole(train));
}

}  // namespace
}  // namespace dtrain
