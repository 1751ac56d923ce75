#include <ATen/ATen.h>

#include <algorithm>

#include "models/variables.h"
#include "optim/optimizer.h"
#include "optim/weight_average.h"
#include "step/clipping.h"
#include "step/collect.h"
#include "step/sentinel.h"
#include "step/step_pacer.h"
#include "step/step_recorder.h"
#include "step/train_step.h"
#include "strategy/strategy_kinds.h"

namespace dtrain {
namespace {

// From now on, the model computes batch statistics over the micro-batches with the same number on all ranks,
// weighted by their examples. Every forward and backward pass in training becomes collective. The group and
// the clock must outlive the model's use.
void synchronise_statistics(Model& model, ProcessGroup& group, StepClock& clock) {
  if (group.size() == 1) return;
  model.synchronise([&group, &clock](const at::Tensor& own) {
    const at::NoGradGuard no_grad;
    at::Tensor rows = at::zeros({group.size(), own.numel()}, own.options());
    rows[group.rank()].copy_(own);
    clock.enter(StepTime::kCommunicate);
    group.all_reduce_sum(rows);
    clock.enter(StepTime::kCompute);
    return rows;
  });
}

class Mirrored : public Strategy {
 public:
  explicit Mirrored(StrategyParts parts)
      : model_(std::move(parts.model)),
        group_(std::move(parts.group)),
        clock_(std::move(parts.clock)),
        train_(std::move(parts.train)),
        objective_(make_objective(train_)),
        loss_scale_(std::move(parts.loss_scale)),
        observers_(std::move(parts.observers)),
        check_every_(parts.check_every),
        keeps_copies_(parts.collects_often && group_->rank() == 0),
        on_processor_(parts.accelerator == nullptr),
        evaluate_(parts.evaluate),
        device_(parts.accelerator ? parts.accelerator->device() : at::Device(at::kCPU)),
        records_(parts.record_steps && !loss_scale_ && parts.accelerator != nullptr),
        recorder_(records_ ? parts.accelerator : nullptr),
        pacer_(device_, parts.timeout),
        reducer_options_(parts.reducer) {
    if (train_.sync_batch_norm) synchronise_statistics(*model_, *group_, *clock_);
    prepare_steps();
  }

  int64_t place_variables() override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> all;
    for (const auto& [name, tensor] : named_variables(*model_)) all.push_back(tensor.detach());
    group_->broadcast(all, /*root=*/0);
    begin_optimizer();
    return 0;
  }

  bool begin_phase(int64_t /*number*/, const TrainedLayers& layers) override {
    pacer_.wait_for_all();
    show_average(false);
    agree_on_buffers();
    own_buffers_.clear();
    group_->barrier();  // no replica reads memory any more that this one is about to leave
    recorder_.forget();
    recorded_gradients_.clear();
    model_->train_layers(layers);
    prepare_steps();
    begin_optimizer();
    return true;
  }

  MetricSums train_step(const Share& share, const StepContext& context) override {
    show_average(false);
    take_back_buffers();
    buffers_agree_ = train_.sync_batch_norm || group_->size() == 1;
    optimizer_->begin_step(context.learning_rate);
    clock_->enter(StepTime::kCompute);
    const std::vector<GradientLook> looks = looks_at(context.step, observers_);
    MetricSums sums = interrupts_recorded(context.step) ? make_step(share, looks) : recorded(share, looks);
    pacer_.after_step();
    sentinel_->after_step();
    clock_->enter(StepTime::kUpdate);
    return sums;
  }

  MetricSums evaluate(const Share& share) override {
    agree_on_buffers();
    show_average(true);
    return execution_->evaluate(share);
  }

