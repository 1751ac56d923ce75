#include "optim/optimizer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>

namespace dtrain {
namespace {

// Two optimizers of one kind, each for a part of the parameters.
class DecayGroups : public Optimizer {
 public:
  DecayGroups(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters,
              const std::vector<bool>& decayed)
      : decayed_(decayed) {
    std::array<std::vector<at::Tensor>, 2> groups;
    for (size_t i = 0; i < parameters.size(); ++i) {
      std::vector<at::Tensor>& group = groups[decayed[i] ? 1 : 0];
      within_.push_back(group.size());
      group.push_back(parameters[i]);
    }
    OptimizerSpec without = spec;
    without.weight_decay = 0;
    optimizers_ = {make_optimizer(without, groups[0]), make_optimizer(spec, groups[1])};
  }

  void begin_step(double learning_rate) override {
    for (const auto& optimizer : optimizers_) optimizer->begin_step(learning_rate);
  }
  using Optimizer::update;
  void update(const std::vector<size_t>& numbers) override {
    std::array<std::vector<size_t>, 2> groups;
    for (const size_t number : numbers) groups[decayed_[number] ? 1 : 0].push_back(within_[number]);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!groups[i].empty()) optimizers_[i]->update(groups[i]);
    }
  }

  // In the order of the parameters.
  std::vector<OptimizerMemory> memory() const override {
    const std::array<std::vector<OptimizerMemory>, 2> parts = {optimizers_[0]->memory(),
                                                               optimizers_[1]->memory()};
    std::vector<OptimizerMemory> all;
    for (size_t kind = 0; kind < parts[0].size(); ++kind) {
      OptimizerMemory& whole = all.emplace_back();
      whole.name = parts[0][kind].name;
      for (size_t i = 0; i < decayed_.size(); ++i) {
        whole.tensors.push_back(parts[decayed_[i] ? 1 : 0][kind].tensors[within_[i]]);
      }
    }
    return all;
  }

  size_t size() const override { return decayed_.size(); }
  int64_t steps() const override { return optimizers_[0]->steps(); }
  void set_steps(int64_t steps) override {
    for (const auto& optimizer : optimizers_) optimizer->set_steps(steps);
  }

 private:
  std::vector<bool> decayed_;
  std::vector<size_t> within_;                            // the number of each parameter in its group
  std::array<std::unique_ptr<Optimizer>, 2> optimizers_;  // without decay, with it
};

}  // namespace

bool decays(const OptimizerSpec& spec, const at::Tensor& parameter) {
  return spec.weight_decay_exclude == "none" || parameter.dim() > 1;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed) {
  const bool all = std::find(decayed.begin(), decayed.end(), false) == decayed.end();
  const bool none = std::find(decayed.begin(), decayed.end(), true) == decayed.end();
  if (spec.weight_decay == 0 || all) return make_optimizer(spec, parameters);
  OptimizerSpec without = spec;
  without.weight_decay = 0;
  if (none) return make_optimizer(without, parameters);
  return std::make_unique<DecayGroups>(spec, parameters, decayed);
}

}  // namespace dtrain
