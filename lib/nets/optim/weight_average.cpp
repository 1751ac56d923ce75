#include "optim/weight_average.h"

#include <ATen/ATen.h>

#include <map>

#include "optim/list_optimizer.h"

namespace dtrain {

WeightAverage::WeightAverage(std::unique_ptr<Optimizer> inner, const std::vector<at::Tensor>& parameters,
                             double decay)
    : inner_(std::move(inner)), parameters_(parameters), decay_(decay) {
  for (const at::Tensor& parameter : parameters) others_.push_back(parameter.detach().clone());
}

void WeightAverage::begin() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) others_[i].copy_(parameters_[i]);
}

void WeightAverage::exchange() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor parameter = parameters_[i].detach().clone();
    parameters_[i].copy_(others_[i]);
    others_[i].copy_(parameter);
  }
}

void WeightAverage::update(const std::vector<size_t>& numbers) {
  inner_->update(numbers);
  const at::NoGradGuard no_grad;
  at::_foreach_lerp_(chosen(others_, numbers), chosen(parameters_, numbers), 1 - decay_);
}

std::vector<OptimizerMemory> WeightAverage::memory() const {
  std::vector<OptimizerMemory> all = inner_->memory();
  all.push_back({kMemory, others_});
  return all;
}

namespace {

// Without weight decay, that of parameters which do not decay. Every rank has the first groups, whatever its
// parts, so all remember the same in the same order.
std::unique_ptr<Optimizer> optimizer_of_groups(const TrainSpec& train, const std::vector<at::Tensor>& parts,
                                               const std::vector<std::pair<std::string, at::Tensor>>& whole,
                                               const std::vector<double>& factors) {
  std::vector<OptimizerGroup> groups = optimizer_groups(train);
  const size_t count = groups.size();
  for (size_t i = 0; i < count; ++i) groups.push_back({of_excluded(groups[i].spec), groups[i].rate});
  std::vector<size_t> group_of;
  std::map<std::pair<size_t, double>, size_t> slower;  // by the group at its full rate, and the factor
  for (size_t i = 0; i < whole.size(); ++i) {
    size_t group = optimizer_group_of(train, whole[i].first);
    if (!decays(groups[group].spec, whole[i].second)) group += count;
    if (!factors.empty() && factors[i] != 1) {
      const auto [place, is_new] = slower.try_emplace({group, factors[i]}, groups.size());
      if (is_new) groups.push_back({groups[group].spec, groups[group].rate * factors[i]});
      group = place->second;
    }
    group_of.push_back(group);
  }
  return make_optimizer(groups, parts, group_of);
}

}  // namespace

TrainingOptimizer make_training_optimizer(const TrainSpec& train, const std::vector<at::Tensor>& parts,
                                          const std::vector<std::pair<std::string, at::Tensor>>& whole,
                                          const std::vector<double>& factors) {
  std::vector<bool> decayed;
  for (const auto& [name, parameter] : whole) decayed.push_back(decays(train.optimizer, parameter));
  TrainingOptimizer made{train.optimizers.empty() && factors.empty()
                             ? make_optimizer(train.optimizer, parts, decayed)
                             : optimizer_of_groups(train, parts, whole, factors)};
  if (train.ema.decay == 0) return made;
  auto average = std::make_unique<WeightAverage>(std::move(made.optimizer), parts, train.ema.decay);
  made.average = average.get();
  made.optimizer = std::move(average);
  return made;
}

}  // namespace dtrain
