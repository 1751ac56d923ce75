// What a step computes, against closed forms.
#include "step/train_step.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "architectures/architectures.h"
#include "catch.h"
#include "comm/fake_accelerator.h"
#include "models/layer_specs.h"
#include "spec/layer_kinds.h"
#include "step/device_steps.h"
#include "step/step_execution.h"
#include "strategy/replicas.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

// One dense layer on 1x1x2 images: logits = weight x + bias.
std::shared_ptr<Model> linear_model() {
  ModelSpec spec;
  spec.hidden = {};
  spec.dtype = "float64";
  return build_model(place_layers(expand_layers(spec, 3), {1, 1, 2}, 3), at::kDouble, 1);
}

Batch one_example() {
  return {at::tensor({0.5, -1.0}, at::kDouble).view({1, 1, 1, 2}), at::tensor(std::vector<int64_t>{1})};
}

// Szegedy et al. 2016, arXiv:1512.00567, section 7: cross-entropy against (1 - s) one_hot + s / K.
TEST_CASE("smoothed labels spread their share over all classes; evaluation does not smooth") {
  const auto model = linear_model();
  TrainSpec train;
  train.label_smoothing = 0.3;
  const Batch batch = one_example();
  const at::Tensor log = at::log_softmax(model->forward(batch.inputs), 1)[0];
  const double expected = -(0.7 * log[1] + 0.1 * log.sum()).item<double>();
  const auto objective = make_objective(train);
  CHECK(training_pass(*model, train, *objective, batch).loss_sum.item<double>() ==
        Approx(expected).epsilon(1e-14));
  CHECK(objective->evaluation_loss(model->forward(batch.inputs), batch.targets).item<double>() ==
        Approx(-log[1].item<double>()).epsilon(1e-14));
}

TEST_CASE(
    "the loss of mixed examples is that of both classes by their shares, smoothed and weighed as each is") {
  const auto model = linear_model();
  TrainSpec train;
  const bool weighed = GENERATE(false, true);
  if (weighed) {
    train.label_smoothing = 0.3;
    train.loss.class_weights.weights = {1, 3, 0.5};
  }
  const Batch batch{at::tensor({0.5, -1.0, 2.0, 0.3}, at::kDouble).view({2, 1, 1, 2}),
                    at::tensor(std::vector<int64_t>{1, 0}), at::tensor(std::vector<int64_t>{2, 0}),
                    at::tensor({0.6, 0.9}, at::kDouble)};
  const at::Tensor log = at::log_softmax(model->forward(batch.inputs), 1);
  const auto loss_of_class = [&](int64_t example, int64_t label) {
    const double smoothing = train.label_smoothing;
    const double weight = weighed ? train.loss.class_weights.weights[static_cast<size_t>(label)] : 1;
    return -weight *
           ((1 - smoothing) * log[example][label] + smoothing / 3 * log[example].sum()).item<double>();
  };
  const double expected =
      0.6 * loss_of_class(0, 1) + 0.4 * loss_of_class(0, 2) + loss_of_class(1, 0);  // with itself
  CHECK(training_pass(*model, train, *make_objective(train), batch).loss_sum.item<double>() ==
        Approx(expected).epsilon(1e-14));
}

TEST_CASE("the losses of mixed examples may be of another type than the shares") {
  Batch batch{at::ones({2, 1, 1, 2}, at::kDouble), at::tensor(std::vector<int64_t>{1, 0}),
              at::tensor(std::vector<int64_t>{2, 0}), at::tensor({0.5, 0.75}, at::kDouble)};
  const auto objective = make_objective(TrainSpec());
  const at::Tensor outputs = at::tensor({1.0, 2.0, 3.0, 0.5, -1.0, 0.0}, at::kDouble).view({2, 3});
  const at::Tensor expected = loss_of_batch(*objective, outputs, batch);
  batch.shares = batch.shares.to(at::kFloat);
  CHECK(at::equal(loss_of_batch(*objective, outputs, batch), expected));
}

struct Step {
  std::shared_ptr<Model> model = linear_model();
  LossScale* loss_scale = nullptr;
  std::unique_ptr<ProcessGroup> group = make_single_group();
  StepClock clock;
  std::unique_ptr<GradientReducer> reducer =
      group->make_gradient_reducer(model->parameters(), ReducerOptions(), clock);
  TrainSpec train;
  bool finite = false;

