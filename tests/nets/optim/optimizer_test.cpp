#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "catch.h"
#include "core/error.h"
#include "optim/list_optimizer.h"
#include "optim/optimizer_specs.h"
#include "spec/fields.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// One float64 parameter of two numbers with a gradient of our choice.
struct Fixture {
  at::Tensor parameter = at::tensor({1.0, -2.0}, at::kDouble).requires_grad_();
  void set_gradient(double first, double second) {
    parameter.mutable_grad() = at::tensor({first, second}, at::kDouble);
  }
  double value(int64_t i) const { return parameter.detach()[i].item<double>(); }
};

OptimizerSpec spec_of(const std::string& kind) {
  OptimizerSpec spec;
  spec.kind = kind;
  return spec;
}

TEST_CASE("plain SGD subtracts the scaled gradient") {
  Fixture f;
  const auto optimizer = make_optimizer(spec_of("sgd"), {f.parameter});
  f.set_gradient(0.5, 1.0);
  optimizer->step(0.1);
  CHECK(f.value(0) == Approx(1.0 - 0.05).epsilon(1e-14));
  CHECK(f.value(1) == Approx(-2.0 - 0.1).epsilon(1e-14));
  CHECK(optimizer->memory().empty());
}

TEST_CASE("momentum and Nesterov momentum follow their recurrences") {
  const bool nesterov = GENERATE(false, true);
  OptimizerSpec spec = spec_of("sgd");
  spec.own = SgdFields{.momentum = 0.9, .nesterov = nesterov};
  spec.weight_decay = 0.01;
  Fixture f;
  const auto optimizer = make_optimizer(spec, {f.parameter});
  double p = 1.0;
  double v = 0;
  for (int step = 0; step < 5; ++step) {
    const double raw = 0.3 + 0.1 * step;
    f.set_gradient(raw, 0);
    optimizer->step(0.1);
    const double g = raw + 0.01 * p;
    v = step == 0 ? g : 0.9 * v + g;
    p -= 0.1 * (nesterov ? g + 0.9 * v : v);
  }
  CHECK(f.value(0) == Approx(p).epsilon(1e-14));
}

// Kingma and Ba 2015, algorithm 1.
double adam_by_hand(int steps, double learning_rate, double decay, bool decoupled) {
  double p = 1.0;
  double m = 0;
  double v = 0;
  for (int t = 1; t <= steps; ++t) {
    double g = 0.3 + 0.1 * t;
    if (decoupled) p -= learning_rate * decay * p;
    if (!decoupled) g += decay * p;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double m_hat = m / (1 - std::pow(0.9, t));
    const double v_hat = v / (1 - std::pow(0.999, t));
    p -= learning_rate * m_hat / (std::sqrt(v_hat) + 1e-8);
  }
  return p;
}

TEST_CASE("Adam and AdamW follow the papers") {
  const std::string kind = GENERATE("adam", "adamw");
  OptimizerSpec spec = spec_of(kind);
  spec.weight_decay = 0.1;
  Fixture f;
  const auto optimizer = make_optimizer(spec, {f.parameter});
  for (int t = 1; t <= 6; ++t) {
    f.set_gradient(0.3 + 0.1 * t, 0);
    optimizer->step(0.01);
  }
  CHECK(f.value(0) == Approx(adam_by_hand(6, 0.01, 0.1, kind == "adamw")).epsilon(1e-12));
}

TEST_CASE("RMSprop follows its formula, with and without momentum") {
  const double momentum = GENERATE(0.0, 0.9);
  OptimizerSpec spec = spec_of("rmsprop");
  spec.weight_decay = 0.1;
  spec.own = RmspropFields{.momentum = momentum, .decay = 0.95};
  Fixture f;
  const auto optimizer = make_optimizer(spec, {f.parameter});
  double p = f.value(0);
  double square_average = 0;
  double kept = 0;
  for (int t = 1; t <= 6; ++t) {
    const double g = 0.3 + 0.1 * t + 0.1 * p;
    square_average = 0.95 * square_average + 0.05 * g * g;
    kept = momentum * kept + g / (std::sqrt(square_average) + 1e-8);
    p -= 0.01 * kept;
    f.set_gradient(0.3 + 0.1 * t, 0);
    optimizer->step(0.01);
  }
  CHECK(f.value(0) == Approx(p).epsilon(1e-12));
  CHECK(optimizer->memory().size() == (momentum == 0 ? 1 : 2));
}

