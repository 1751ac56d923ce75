
#include <ATen/ATen.h>

#include <algorithm>
#include <deque>

#include "models/layers.h"
#include "plugins/plugin_kinds.h"

namespace dtrain {
namespace {

const char* base_of(LossOf of) {
  return of == LossOf::kClasses ? "cross_entropy"
         : of == LossOf::kYesNo ? "binary_cross_entropy"
                                : "mean_squared_error";
}

TrainSpec with_loss(const std::string& kind) {
  TrainSpec train;
  train.loss.kind = kind;
  return train;
}

// The losses are the plug-in's; all else is that of the loss that it is like.
class PluginObjective final : public Objective {
 public:
  explicit PluginObjective(const LossSpec& loss)
      : Objective(objective_info(loss.kind)),
        kind_(plugin_kinds().losses.at(loss.kind)),
        options_(kind_.options(loss.own)),
        base_(make_objective(with_loss(info().base))) {}

  at::Tensor training_losses(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return in_plugin(kind_, [&] {
      // An evaluation may have wider outputs than the model, and targets of the model's type.
      const bool are_numbers = targets.is_floating_point();
      const at::Tensor losses =
          kind_.call.compute(options_, outputs, are_numbers ? targets.to(outputs.scalar_type()) : targets);
      if (!losses.defined() || losses.sizes() != at::IntArrayRef{outputs.size(0)})
        throw Error(ExitCode::kUsage, "gives {} for {} examples, and a loss is one number for each: [n]",
                    losses.defined() ? to_string(losses.sizes().vec()) : "nothing", outputs.size(0));
      if (at::GradMode::is_enabled() && outputs.requires_grad() && !losses.requires_grad())
        throw Error(ExitCode::kUsage, "gives losses that do not depend on the outputs: they are detached");
      return losses;
    });
  }
  void sum_up(const at::Tensor& outputs, const at::Tensor& targets, const at::Tensor& sums) const override {
    base_->sum_up(outputs, targets, sums);
  }
  void sum_up_targets(const at::Tensor& targets, const at::Tensor& sums) const override {
    base_->sum_up_targets(targets, sums);
  }
  at::Tensor averaged(const at::Tensor& outputs, const at::Tensor& others) const override {
    return base_->averaged(outputs, others);
  }
  at::Tensor predictions(const at::Tensor& outputs, bool classes) const override {
    return base_->predictions(outputs, classes);
  }
  at::Tensor count(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return base_->count(outputs, targets);
  }

 private:
  const PluginKind<PluginLoss>& kind_;
  Options options_;
  std::unique_ptr<Objective> base_;
};

// Of a step, which computes its losses by itself.
class StepObjective final : public Objective {
 public:
  explicit StepObjective(const LossSpec& loss) : Objective(objective_info(loss.kind)) {}

  at::Tensor training_losses(const at::Tensor&, const at::Tensor&) const override { refuse(); }
  void sum_up(const at::Tensor&, const at::Tensor&, const at::Tensor&) const override { refuse(); }
  at::Tensor averaged(const at::Tensor&, const at::Tensor&) const override { refuse(); }
  at::Tensor predictions(const at::Tensor&, bool) const override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(ExitCode::kUsage,
                "the step '{}' of a plug-in computes its losses itself, in a run; this command cannot",
                info().name);
  }
};

const LossKind* kind_made_by(const std::string& name,
                             std::unique_ptr<Objective> (*make)(const TrainSpec& train)) {
  static std::deque<std::pair<std::string, LossKind>> kinds;
  auto& [kept, kind] = kinds.emplace_back(name, LossKind());
  kind.name = kept.c_str();
  kind.make = make;
  return &kind;
}

bool is_scalar(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() == 1; }

}  // namespace

void add_plugin_loss(const std::string& name) {
  ObjectiveInfo info = objective_info(base_of(plugin_kinds().losses.at(name).call.of));
  info.base = std::exchange(info.name, name);
  add_objective(info);
  add_loss_kind(kind_made_by(name, [](const TrainSpec& train) -> std::unique_ptr<Objective> {
    return std::make_unique<PluginObjective>(train.loss);
  }));
}

void add_plugin_step(const std::string& name, const std::vector<std::string>& metrics) {
  ObjectiveInfo info = {.name = name,
                        .targets = Targets::kEither,
                        .outputs = Outputs::kValues,
                        .sums = metrics,
                        .metrics = {objective_info("cross_entropy").metrics.front()},
                        .is_step = true};
  for (const std::string& metric : metrics)
    info.metrics.push_back({metric, /*higher_is_better=*/false, MetricUnit::kNumber,
                            [metric](const ExampleSums& sum) { return sum(metric) / sum("examples"); }});
  add_objective(info);
  add_loss_kind(kind_made_by(name, [](const TrainSpec& train) -> std::unique_ptr<Objective> {
    return std::make_unique<StepObjective>(train.loss);
  }));
}

std::unique_ptr<TrainingStep> make_plugin_step(const LossSpec& loss, const StepModel& model) {
  const auto found = plugin_kinds().steps.find(loss.kind);
  if (found == plugin_kinds().steps.end()) return nullptr;
  const auto& kind = found->second;
  return in_plugin(kind, [&] {
    auto step = kind.call(kind.options(loss.own), model);
    if (step == nullptr) throw Error(ExitCode::kUsage, "made no step");
    return step;
  });
}

std::vector<at::Tensor> call_step(const LossSpec& loss,
                                  const std::function<std::vector<at::Tensor>()>& call) {
  return in_plugin(plugin_kinds().steps.at(loss.kind), call);
}

StepResult compute_step(const LossSpec& loss, TrainingStep& step, const StepBatch& batch) {
  return in_plugin(plugin_kinds().steps.at(loss.kind), [&] {
    StepResult result = step.compute(batch);
    const size_t metrics = objective_info(loss.kind).sums.size();
    if (result.metrics.size() != metrics)
      throw Error(ExitCode::kUsage, "gives {}, and has registered {}",
                  counted(std::ssize(result.metrics), "metric"), metrics);
    const bool scalars =
        std::ranges::all_of(result.metrics, is_scalar) &&
        std::ranges::all_of(result.losses, [](const StepLoss& one) { return is_scalar(one.sum); });
    if (!scalars) throw Error(ExitCode::kUsage, "gives a loss or metric that is no scalar");
    return result;
  });
}

}  // namespace dtrain
