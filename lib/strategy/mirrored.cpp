#include "strategy/mirrored.h"

#include <ATen/ATen.h>

#include "strategy/collect.h"
#include "strategy/eager_step.h"
#include "strategy/variables.h"

namespace dtrain {
namespace {

std::vector<at::Tensor> values_of(const std::vector<ParameterPart>& parts) {
  std::vector<at::Tensor> values;
  for (const ParameterPart& part : parts) values.push_back(part.values);
  return values;
}

class Mirrored : public Strategy {
 public:
  explicit Mirrored(StrategyParts parts)
      : model_(std::move(parts.model)),
        group_(std::move(parts.group)),
        clock_(std::move(parts.clock)),
        before_update_(std::move(parts.before_update)),
        reducer_(group_->make_gradient_reducer(model_->parameters(), parts.reducer, *clock_)),
        optimizer_(make_optimizer(parts.optimizer, values_of(reducer_->parts()))) {}

  void place_variables() override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> all;
    for (const auto& [name, tensor] : named_variables(*model_)) all.push_back(tensor.detach());
    group_->broadcast(all, /*root=*/0);
  }

  MetricSums train_step(const Share& share, double learning_rate) override {
    buffers_agree_ = false;
    return eager_train_step(*model_, *reducer_, *optimizer_, *clock_, before_update_, share, learning_rate);
  }

  MetricSums evaluate(const Share& share) override {
    agree_on_buffers();
    return eager_evaluate(*model_, share);
  }

  MetricSums sum_over_replicas(MetricSums sums) override {
    group_->all_reduce_sum(sums.values());
    return sums;
  }

  CollectedVariables collect_variables() override { return collect(replica(), buffers_agree_); }

  void restore_variables(const CollectedVariables& variables) override {
    buffers_agree_ = restore(replica(), variables);
  }

  std::optional<WorkersReport> end_training() override { return std::nullopt; }  // all are in the same step

  void finish() override { group_->barrier(); }

 private:
  Replica replica() { return {*model_, *group_, reducer_->parts(), *optimizer_}; }

  // Each replica keeps moving statistics of its own shares; what all agree on is their mean, as in
  // tf.distribute.
  void agree_on_buffers() {
    if (buffers_agree_) return;
    const at::NoGradGuard no_grad;
    for (at::Tensor& buffer : model_->buffers()) {
      group_->all_reduce_sum(buffer);
      buffer.div_(group_->size());
    }
    buffers_agree_ = true;
  }

  std::shared_ptr<Model> model_;
  std::unique_ptr<ProcessGroup> group_;
  std::shared_ptr<PhaseClock> clock_;
  GradientObserver before_update_;
  std::unique_ptr<GradientReducer> reducer_;  // refers to the group and the clock: destroyed before them
  std::unique_ptr<Optimizer> optimizer_;      // of the reducer's parts
  bool buffers_agree_ = true;
};

}  // namespace

std::unique_ptr<Strategy> make_mirrored(StrategyParts parts) {
  return std::make_unique<Mirrored>(std::move(parts));
}

}  // namespace dtrain