TEST_CASE("Lion follows the paper") {
  OptimizerSpec spec = spec_of("lion");
  spec.weight_decay = 0.1;
  spec.own = LionFields{.beta1 = 0.8, .beta2 = 0.95};
  Fixture f;
  const auto optimizer = make_optimizer(spec, {f.parameter});
  double p = f.value(0);
  double m = 0;
  for (int t = 1; t <= 6; ++t) {
    const double g = t < 4 ? 0.3 + 0.1 * t : -0.1 * t;  // the mean outweighs the first of the other sign
    const double c = 0.8 * m + 0.2 * g;
    p -= 0.01 * ((c > 0 ? 1 : -1) + 0.1 * p);
    m = 0.95 * m + 0.05 * g;
    f.set_gradient(g, 0);
    optimizer->step(0.01);
  }
  CHECK(f.value(0) == Approx(p).epsilon(1e-12));
  CHECK(f.value(1) == Approx(-2 * std::pow(1 - 0.001, 6)).epsilon(1e-12));  // no gradient: it only decays
  REQUIRE(optimizer->memory().size() == 1);
  CHECK(optimizer->memory()[0].tensors[0][0].item<double>() == Approx(m).epsilon(1e-12));
}

TEST_CASE("an optimizer that gets back what another remembers goes on like it, bit for bit") {
  OptimizerSpec spec;
  set_kind(spec, GENERATE(from_range(optimizer_kinds().built)));
  const auto train = [](Optimizer& optimizer, Fixture& f, int from, int to) {
    for (int t = from; t < to; ++t) {
      f.set_gradient(0.3 + 0.1 * t, -0.7 / t);
      optimizer.step(0.01);
    }
  };
  Fixture whole, first, second;
  const auto undisturbed = make_optimizer(spec, {whole.parameter});
  train(*undisturbed, whole, 1, 9);

  const auto before = make_optimizer(spec, {first.parameter});
  train(*before, first, 1, 5);
  CHECK(before->steps() == 4);
  const at::NoGradGuard no_grad;
  second.parameter.copy_(first.parameter);
  const auto after = make_optimizer(spec, {second.parameter});
  const auto from = before->memory(), to = after->memory();
  REQUIRE(from.size() == to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    CHECK(from[i].name == to[i].name);
    to[i].tensors.at(0).copy_(from[i].tensors.at(0));
  }
  after->set_steps(before->steps());
  train(*after, second, 5, 9);
  CHECK(at::equal(second.parameter, whole.parameter));
  CHECK_FALSE(at::equal(second.parameter, first.parameter));
}

// 0.1 as a float32 differs by 1.5e-9, which 24 steps would show.
TEST_CASE("the learning rate of float64 has all of its digits, on any device") {
  CHECK(rate_type(at::kCUDA, at::kDouble) == at::kDouble);
  CHECK(rate_type(at::kCUDA, at::kFloat) == at::kFloat);
  OptimizerSpec spec;
  set_kind(spec, "sgd", /*momentum=*/0.9);
  Fixture f;
  const auto optimizer = make_optimizer(spec, {f.parameter});
  double p = 1.0, v = 0;
  for (int step = 0; step < 24; ++step) {
    f.set_gradient(0.3 + 0.1 * step, 0);
    optimizer->step(0.1 / (1 + step));
    v = 0.9 * v + 0.3 + 0.1 * step;
    p -= 0.1 / (1 + step) * v;
  }
  CHECK(f.value(0) == Approx(p).epsilon(1e-14));
}

