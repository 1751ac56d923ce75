#include "models/model.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "models/layer_kinds.h"

namespace dtrain {
namespace {

// Values are numbered like the layers that produce them, with the model's input first.
size_t value_of(int64_t layer) { return static_cast<size_t>(layer - kModelInput); }

class LayerGraph final : public Model {
 public:
  LayerGraph(const LayerPlan& plan, WeightMaker weights)
      : Model(plan.layers), values_(plan.layers.size() + 1) {
    for (size_t i = 0; i < placed_.size(); ++i) {
      const LayerKind& kind = kind_of(placed_[i]);
      Step step{.input = value_of(placed_[i].input)};
      if (kind.combine != nullptr) {
        step.combine = kind.combine;
        step.with = value_of(placed_[i].with);
      } else {
        if (kind.make_with_next != nullptr && is_read_by_next(placed_, i))
          step.layer = kind.make_with_next(placed_[i + 1]);
        if (step.layer)
          ++i;
        else
          step.layer = kind.make(placed_[i], weights);
        register_module(placed_[i].name, step.layer);
        step.layer->leave_statistics_to(statistics_);
      }
      step.output = i + 1;
      steps_.push_back(std::move(step));
    }
    for (const at::Tensor& parameter : parameters()) {
      if (!parameter.requires_grad()) fixed_.insert(parameter.unsafeGetTensorImpl());
    }
    find_last_uses();
  }

  at::Tensor forward(at::Tensor input) override {
    const at::Tensor output = compute(std::move(input), first_, std::ssize(placed_));
    statistics_.move();
    return output;
  }

  void train_layers(const TrainedLayers& layers) override {
    first_ = layers.first;
    for (size_t i = 0; i < placed_.size(); ++i) {
      const bool trained = layers.each.empty() || layers.each[i];
      Layer* const layer = layer_at(i);
      if (layer == nullptr) continue;
      layer->freeze(!trained);
      for (at::Tensor& parameter : layer->parameters())
        parameter.requires_grad_(trained && !fixed_.contains(parameter.unsafeGetTensorImpl()));
    }
  }

  at::Tensor features(at::Tensor input, int64_t layers) override {
    const at::NoGradGuard no_grad;
    eval();
    return compute(std::move(input), 0, layers);
  }

  void synchronise(const GatherRows& gather) override {
    gather_ = gather;
    for (const Step& step : steps_) {
      if (step.layer) step.layer->synchronise(gather);
    }
  }

 private:
  struct Step {
    std::shared_ptr<Layer> layer = nullptr;
    size_t input = 0;
    at::Tensor (*combine)(const at::Tensor& input, const at::Tensor& with) = nullptr;  // instead of a layer
    std::optional<size_t> with = {};                                                   // the value for it
    size_t output = 0;
    std::vector<size_t> last_uses = {};  // values that no later step needs
  };

  // The module of layer `i`; null if it has two inputs, or one module with the layer after it.
  Layer* layer_at(size_t i) const {
    const auto step = std::ranges::find(steps_, i + 1, &Step::output);
    return step == steps_.end() ? nullptr : step->layer.get();
  }

  // What the layers from `first` to before `end` make of the input of `first`.
  at::Tensor compute(at::Tensor input, int64_t first, int64_t end) {
    std::vector<at::Tensor> values(values_);
    values[value_of(first - 1)] = std::move(input);
    for (const Step& step : steps_) {
      if (step.output <= value_of(first - 1) || step.output > value_of(end - 1)) continue;
      const at::Tensor& from = values[step.input];
      at::Tensor output = step.with ? step.combine(from, values[*step.with]) : step.layer->forward(from);
      for (const size_t value : step.last_uses) values[value].reset();
      values[step.output] = std::move(output);
    }
    return values[value_of(end - 1)];
  }

  void find_last_uses() {
    std::vector<bool> needed(values_, false);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      for (const size_t value : {step->input, step->with.value_or(step->input)}) {
        if (!needed[value]) step->last_uses.push_back(value);
        needed[value] = true;
      }
    }
  }

  std::vector<Step> steps_;
  size_t values_;
  std::set<const void*> fixed_;  // the parameters that a layer of a plug-in never trains
  MovingStatistics statistics_;  // of all layers
};

std::shared_ptr<Model> make_model(const LayerPlan& plan, WeightMaker weights) {
  if (!plan.problems.empty())
    throw Error(ExitCode::kBug, "a model with problems was built: " + plan.problems[0].text);
  if (plan.program != nullptr) return plan.program->build(plan, weights.dtype(), weights.seed());
  return std::make_shared<LayerGraph>(plan, weights);
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> Model::moving_buffers() const {
  std::vector<std::pair<std::string, at::Tensor>> moving;
  for (const auto& layer : named_children()) {
    const auto* const one = dynamic_cast<const Layer*>(layer.value().get());
    for (const auto& buffer : layer.value()->named_buffers()) {
      if (one != nullptr && one->moves(buffer.key()))
        moving.emplace_back(layer.key() + "." + buffer.key(), buffer.value());
    }
  }
  return moving;
}

std::shared_ptr<Model> build_model(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed) {
  return make_model(plan, WeightMaker(seed, dtype));
}

std::shared_ptr<Model> outline_model(const LayerPlan& plan, at::ScalarType dtype) {
  return make_model(plan, WeightMaker(/*seed=*/0, dtype, at::kMeta));
}

void lay_channels_last(Model& model) {
  for (at::Tensor& parameter : model.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.detach().clone(at::MemoryFormat::ChannelsLast));
  }
}

at::ScalarType dtype_from_name(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "float64") return at::kDouble;
  throw Error(ExitCode::kUsage, "unknown dtype '{}'; known: float32, float64", printable(name));
}

}  // namespace dtrain
