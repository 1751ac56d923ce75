#include "callbacks/inspection.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/util/ScopeExit.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "models/variables.h"
#include "step/step_execution.h"

namespace dtrain {
namespace {

constexpr int64_t kIndicesShown = 8;  // of each replica

at::Tensor flat_double(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.detach().reshape({-1}).to(at::kDouble));
  return at::cat(flat);
}

double norm_of(const at::Tensor& flat) { return flat.norm().item<double>(); }

// Restores, when what it returns ends, what a forward pass changes: the state of the generator that dropout
// uses, and moving statistics.
auto untouched(const Model& model) {
  at::Generator generator = at::globalContext().defaultGenerator(model.parameters().front().device());
  const std::vector<at::Tensor> buffers = model.buffers();
  std::vector<at::Tensor> copies;
  for (const at::Tensor& buffer : buffers) copies.push_back(buffer.clone());
  const std::lock_guard lock(generator.mutex());
  return c10::make_scope_exit([generator, state = generator.get_state(), buffers, copies]() mutable {
    const at::NoGradGuard no_grad;
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state);
    for (size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(copies[i]);
  });
}

}  // namespace

StepInspection::StepInspection(std::shared_ptr<Model> model, const TrainSpec& train,
                               std::unique_ptr<ProcessGroup> group, double tolerance, int64_t step,
                               std::string run, EventSink& sink)
    : model_(std::move(model)),
      train_(train),
      objective_(make_objective(train)),
      group_(std::move(group)),
      tolerance_(tolerance),
      step_(step),
      run_(std::move(run)),
      sink_(sink) {}

void StepInspection::before_step(const Share& share, const StepContext& context) {
  if (context.step != step_) return;
  const auto end = untouched(*model_);
  const std::vector<at::Tensor> parameters = tensors_of(trained_parameters(*model_));
  model_->train();
  own_ = at::zeros_like(flat_parameters());
  loss_sum_ = 0;
  for (const MicroBatch& micro_batch : share.micro_batches) {
    const at::Tensor loss_sum = training_pass(*model_, train_, *objective_, micro_batch.assemble()).loss_sum;
    // Not backward(), which would add to the strategy's gradients.
    own_ += flat_double(torch::autograd::grad({loss_sum / share.global_examples}, parameters));
    loss_sum_ += loss_sum.item<double>();
  }
}

void StepInspection::look_at_gradients(const GradientReducer& reducer) {
  std::vector<int64_t> begins;
  int64_t begin = 0;
  for (const auto& [name, parameter] : trained_parameters(*model_)) {
    begins.push_back(begin);
    begin += parameter.numel();
  }
  shared_ = at::zeros_like(own_);
  at::Tensor holders = at::zeros_like(own_);  // how many replicas hold each element: one, or all
  for (const ParameterPart& part : reducer.parts()) {
    const auto range = [&](at::Tensor& all) {
      return all.narrow(0, begins[part.parameter] + part.begin, part.values.numel());
    };
    range(shared_).copy_(part.values.grad().reshape({-1}));
    range(holders).fill_(1);
  }
  group_->all_reduce_sum(shared_);
  group_->all_reduce_sum(holders);
  shared_ /= holders;
}

void StepInspection::after_step(const Share& share, const StepContext& context) {
  if (context.step != step_) return;
  const InspectEvent event = conclude(share);
  sink_.on_event(encode(event));
  if (event.passed != true)
    throw Error(ExitCode::kBug,
                "step {}: the replicas do not agree with each other (the inspect event says in what)", step_);
}

InspectEvent StepInspection::conclude(const Share& share) {
  at::Tensor expected = own_.clone();
  group_->all_reduce_sum(expected);
  const at::Tensor weights = flat_parameters();
  const at::Tensor first = weights.clone();
  group_->broadcast({first}, 0);
  at::Tensor different = at::full({1}, at::equal(weights, first) ? 0 : 1, at::kDouble);
  group_->all_reduce_sum(different);

  const double norm = norm_of(expected);
  const double difference = norm_of(shared_ - expected) / std::max(norm, 1e-300);
  auto event = begin_event<InspectEvent>(run_);
  event.step = step_;
  event.replicas = replica_rows(share, norm_of(weights));
  event.gradient_norm = norm_of(shared_);
  event.expected_gradient_norm = norm;
  event.gradient_difference = difference;
  event.gradient_tolerance = tolerance_;
  event.weights_equal = different.item<double>() == 0;
  event.passed = (difference <= tolerance_ || norm == 0) && different.item<double>() == 0;
  own_ = shared_ = at::Tensor();
  return event;
}

at::Tensor StepInspection::flat_parameters() const {
  return flat_double(tensors_of(trained_parameters(*model_)));
}

// One row for each replica.
std::vector<InspectedReplica> StepInspection::replica_rows(const Share& share, double weight_norm) const {
  const auto examples = static_cast<int64_t>(share.indices.size());
  const at::Tensor numbers = gather_rows(
      *group_,
      at::tensor({static_cast<double>(examples), loss_sum_, norm_of(own_), weight_norm}, at::kDouble));
  at::Tensor shown = at::zeros({kIndicesShown}, at::kLong);
  for (int64_t i = 0; i < std::min(examples, kIndicesShown); ++i)
    shown[i] = share.indices[static_cast<size_t>(i)];
  const at::Tensor indices = gather_rows(*group_, shown);
  std::vector<InspectedReplica> rows;
  for (int64_t rank = 0; rank < group_->size(); ++rank) {
    const auto number = [&](int64_t column) { return numbers[rank][column].item<double>(); };
    const auto count = static_cast<int64_t>(number(0));
    InspectedReplica& row = rows.emplace_back();
    row.rank = rank;
    row.examples = count;
    row.first_indices.emplace();
    for (int64_t i = 0; i < std::min(count, kIndicesShown); ++i)
      row.first_indices->push_back(indices[rank][i].item<int64_t>());
    if (count > 0) row.loss = number(1) / static_cast<double>(count);
    row.gradient_norm = number(2);
    row.weight_norm = number(3);
  }
  return rows;
}

}  // namespace dtrain
