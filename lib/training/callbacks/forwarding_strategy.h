// Base of strategies that add something to another strategy's steps.
#pragma once

#include <memory>
#include <utility>

#include "strategy/strategy.h"

namespace dtrain {

class ForwardingStrategy : public Strategy {
 public:
  bool is_asynchronous() const override { return inner_->is_asynchronous(); }
  bool defers_steps() const override { return inner_->defers_steps(); }
  int64_t place_variables() override { return inner_->place_variables(); }
  bool begin_phase(int64_t number, const TrainedLayers& layers) override {
    return inner_->begin_phase(number, layers);
  }
  MetricSums train_step(const Share& share, const StepContext& context) override {
    return inner_->train_step(share, context);
  }
  MetricSums evaluate(const Share& share) override { return inner_->evaluate(share); }
  MetricSums sum_over_replicas(MetricSums sums) override {
    return inner_->sum_over_replicas(std::move(sums));
  }
  Decision agree(const Decision& own) override { return inner_->agree(own); }
  std::string check_variables() override { return inner_->check_variables(); }
  CollectedVariables collect_variables() override { return inner_->collect_variables(); }
  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    return inner_->restore_variables(variables, step);
  }
  std::optional<WorkersReport> end_training() override { return inner_->end_training(); }
  void finish() override { inner_->finish(); }

 protected:
  explicit ForwardingStrategy(std::unique_ptr<Strategy> inner) : inner_(std::move(inner)) {}

 private:
  std::unique_ptr<Strategy> inner_;
};

}  // namespace dtrain
