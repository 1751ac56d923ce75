// What a step computes, against closed forms.
#include "strategy/eager_step.h"

#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "strategy/clipping.h"
#include "strategy/replicas.h"

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
  CHECK(training_pass(*model, train, batch).loss_sum.item<double>() == Approx(expected).epsilon(1e-14));
  Share share;
  share.micro_batches = {MicroBatch(batch)};
  CHECK(eager_evaluate(*model, share).loss() == Approx(-log[1].item<double>()).epsilon(1e-14));
}

struct Step {
  std::shared_ptr<Model> model = linear_model();
  std::unique_ptr<ProcessGroup> group = make_single_group();
  PhaseClock clock;
  std::unique_ptr<GradientReducer> reducer =
      group->make_gradient_reducer(model->parameters(), ReducerOptions(), clock);
  TrainSpec train;

  std::vector<at::Tensor> gradients() {
    Share share;
    share.micro_batches = {MicroBatch(one_example())};
    share.global_examples = 1;
    const StepParts parts{*model, *group, *reducer, clock, train};
    eager_gradients(parts, share);
    eager_adjust(parts);
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

}  // namespace
}  // namespace dtrain