  MetricSums sum_over_replicas(MetricSums sums) override {
    show_average(false);
    sums.add(
        MetricSums(objective_->info(), model_->outputs(), device_));  // this replica may have had no batches
    group_->all_reduce_sum(sums.values());
    const bool counted = sums.counts().defined();  // on every replica, or on none
    if (counted) group_->all_reduce_sum(sums.counts());
    pacer_.wait_for_all();
    sums.values() = sums.values().cpu();  // one copy from the device, not one per number
    if (counted) sums.counts() = sums.counts().cpu();
    return sums;
  }

  Decision agree(const Decision& own) override {
    show_average(false);
    const bool leads = group_->rank() == 0;
    at::Tensor words = at::tensor({own.save ? 1.0 : 0.0, own.leave ? 1.0 : 0.0, leads && own.end ? 1.0 : 0.0,
                                   leads ? static_cast<double>(own.steps_until) : 0.0},
                                  at::kDouble)
                           .to(device_);
    group_->all_reduce_sum(words);
    pacer_.wait_for_all();
    words = words.cpu();
    const double* const sums = words.const_data_ptr<double>();
    return {sums[0] > 0, sums[1] > 0, sums[2] > 0, static_cast<int64_t>(sums[3])};
  }

  std::string check_variables() override {
    show_average(false);
    pacer_.wait_for_all();
    return sentinel_->check();
  }

  CollectedVariables collect_variables() override {
    take_back_buffers();
    show_average(true);
    pacer_.wait_for_all();
    CollectedVariables all = collect(replica(), buffers_agree_, [this] { pacer_.wait_for_all(); });
    all.suspicion = sentinel_->suspicion();
    show_average(false);
    pacer_.wait_for_all();
    for (auto& [name, tensor] : all.training) tensor = tensor.cpu();  // generators and buffers
    return all;
  }

  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    show_average(false);
    buffers_agree_ = restore(replica(), variables);
    if (average_ != nullptr && optimizer_->steps() == 0) {  // only the model was restored
      average_->begin();
    } else if (average_ != nullptr) {
      shows_average_ = true;
      show_average(false);
    }
    optimizer_->begin();
    return step;
  }

  void finish() override {
    pacer_.wait_for_all();
    group_->barrier();
  }

 private:
  // Makes what a step needs for the parameters that are trained.
  void prepare_steps() {
    sentinel_.reset();
    average_ = nullptr;
    optimizer_.reset();
    execution_.reset();
    reducer_.reset();
    reducer_ =
        group_->make_gradient_reducer(tensors_of(trained_parameters(*model_)), reducer_options_, *clock_);
    execution_ = make_step_execution(step_parts());
    make_optimizer_of_parts();
    if (keeps_copies_) prepare_to_collect(replica());
  }

  void begin_optimizer() {
    if (average_ != nullptr) average_->begin();
    optimizer_->begin();
  }

  StepParts step_parts() {
    return {*model_,     *group_,           *reducer_,     *clock_,  train_,
            *objective_, loss_scale_.get(), on_processor_, evaluate_};
  }

  MetricSums make_step(const Share& share, const std::vector<GradientLook>& looks) {
    return dtrain::train_step(step_parts(), *execution_, *optimizer_, looks, share);
  }

  // Whether a look at step `step` needs the gradients as they are before the update.
  bool interrupts_recorded(int64_t step) const {
    return std::any_of(observers_.begin(), observers_.end(), [&](const GradientObserver& observer) {
      const bool can_wait = observer.can_follow_update && records_ && train_.clip_norm == 0;
      return !can_wait && observer.wants(step);
    });
  }

  // A step that the recorder makes, and `looks` at what gradients it has left.
  MetricSums recorded(const Share& share, const std::vector<GradientLook>& looks) {
    MetricSums sums = recorder_.run(
        share, [this](const Share& each) { return make_step(each, {}); },
        [this] { recorded_gradients_ = gradients_of(*reducer_); });
    if (looks.empty()) return sums;
    // An unrecorded step may have been made since, with gradients of its own.
    for (size_t i = 0; recorder_.replayed() && i < recorded_gradients_.size(); ++i)
      reducer_->parts()[i].values.mutable_grad() = recorded_gradients_[i];
    for (const GradientLook& look : looks) look(*reducer_, *group_);
    return sums;
  }