TEST_CASE("weight decay of float64 is that of the papers, decoupled or not, at any rate") {
  for (const bool decoupled : {false, true}) {
    OptimizerSpec spec = spec_of(decoupled ? "adamw" : "adam");
    spec.weight_decay = 0.1;
    const double rate = 1.0 / 3;
    Fixture f;
    const auto optimizer = make_optimizer(spec, {f.parameter});
    for (int t = 1; t <= 24; ++t) {
      f.set_gradient(0.3 + 0.1 * t, 0);
      optimizer->step(rate);
    }
    CHECK(f.value(0) == Approx(adam_by_hand(24, rate, 0.1, decoupled)).epsilon(1e-13));
  }
}

// Three steps of float32 parameters that are large enough to be shared out among threads.
std::vector<at::Tensor> updated_by(const std::string& kind, int threads) {
  at::set_num_threads(threads);
  OptimizerSpec spec;
  set_kind(spec, kind);
  spec.weight_decay = 0.01;
  std::vector<at::Tensor> parameters;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{257, 301}, {96, 64, 3, 3}, {70001}}) {
    const at::Tensor numbers = at::arange(c10::multiply_integers(shape), at::kFloat).view(shape);
    parameters.push_back((numbers * 0.7).sin());
    parameters.back().mutable_grad() = (numbers * 1.3).cos();
  }
  const auto optimizer = make_optimizer(spec, parameters);
  for (int step = 0; step < 3; ++step) optimizer->step(0.01);
  parameters.push_back(norms_of(parameters));
  return parameters;
}

TEST_CASE("the number of threads changes no bit of an update or a norm") {
  const int before = at::get_num_threads();
  for (const OptimizerKind& kind : all_optimizers()) {
    INFO(kind.name);
    const auto expected = updated_by(kind.name, 1);
    for (const int threads : {2, 3}) {
      const auto found = updated_by(kind.name, threads);
      for (size_t i = 0; i < expected.size(); ++i) CHECK(found[i].equal(expected[i]));
    }
  }
  at::set_num_threads(before);
}

TEST_CASE("an unknown optimizer is refused") { CHECK_THROWS_AS(make_optimizer(spec_of("sdg"), {}), Error); }

TEST_CASE("a small model's lists are cut into as many pieces as one launch takes") {
  const std::vector<at::Tensor> parameters = {at::arange(200704), at::arange(256),  at::arange(32768),
                                              at::arange(128),    at::arange(1280), at::arange(10)};
  const int64_t size = Pieces::size_for(235146, 6);
  const Pieces pieces(parameters, size);
  const std::vector<at::Tensor> cut = pieces.of(parameters);
  CHECK(cut.size() <= 36);
  CHECK(cut.size() > 30);
  CHECK(at::equal(at::cat(cut), at::cat(parameters)));
  CHECK(cut.front().data_ptr() == parameters.front().data_ptr());  // views
  std::vector<at::Tensor> numbers;
  for (int64_t i = 0; i < 6; ++i) numbers.push_back(at::scalar_tensor(i));
  const std::vector<at::Tensor> repeated = pieces.repeated(numbers);
  REQUIRE(repeated.size() == cut.size());
  CHECK(repeated.front().is_same(numbers[0]));
  CHECK(repeated.back().is_same(numbers[5]));
  // An update in pieces is the same one.
  const auto updated = [&](int64_t size_of_piece) {
    std::vector<at::Tensor> weights, gradients, averages, squares, counts;
    for (const at::Tensor& parameter : parameters) {
      weights.push_back(parameter.to(at::kFloat).sin());
      gradients.push_back(parameter.to(at::kFloat).cos());
      averages.push_back(at::zeros_like(weights.back()));
      squares.push_back(at::zeros_like(weights.back()));
      counts.push_back(at::ones({}));
    }
    const Pieces all(parameters, size_of_piece);
    at::_fused_adam_(all.of(weights), all.of(gradients), all.of(averages), all.of(squares), {},
                     all.repeated(counts), 0.1, 0.9, 0.999, 0.0, 1e-8, false, false, {}, {});
    return at::cat(weights);
  };
  CHECK(at::equal(updated(size), updated(0)));
  // Large models have as many blocks of their own; on a processor nothing is cut.
  CHECK(Pieces::size_for(11'000'000, 62) == 0);
  CHECK(Pieces(parameters, parameters).of(parameters).size() == 6);
}

}  // namespace
}  // namespace dtrain
