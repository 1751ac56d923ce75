#include <ATen/ATen.h>

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "optim/optimizer.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

class GroupedOptimizer : public Optimizer {
 public:
  GroupedOptimizer(std::vector<std::unique_ptr<Optimizer>> optimizers, const std::vector<double>& rates,
                   const std::vector<at::Tensor>& parameters, const std::vector<size_t>& group_of)
      : group_of_(group_of), parameters_(parameters), optimizers_(std::move(optimizers)), rates_(rates) {
    std::vector<size_t> sizes(optimizers_.size());
    for (const size_t group : group_of) within_.push_back(sizes[group]++);
    collect_memory();
  }

  void begin_step(double learning_rate) override {
    for (size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i]->begin_step(learning_rate * rates_[i]);
  }
  using Optimizer::update;
  void update(const std::vector<size_t>& numbers) override {
    std::vector<std::vector<size_t>> groups(optimizers_.size());
    for (const size_t number : numbers) groups[group_of_[number]].push_back(within_[number]);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!groups[i].empty()) optimizers_[i]->update(groups[i]);
    }
  }

  std::vector<at::Tensor> measure() override {
    std::vector<std::vector<at::Tensor>> groups;
    for (const auto& optimizer : optimizers_) groups.push_back(optimizer->measure());
    std::vector<at::Tensor> all;
    for (size_t i = 0; i < size(); ++i) all.push_back(groups[group_of_[i]][within_[i]]);
    return all;
  }

  std::vector<OptimizerMemory> memory() const override { return memory_; }
  size_t size() const override { return group_of_.size(); }
  int64_t steps() const override { return optimizers_[0]->steps(); }
  void set_steps(int64_t steps) override {
    for (const auto& optimizer : optimizers_) optimizer->set_steps(steps);
  }

 private:
  // What all kinds remember, by name, in the order of the parameters; zeros that nothing changes stand for
  // what a parameter's own optimizer does not remember.
  void collect_memory() {
    std::vector<std::vector<OptimizerMemory>> parts;
    for (const auto& optimizer : optimizers_) parts.push_back(optimizer->memory());
    for (const auto& part : parts) {
      for (const OptimizerMemory& one : part) {
        const bool is_new = std::ranges::none_of(
            memory_, [&](const OptimizerMemory& known) { return known.name == one.name; });
        if (is_new) memory_.push_back({one.name, {}});
      }
    }
    for (OptimizerMemory& whole : memory_) {
      for (size_t i = 0; i < group_of_.size(); ++i) {
        const auto& part = parts[group_of_[i]];
        const auto own = std::ranges::find(part, whole.name, &OptimizerMemory::name);
        whole.tensors.push_back(own == part.end() ? at::zeros_like(parameters_[i].detach())
                                                  : own->tensors[within_[i]]);
      }
    }
  }

  std::vector<size_t> group_of_;
  std::vector<size_t> within_;  // the number of each parameter in its group
  std::vector<at::Tensor> parameters_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::vector<double> rates_;
  std::vector<OptimizerMemory> memory_;
};

// Of one of the training's optimizers.
bool is_any_kind(const TrainSpec& train, bool OptimizerKind::*fact) {
  return std::ranges::any_of(optimizer_groups(train), [fact](const OptimizerGroup& group) {
    return optimizer_kind(group.spec.kind).*fact;
  });
}

}  // namespace

bool decays(const OptimizerSpec& spec, const at::Tensor& parameter) {
  return spec.weight_decay_exclude == "none" || parameter.dim() > 1;
}

OptimizerSpec of_excluded(OptimizerSpec spec) {
  spec.weight_decay = 0;
  spec.scales = false;
  return spec;
}

bool takes_norms(const TrainSpec& train) { return is_any_kind(train, &OptimizerKind::takes_norms); }

bool takes_whole(const TrainSpec& train) { return is_any_kind(train, &OptimizerKind::takes_whole); }

std::vector<OptimizerGroup> optimizer_groups(const TrainSpec& train) {
  std::vector<OptimizerGroup> groups = {{train.optimizer}};
  for (const OptimizerEntry& entry : train.optimizers) {
    groups.push_back({entry.optimizer, entry.optimizer.learning_rate / train.optimizer.learning_rate});
    groups.back().spec.weight_decay_exclude = train.optimizer.weight_decay_exclude;
  }
  return groups;
}

size_t optimizer_group_of(const TrainSpec& train, const std::string& parameter) {
  for (size_t i = 0; i < train.optimizers.size(); ++i) {
    if (::fnmatch(train.optimizers[i].parameters.c_str(), parameter.c_str(), 0) == 0) return i + 1;
  }
  return 0;
}

std::unique_ptr<Optimizer> make_optimizer(const std::vector<OptimizerGroup>& groups,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<size_t>& group_of) {
  std::vector<std::vector<at::Tensor>> members(groups.size());
  for (size_t i = 0; i < parameters.size(); ++i) members[group_of[i]].push_back(parameters[i]);
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  std::vector<double> rates;
  for (size_t i = 0; i < groups.size(); ++i) {
    optimizers.push_back(make_optimizer(groups[i].spec, members[i]));
    rates.push_back(groups[i].rate);
  }
  return join_optimizers(std::move(optimizers), rates, parameters, group_of);
}

std::unique_ptr<Optimizer> join_optimizers(std::vector<std::unique_ptr<Optimizer>> optimizers,
                                           const std::vector<double>& rates,
                                           const std::vector<at::Tensor>& parameters,
                                           const std::vector<size_t>& group_of) {
  return std::make_unique<GroupedOptimizer>(std::move(optimizers), rates, parameters, group_of);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed) {
  const bool all = std::ranges::find(decayed, false) == decayed.end();
  const bool none = std::ranges::find(decayed, true) == decayed.end();
  const bool matters = spec.weight_decay != 0 || optimizer_kind(spec.kind).takes_norms;
  if (!matters || all) return make_optimizer(spec, parameters);
  const OptimizerSpec without = of_excluded(spec);
  if (none) return make_optimizer(without, parameters);
  std::vector<size_t> group_of;
  for (const bool decays : decayed) group_of.push_back(decays ? 1 : 0);
  return make_optimizer({{without}, {spec}}, parameters, group_of);
}

}  // namespace dtrain
