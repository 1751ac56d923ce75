// lars and lamb against the papers' algorithms, and over parts of parameters against whole ones.
#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "optim/optimizer.h"
#include "optim/optimizer_specs.h"
#include "optim/weight_average.h"

namespace dtrain {
namespace {

constexpr int kScaledSteps = 100;
constexpr double kScaledRate = 0.02;

using Tensors = std::vector<at::Tensor>;

// A kernel, a bias, a convolution's kernel, and one that is all 0, whose ratio is 1.
Tensors scaled_parameters() {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  return {at::arange(12, options).view({4, 3}).sin(), at::arange(5, options).cos(),
          at::arange(24, options).view({2, 3, 2, 2}).cos().mul(3), at::zeros({2, 2}, options)};
}

// Of step `step`, from 1; all 0 in the third one.
at::Tensor gradient_of(const at::Tensor& parameter, int step) {
  const at::Tensor numbers = at::arange(parameter.numel(), at::kDouble).view(parameter.sizes());
  return step == 3 ? at::zeros_like(numbers) : (numbers * (1 + 0.1 * step) + step).sin() + parameter * 0.1;
}

double length(const at::Tensor& tensor) { return std::sqrt(tensor.square().sum().item<double>()); }

// What one parameter comes to by a paper's algorithm; `scales`: by the ratio and with decay.
struct Reference {
  at::Tensor parameter, first, second;
  bool scales;
};

// You, Gitman and Ginsburg 2017, algorithm 1, with a constant rate.
void reference_lars(Reference& of, const LarsFields& own, double decay, int step) {
  const at::Tensor gradient = gradient_of(of.parameter, step);
  if (!of.scales) decay = 0;
  const double weight = length(of.parameter), slope = length(gradient);
  double local = own.trust_coefficient * weight / (slope + decay * weight + own.epsilon);
  if (!of.scales || weight == 0 || slope == 0) local = 1;
  of.first = of.first * own.momentum + kScaledRate * local * (gradient + decay * of.parameter);
  of.parameter = of.parameter - of.first;
}

// You et al. 2020, algorithm 2, with phi(z) = z.
void reference_lamb(Reference& of, const LambFields& own, double decay, int step) {
  const at::Tensor gradient = gradient_of(of.parameter, step);
  of.first = own.beta1 * of.first + (1 - own.beta1) * gradient;
  of.second = own.beta2 * of.second + (1 - own.beta2) * gradient * gradient;
  const at::Tensor mean = of.first / (1 - std::pow(own.beta1, step));
  const at::Tensor square = of.second / (1 - std::pow(own.beta2, step));
  at::Tensor change = mean / (square.sqrt() + own.epsilon);
  if (of.scales) change = change + decay * of.parameter;
  const double weight = length(of.parameter), moved = length(change);
  const double ratio = of.scales && weight > 0 && moved > 0 ? weight / moved : 1;
  of.parameter = of.parameter - kScaledRate * ratio * change;
}

OptimizerSpec scaled_spec(const std::string& kind, double decay) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.weight_decay = decay;
  if (kind == "lars") spec.own = LarsFields{.momentum = 0.8, .trust_coefficient = 0.7, .epsilon = 1e-3};
  if (kind == "lamb") spec.own = LambFields{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4};
  return spec;
}

std::vector<bool> kernels_of(const Tensors& parameters, const OptimizerSpec& spec) {
  std::vector<bool> all;
  for (const at::Tensor& parameter : parameters) all.push_back(decays(spec, parameter));
  return all;
}

void check_close(const at::Tensor& got, const at::Tensor& expected) {
  CHECK((got - expected).abs().max().item<double>() < 1e-10);
}

TEST_CASE("lars and lamb follow the papers, and leave biases without ratio and decay") {
  const std::string kind = GENERATE("lars", "lamb");
  OptimizerSpec spec = scaled_spec(kind, GENERATE(0.0, 0.1));
  spec.weight_decay_exclude = GENERATE("biases_and_norms", "none");
  INFO(kind << " " << spec.weight_decay << " " << spec.weight_decay_exclude);
  Tensors parameters = scaled_parameters();
  std::vector<Reference> references;
  for (const at::Tensor& parameter : parameters)
    references.push_back({parameter.clone(), at::zeros_like(parameter), at::zeros_like(parameter),
                          spec.weight_decay_exclude == "none" || parameter.dim() > 1});
  const auto optimizer = make_optimizer(spec, parameters, kernels_of(parameters, spec));
  for (int step = 1; step <= kScaledSteps; ++step) {
    Tensors gradients;
    for (at::Tensor& parameter : parameters) {
      gradients.push_back(gradient_of(parameter, step));
      parameter.mutable_grad() = gradients.back().clone();
    }
    optimizer->step(kScaledRate);
    for (size_t i = 0; i < parameters.size(); ++i)
      CHECK(parameters[i].grad().equal(gradients[i]));  // which others may read after the step
    for (Reference& each : references) {
      if (kind == "lars") reference_lars(each, spec.own.get<LarsFields>(), spec.weight_decay, step);
      if (kind == "lamb") reference_lamb(each, spec.own.get<LambFields>(), spec.weight_decay, step);
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) check_close(parameters[i], references[i].parameter);
}

// Each half of each parameter is a parameter of its own, as where replicas divide them.
Tensors halves_of(const Tensors& parameters) {
  Tensors halves;
  for (const at::Tensor& parameter : parameters) {
    const int64_t middle = parameter.numel() / 2;
    halves.push_back(parameter.view(-1).narrow(0, 0, middle));
    halves.push_back(parameter.view(-1).narrow(0, middle, parameter.numel() - middle));
  }
  return halves;
}

TEST_CASE("with the norms of whole parameters, an optimizer of parts makes the steps of one of wholes") {
  const std::string kind = GENERATE("lars", "lamb");
  const bool told = GENERATE(true, false);
  TrainSpec train;
  train.optimizer = scaled_spec(kind, 0.1);
  train.ema.decay = 0.9;
  train.optimizers = {{"other.*", {.kind = "sgd"}}};  // of the bias
  CHECK(takes_norms(train));
  const std::vector<std::string> names = {"one.weight", "other.bias", "two.weight", "three.weight"};
  Tensors whole = scaled_parameters();
  const Tensors divided = scaled_parameters();
  Tensors parts = halves_of(divided);
  std::vector<std::pair<std::string, at::Tensor>> of_whole, of_parts;
  for (size_t i = 0; i < whole.size(); ++i) {
    of_whole.emplace_back(names[i], whole[i]);
    for (int half = 0; half < 2; ++half) of_parts.emplace_back(names[i], whole[i]);
  }
  const TrainingOptimizer one = make_training_optimizer(train, whole, of_whole);
  const TrainingOptimizer other = make_training_optimizer(train, parts, of_parts);
  for (int step = 1; step <= 10; ++step) {
    for (size_t i = 0; i < whole.size(); ++i) {
      whole[i].mutable_grad() = gradient_of(whole[i], step);
      const Tensors gradients = halves_of({gradient_of(divided[i], step)});
      for (size_t half = 0; half < 2; ++half) parts[2 * i + half].mutable_grad() = gradients[half];
    }
    one.optimizer->step(kScaledRate);
    other.optimizer->begin_step(kScaledRate);
    if (told) {
      const Tensors squares = other.optimizer->measure();
      REQUIRE(squares.size() == parts.size());
      for (size_t i = 0; i < parts.size(); i += 2) {
        const at::Tensor sum = squares[i] + squares[i + 1];
        squares[i].copy_(sum);
        squares[i + 1].copy_(sum);
      }
    }
    other.optimizer->update();
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    INFO(names[i]);
    const double difference = (whole[i] - divided[i]).abs().max().item<double>();
    if (told || names[i] == "other.bias") CHECK(difference < 1e-12);
    if (!told && names[i] == "one.weight") CHECK(difference > 1e-4);
  }
}

TEST_CASE("only lars and lamb take norms, as the only optimizer or among others") {
  TrainSpec train;
  for (const OptimizerKind& kind : all_optimizers()) {
    train.optimizer.kind = kind.name;
    CHECK(takes_norms(train) == (kind.name == "lars" || kind.name == "lamb"));
  }
  train.optimizer.kind = "sgd";
  train.optimizers = {{"head.*", {.kind = "lamb"}}};
  CHECK(takes_norms(train));
}

}  // namespace
}  // namespace dtrain