  std::vector<at::Tensor> gradients() {
    Share share;
    share.micro_batches = {MicroBatch(one_example())};
    share.global_examples = 1;
    const auto objective = make_objective(train);
    const StepParts parts{*model, *group, *reducer, clock, train, *objective, loss_scale};
    make_step_execution(parts)->gradients(share, {});
    finite = unscale_gradient(parts);
    clip_gradient(parts);
    std::vector<at::Tensor> all;
    for (const at::Tensor& parameter : model->parameters()) all.push_back(parameter.grad().clone());
    return all;
  }
};

double norm_of(const std::vector<at::Tensor>& tensors) {
  double squares = 0;
  for (const at::Tensor& tensor : tensors) squares += tensor.square().sum().item<double>();
  return std::sqrt(squares);
}

// torch.nn.utils.clip_grad_norm_: multiplies by max_norm / (norm + 1e-6) where that is below 1.
TEST_CASE("a gradient whose norm is too large is scaled down, one that is not stays as it is") {
  Step step;
  const auto whole = step.gradients();
  const double norm = norm_of(whole);
  CHECK(gradient_norm(*step.reducer, *step.group).item<double>() == Approx(norm).epsilon(1e-14));
  REQUIRE(norm > 0.2);
  step.train.clip_norm = 0.1;
  const auto clipped = step.gradients();
  for (size_t i = 0; i < whole.size(); ++i)
    CHECK(at::allclose(clipped[i], whole[i] * (0.1 / (norm + 1e-6)), 1e-13, 0));
  CHECK(norm_of(clipped) == Approx(0.1).epsilon(1e-4));
  step.train.clip_norm = 1000;
  const auto same = step.gradients();
  for (size_t i = 0; i < whole.size(); ++i) CHECK(at::equal(same[i], whole[i]));
}

// Whose replays, like those of a GPU, leave it to others to find the gradients that they have made.
struct Replaying : test::FakeAccelerator {
  std::vector<at::Tensor> parameters;
  std::function<void()> record(const std::function<void()>& body) override {
    return [this, replay = FakeAccelerator::record(body)] {
      replay();
      for (const at::Tensor& each : parameters) each.mutable_grad() = at::full_like(each, std::nan(""));
    };
  }
};

// Trains 30 recorded steps on one example, of which an observer wants step `wanted` (0: none).
struct Observed {
  std::shared_ptr<Replaying> accelerator = std::make_shared<Replaying>();
  std::vector<int64_t> looked_at;
  std::vector<double> norms;
  std::vector<at::Tensor> weights;

  explicit Observed(int64_t wanted, bool can_follow_update = false) {
    StrategyParts parts;
    parts.model = linear_model();
    parts.group = make_single_group();
    parts.accelerator = accelerator;
    parts.record_steps = true;
    parts.observers.push_back({[wanted](int64_t step) { return step == wanted; },
                               [this](int64_t step, const GradientReducer& reducer, ProcessGroup& group) {
                                 looked_at.push_back(step);
                                 norms.push_back(gradient_norm(reducer, group).item<double>());
                               },
                               can_follow_update});
    const std::shared_ptr<Model> model = parts.model;
    accelerator->parameters = model->parameters();
    const auto strategy = make_strategy("one_device", std::move(parts));
    strategy->place_variables();
    Share share;
    share.micro_batches = {MicroBatch(one_example())};
    share.global_examples = 1;
    for (int64_t step = 1; step <= 30; ++step) strategy->train_step(share, {step, 0.1});
    for (const at::Tensor& parameter : model->parameters()) weights.push_back(parameter.detach().clone());
    strategy->finish();
  }
};

TEST_CASE("an observer of gradients costs the step that it wants, and nothing else changes") {
  const Observed without(0);
  const Observed with(20);
  CHECK(without.looked_at.empty());
  CHECK(with.looked_at == std::vector<int64_t>{20});
  CHECK(with.norms.at(0) > 0);
  CHECK(without.accelerator->replays() == 30 - StepRecorder::kWarmUpSteps);
  CHECK(with.accelerator->recordings() == 1);
  CHECK(with.accelerator->replays() == without.accelerator->replays() - 1);
  for (size_t i = 0; i < with.weights.size(); ++i) CHECK(at::equal(with.weights[i], without.weights[i]));
  const Observed afterwards(20, /*can_follow_update=*/true);
  CHECK(afterwards.accelerator->replays() == without.accelerator->replays());
  CHECK(afterwards.looked_at == with.looked_at);
  CHECK(afterwards.norms == with.norms);
  for (size_t i = 0; i < with.weights.size(); ++i)
    CHECK(at::equal(afterwards.weights[i], without.weights[i]));
}

