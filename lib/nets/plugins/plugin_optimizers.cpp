
#include "optim/list_optimizer.h"
#include "optim/optimizer_kinds.h"
#include "plugins/plugin_kinds.h"

namespace dtrain {
namespace {

const PluginKind<PluginOptimizer>& kind_of(const OptimizerSpec& spec) {
  return plugin_kinds().optimizers.at(spec.kind);
}

class PluginListOptimizer final : public ListOptimizer {
 public:
  PluginListOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters, kind_of(spec).call.memory),
        kind_(kind_of(spec)),
        options_(kind_.options(spec.own)) {}

  void begin_step(double learning_rate) override {
    ListOptimizer::begin_step(learning_rate);
    rate_ = learning_rate;
  }

  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> parameters = chosen(parameters_, numbers);
    const std::vector<at::Tensor> gradients = gradients_of(parameters);
    std::vector<std::vector<at::Tensor>> memory;
    for (size_t place = 0; place < kind_.call.memory.size(); ++place)
      memory.push_back(remembered(place, numbers));
    in_plugin(kind_, [&] {
      kind_.call.update({options_, parameters, gradients, memory, steps(), rate_, weight_decay_});
    });
  }

 private:
  const PluginKind<PluginOptimizer>& kind_;
  Options options_;
  double rate_ = 0;
};

}  // namespace

void add_plugin_optimizer(const std::string& name) {
  OptimizerMethod method;
  method.name = name;
  method.memory = [](const OptimizerSpec& spec) { return kind_of(spec).call.memory; };
  method.make = [](const OptimizerSpec& spec,
                   const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
    return std::make_unique<PluginListOptimizer>(spec, parameters);
  };
  method.largest_step = [](const OptimizerSpec&, double) { return LargestStep(); };
  add_optimizer_method(method);
}

}  // namespace dtrain