  Replica replica() {
    return {*model_,
            *group_,
            *reducer_,
            *optimizer_,
            device_,
            loss_scale_.get(),
            keeps_copies_ ? &copies_ : nullptr};
  }

  void make_optimizer_of_parts() {
    std::vector<at::Tensor> values;
    std::vector<bool> decayed;
    const Variables parameters = trained_parameters(*model_);
    for (const ParameterPart& part : reducer_->parts()) {
      values.push_back(part.values);
      decayed.push_back(decays(train_.optimizer, parameters[part.parameter].second));
    }
    TrainingOptimizer made = make_training_optimizer(train_, values, decayed);
    average_ = made.average;
    optimizer_ = std::make_unique<WatchedOptimizer>(std::move(made.optimizer), values,
                                                    GrowthBound(train_.optimizer, train_.clip_norm));
    sentinel_ = std::make_unique<Sentinel>(*model_, *group_, *reducer_, *optimizer_, check_every_);
  }

  // Swaps the model's weights between the trained ones and, if `shown`, their average. Collective.
  void show_average(bool shown) {
    if (average_ == nullptr || shown == shows_average_) return;
    group_->barrier();  // until no replica reads variables or the last update, which may be shared
    average_->exchange();
    reducer_->share_update();
    shows_average_ = shown;
  }

  // Each replica keeps moving statistics of its own shares. The value that all agree on is their mean, as in
  // tf.distribute. Evaluations use the mean; training continues with each replica's own values, so that an
  // evaluation changes nothing.
  void agree_on_buffers() {
    if (buffers_agree_) return;
    const at::NoGradGuard no_grad;
    for (auto& [name, buffer] : moving_buffers(*model_)) {
      own_buffers_.push_back(buffer.clone());
      group_->all_reduce_sum(buffer);
      buffer.div_(group_->size());
    }
    buffers_agree_ = true;
  }

  void take_back_buffers() {
    if (own_buffers_.empty()) return;
    const at::NoGradGuard no_grad;
    const Variables buffers = moving_buffers(*model_);
    for (size_t i = 0; i < buffers.size(); ++i) buffers[i].second.copy_(own_buffers_[i]);
    own_buffers_.clear();
    buffers_agree_ = false;
  }

  std::shared_ptr<Model> model_;
  std::unique_ptr<ProcessGroup> group_;
  std::shared_ptr<StepClock> clock_;
  TrainSpec train_;
  std::unique_ptr<Objective> objective_;
  std::shared_ptr<LossScale> loss_scale_;
  std::vector<GradientObserver> observers_;
  std::optional<int64_t> check_every_;
  bool keeps_copies_;
  CopyMemory copies_;
  bool on_processor_;
  EvaluateSpec evaluate_;
  at::Device device_;
  bool records_;
  StepRecorder recorder_;
  std::vector<at::Tensor> recorded_gradients_;  // of parts, in the recording's memory
  StepPacer pacer_;
  ReducerOptions reducer_options_;
  std::unique_ptr<GradientReducer> reducer_;  // refers to the group and the clock: destroyed before them
  std::unique_ptr<StepExecution> execution_;
  std::unique_ptr<WatchedOptimizer> optimizer_;  // updates the reducer's parts
  WeightAverage* average_ = nullptr;             // inside the optimizer; may be null
  std::unique_ptr<Sentinel> sentinel_;
  bool shows_average_ = false;
  bool buffers_agree_ = true;
  std::vector<at::Tensor> own_buffers_;  // saved while the model has the mean of all replicas'; else empty
};

}  // namespace

std::unique_ptr<Strategy> make_mirrored(StrategyParts parts) {
  return std::make_unique<Mirrored>(std::move(parts));
}

}  // namespace dtrain