TEST_CASE("the loss scale falls when a gradient overflows and rises after 2000 that do not") {
  LossScale scale;
  CHECK(scale.value() == 65536);
  scale.update(false);
  scale.update(false);
  CHECK(scale.value() == 16384);
  CHECK(scale.skipped() == 2);
  for (int i = 0; i < 1999; ++i) scale.update(true);
  CHECK(scale.value() == 16384);
  LossScale other;
  other.restore(scale.state());
  scale.update(true);
  other.update(true);
  CHECK(scale.value() == 32768);
  CHECK(other.state() == scale.state());
  for (int i = 0; i < 1999; ++i) scale.update(true);
  scale.update(false);  // the count begins anew
  scale.update(true);
  CHECK(scale.value() == 16384);
}

TEST_CASE("the scaled loss gives the same gradient once it is unscaled, or none") {
  Step step;
  const auto plain = step.gradients();
  LossScale scale;
  step.loss_scale = &scale;
  const auto unscaled = step.gradients();
  CHECK(step.finite);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(at::equal(unscaled[i], plain[i]));  // a power of two
  {
    const at::NoGradGuard no_grad;
    step.model->parameters()[0][1].fill_(std::numeric_limits<double>::infinity());
  }
  step.gradients();
  CHECK_FALSE(step.finite);
  CHECK(scale.value() == 32768);
  CHECK(scale.skipped() == 1);
}

std::shared_ptr<Model> model_of(const std::vector<LayerSpec>& layers, const Shape& input) {
  return build_model(place_layers(layers, input, 3), at::kFloat, 1);
}

TEST_CASE("mixed precision computes in 16 bits and keeps weights, gradients and losses in float32") {
  const std::string precision = GENERATE("bf16_mixed", "fp16_mixed");
  std::vector<LayerSpec> layers;
  for (const char* kind : {"conv2d", "batch_norm", "relu", "max_pool2d", "gelu", "avg_pool2d", "tanh",
                           "sigmoid", "dropout", "silu", "flatten", "dense"}) {
    layers.emplace_back().kind = kind;
  }
  layers[0] = conv2d(4);
  layers[8].own = DropoutFields{0};
  layers[11] = dense(3);
  const auto model = model_of(layers, {1, 12, 12});
  at::manual_seed(1);
  const Batch batch{at::rand({5, 1, 12, 12}), at::tensor(std::vector<int64_t>{0, 1, 2, 1, 0})};
  TrainSpec train;
  const auto objective = make_objective(train);
  const ForwardPass exact = training_pass(*model, train, *objective, batch);
  train.precision = precision;
  const ForwardPass mixed = training_pass(*model, train, *objective, batch);
  CHECK(mixed.outputs.scalar_type() == at::kFloat);
  CHECK_FALSE(at::equal(mixed.outputs, exact.outputs));
  CHECK(at::allclose(mixed.outputs, exact.outputs, 0.05, 0.02));
  mixed.loss_sum.backward();
  for (const at::Tensor& parameter : model->parameters()) {
    CHECK(parameter.scalar_type() == at::kFloat);
    CHECK(parameter.grad().scalar_type() == at::kFloat);
    CHECK(at::isfinite(parameter.grad()).all().item<bool>());
  }
  // Outside of the pass nothing is converted, and what an update changes is seen by the next one.
  CHECK(at::equal(training_pass(*model, TrainSpec(), *objective, batch).outputs, exact.outputs));
  {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : model->parameters()) parameter.add_(0.1);
  }
  CHECK_FALSE(at::equal(training_pass(*model, train, *objective, batch).outputs, mixed.outputs));
  // An empty batch takes part, too.
  for (at::Tensor& parameter : model->parameters()) parameter.mutable_grad().reset();
  training_pass(*model, train, *objective, {at::empty({0, 1, 12, 12}), at::empty({0}, at::kLong)})
      .loss_sum.backward();
  for (const at::Tensor& parameter : model->parameters())
    CHECK(at::equal(parameter.grad(), at::zeros_like(parameter)));
}

}  // namespace
}  // namespace dtrain
