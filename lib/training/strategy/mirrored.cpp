#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "models/variables.h"
#include "optim/optimizer.h"
#include "optim/weight_average.h"
#include "step/collect.h"
#include "step/device_steps.h"
#include "step/outer_update.h"
#include "step/sentinel.h"
#include "step/train_step.h"
#include "strategy/noise_scale.h"
#include "strategy/strategy.h"

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

// Those of this rank.
VirtualReplicas replicas_of(const StrategyParts& parts) {
  const int64_t count = parts.reducer.virtual_replicas, rank = parts.group->rank(),
                size = parts.group->size();
  if (count == 0) return {size, {rank, rank + 1}};
  return {count, share_of({0, count}, rank, size)};
}

constexpr int64_t kMostReady = 64;  // steps for which replicas tell each other that they have the data

class Mirrored : public Strategy {
 public:
  explicit Mirrored(StrategyParts parts)
      : parts_(std::move(parts)),
        objective_(make_objective(parts_.train)),
        keeps_copies_(parts_.collects_often && everyone().rank() == 0),
        device_(parts_.accelerator ? parts_.accelerator->device() : at::Device(at::kCPU)),
        statistics_(*parts_.model, *parts_.group),
        states_(parts_.reducer.virtual_replicas > 0
                    ? std::optional<VirtualReplicaStates>(
                          std::in_place, replicas_of(parts_),
                          objective_->info().sum_count(parts_.model->outputs()), parts_.seed)
                    : std::nullopt),
        records_(parts_.record_steps && !parts_.loss_scale && parts_.accelerator != nullptr),
        recorder_(records_ ? parts_.accelerator : nullptr),
        pacer_(device_, parts_.timeout) {
    if (parts_.train.sync_batch_norm) synchronise_statistics(*parts_.model, *parts_.group, *parts_.clock);
    prepare_steps();
  }

  int64_t place_variables() override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> all;
    for (const auto& [name, tensor] : named_variables(*parts_.model)) all.push_back(tensor.detach());
    everyone().broadcast(all, /*root=*/0);
    statistics_.begin();
    begin_training();
    return 0;
  }

  bool begin_phase(int64_t /*number*/, const TrainedLayers& layers) override {
    pacer_.wait_for_all();
    show_evaluated(false);
    end_round();
    statistics_.agree();
    parts_.group->barrier();  // no replica reads memory any more that this one is about to leave
    recorder_.forget();
    recorded_gradients_.clear();
    parts_.model->train_layers(layers);
    statistics_.begin();
    prepare_steps();
    begin_training();
    return true;
  }

  MetricSums train_step(const Share& share, const StepContext& context) override {
    if (!outer_) return train_together(share, context);
    Share of_host = share;
    const int64_t examples = examples_of_host(share);
    of_host.global_examples = std::max<int64_t>(1, examples);  // what losses are divided by
    MetricSums sums = train_together(of_host, context);
    if (outer_->add_step(examples)) end_round();
    return sums;
  }

  MetricSums evaluate(const Share& share) override {
    statistics_.agree();
    show_evaluated(true);
    return execution_->evaluate(share);
  }

  MetricSums sum_over_replicas(MetricSums sums) override {
    show_evaluated(false);
    MetricSums none(objective_->info(), parts_.model->outputs(), device_);
    if (states_ && !sums.values().defined()) return none;
    if (states_ && sums.values().dim() == 1) return sums;  // of steps: already those of all
    if (states_) {
      sums.values() = sum_of_rows(gather_rows(*parts_.group, states_->replicas(), sums.values()));
    } else {
      sums.add(none);  // this replica may have had no batches
      everyone().all_reduce_sum(sums.values());
    }
    const bool counted = sums.counts().defined();  // on every replica, or on none
    if (counted) everyone().all_reduce_sum(sums.counts());
    pacer_.wait_for_all();
    sums.values() = sums.values().cpu();  // one copy from the device, not one per number
    if (counted) sums.counts() = sums.counts().cpu();
    return sums;
  }

  std::optional<double> take_noise_scale() override {
    return parts_.measures_noise ? noise_.take(everyone()) : std::nullopt;
  }

  void sum_over_evaluating(at::Tensor& values) override { everyone().all_reduce_sum(values); }

  Decision agree(const Decision& own) override {
    show_evaluated(false);
    const bool leads = everyone().rank() == 0;
    at::Tensor words = at::tensor({own.save ? 1.0 : 0.0, own.leave ? 1.0 : 0.0, leads && own.end ? 1.0 : 0.0,
                                   leads ? static_cast<double>(own.steps_until) : 0.0},
                                  at::kDouble)
                           .to(device_);
    pacer_.wait_for_all();  // steps that the device has to do are no cost of the exchange
    const double began = steady_seconds();
    everyone().all_reduce_sum(words);
    pacer_.wait_for_all();
    words = words.cpu();
    const double cost = steady_seconds() - began;
    const double* const sums = words.const_data_ptr<double>();
    const auto until = static_cast<int64_t>(sums[3]);
    return {sums[0] > 0, sums[1] > 0, sums[2] > 0, outer_ ? outer_->round_up(until) : until, cost};
  }

  int64_t fewest_ready(int64_t own) override try {
    at::Tensor lacking = at::arange(kMostReady, at::kLong).ge(own).to(at::kDouble);
    everyone().all_reduce_sum(lacking);
    return lacking.eq(0).sum().item<int64_t>();
  } catch (const Error& error) {
    reducer_->lose_step(error.what());
    throw;
  }

  std::string check_variables() override {
    show_evaluated(false);
    pacer_.wait_for_all();
    return sentinel_->check(outer_ ? std::optional(outer_->digest()) : std::nullopt);
  }

  CollectedVariables collect_variables() override {
    if (reducer_->has_lost_step()) return collect_alone();
    if (outer_) outer_->show_outer(false);
    statistics_.take_back();
    show_average(true);
    pacer_.wait_for_all();
    CollectedVariables all = collect(replica(), [this] { pacer_.wait_for_all(); });
    all.suspicion = sentinel_->suspicion();
    show_average(false);
    pacer_.wait_for_all();
    for (auto& [name, tensor] : all.training) tensor = tensor.cpu();  // generators and buffers
    if (outer_) outer_->collect(all);
    return all;
  }

  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    show_evaluated(false);
    restore(replica(), outer_ ? outer_->restore(variables) : of_first_host(variables));
    if (average_ != nullptr && optimizer_->steps() == 0) {  // only the model was restored
      average_->begin();
    } else if (average_ != nullptr) {
      shows_average_ = true;
      show_average(false);
    }
    optimizer_->begin();
    return step;
  }

  std::optional<WorkersReport> end_training() override {
    show_evaluated(false);
    end_round();
    return std::nullopt;
  }

  void finish() override {
    pacer_.wait_for_all();
    everyone().barrier();
  }

 private:
  void prepare_steps() {
    sentinel_.reset();
    average_ = nullptr;
    optimizer_.reset();
    execution_.reset();
    reducer_.reset();
    if (states_) parts_.reducer.row_numbers = states_->begin(*parts_.model);
    parts_.reducer.whole_parameters = takes_whole(parts_.train);
    reducer_ = parts_.group->make_gradient_reducer(tensors_of(trained_parameters(*parts_.model)),
                                                   parts_.reducer, *parts_.clock);
    execution_ = make_step_execution(step_parts());
    make_optimizer_of_parts();
    if (keeps_copies_) prepare_to_collect(replica());
    if (parts_.all) outer_.emplace(parts_.local_steps, parts_.encoding, *parts_.model, *parts_.all);
  }

  // All replicas; with local steps, `parts_.group` has those of this host.
  ProcessGroup& everyone() { return parts_.all ? *parts_.all : *parts_.group; }

  // In the whole step, of which each replica has a part.
  int64_t examples_of_host(const Share& share) const {
    const int64_t first = parts_.all->rank() - parts_.group->rank(), replicas = parts_.all->size();
    const Range whole = {0, share.global_examples};
    return share_of(whole, first + parts_.group->size() - 1, replicas).end -
           share_of(whole, first, replicas).begin;
  }

  // Of local steps. Does nothing without them, or right after another update.
  void end_round() {
    if (!outer_ || !outer_->is_under_way()) return;
    pacer_.wait_for_all();
    parts_.clock->enter(StepTime::kCommunicate);
    everyone().notify_wait();
    statistics_.agree();
    outer_->update();
    statistics_.begin();
    optimizer_->begin();
    parts_.clock->enter(StepTime::kUpdate);
  }

  void begin_training() {
    if (average_ != nullptr) average_->begin();
    optimizer_->begin();
    if (outer_) outer_->begin();
  }

  StepParts step_parts() {
    return {.model = *parts_.model,
            .group = *parts_.group,
            .reducer = *reducer_,
            .clock = *parts_.clock,
            .train = parts_.train,
            .objective = *objective_,
            .loss_scale = parts_.loss_scale.get(),
            .on_processor = parts_.accelerator == nullptr,
            .evaluate = parts_.evaluate,
            .states = states_ ? &*states_ : nullptr,
            .on_replica = [this](size_t number) {
              if (parts_.receipts) parts_.receipts->add_replica(number);
              if (parts_.measures_noise) noise_.add_replica(number);
            }};
  }

  // A step of the replicas of `parts_.group`.
  MetricSums train_together(const Share& share, const StepContext& context) {
    show_evaluated(false);
    statistics_.take_back();
    statistics_.set_alike(states_ || parts_.train.sync_batch_norm || parts_.group->size() == 1);
    if (states_) states_->begin_step(context.step);
    optimizer_->begin_step(context.learning_rate);
    parts_.clock->enter(StepTime::kCompute);
    std::vector<GradientLook> looks;
    for (const GradientObserver& observer : parts_.observers) {
      if (!observer.wants(context.step)) continue;
      looks.push_back([step = context.step, &observer](const GradientReducer& reducer, ProcessGroup& group) {
        observer.look(step, reducer, group);
      });
    }
    const bool has_receipt = receipt_is_due(context.step);
    if (has_receipt)
      looks.push_back(parts_.receipts->begin(
          context.step, share,
          {trained_parameters(*parts_.model), *reducer_, *parts_.group, replicas_of(parts_)}));
    if (parts_.measures_noise)
      looks.push_back(noise_.begin(share.global_examples, replicas_of(parts_),
                                   tensors_of(trained_parameters(*parts_.model))));
    MetricSums sums = interrupts_recorded(context.step) ? make_step(share, looks) : recorded(share, looks);
    if (has_receipt) parts_.receipts->end();
    pacer_.after_step();
    sentinel_->after_step();
    parts_.clock->enter(StepTime::kUpdate);
    return sums;
  }

  MetricSums make_step(const Share& share, const std::vector<GradientLook>& looks) {
    try {
      return dtrain::train_step(step_parts(), *execution_, *optimizer_, looks, share);
    } catch (const StepLost&) {
      optimizer_->set_steps(optimizer_->steps() - 1);
      states_->take_back();
      throw;
    }
  }

  bool receipt_is_due(int64_t step) const { return parts_.receipts && parts_.receipts->are_due(step); }

  // Whether a look at step `step` needs the gradients as they are before the update.
  bool interrupts_recorded(int64_t step) const {
    if (receipt_is_due(step) || parts_.measures_noise) return true;
    return std::ranges::any_of(parts_.observers, [&](const GradientObserver& observer) {
      const bool can_wait = observer.can_follow_update && records_ && parts_.train.clip_norm == 0;
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
    for (const GradientLook& look : looks) look(*reducer_, *parts_.group);
    return sums;
  }

  Replica replica() {
    return {.model = *parts_.model,
            .group = *parts_.group,
            .reducer = *reducer_,
            .optimizer = *optimizer_,
            .device = device_,
            .loss_scale = parts_.loss_scale.get(),
            .statistics = states_ ? nullptr : &statistics_,
            .keeps_generators = !states_,
            .copies = keeps_copies_ ? &copies_ : nullptr};
  }

  // After StepLost. The averages of the weights, of which others update a part, are not swapped in.
  CollectedVariables collect_alone() {
    CollectedVariables all = collect(replica());
    if (parts_.check_every) all.suspicion = sentinel_->check_own();
    std::map<std::string, at::Tensor*> saved;
    for (auto& [name, tensor] : all.training) saved[name] = &tensor;
    for (auto& [name, tensor] : all.model) {
      const auto average = saved.find(memory_name(WeightAverage::kMemory, name));
      if (average != saved.end()) std::swap(tensor, *average->second);
    }
    return all;
  }

  void make_optimizer_of_parts() {
    std::vector<at::Tensor> values;
    Variables whole;
    const Variables parameters = trained_parameters(*parts_.model);
    for (const ParameterPart& part : reducer_->parts()) {
      values.push_back(part.values);
      whole.push_back(parameters[part.parameter]);
    }
    TrainingOptimizer made = make_training_optimizer(
        parts_.train, values, whole, layer_factors(*parts_.model, whole, parts_.train.layer_decay));
    average_ = made.average;
    std::vector<std::vector<at::Tensor>> memories;
    for (const OptimizerMemory& memory : made.optimizer->memory()) memories.push_back(memory.tensors);
    reducer_->share_memories(memories);
    optimizer_ = std::make_unique<WatchedOptimizer>(
        std::move(made.optimizer), values,
        GrowthBound(optimizer_groups(parts_.train), parts_.train.clip_norm, tallest_of(tensors_of(whole))));
    sentinel_ = std::make_unique<Sentinel>(*parts_.model, everyone(), *reducer_, *optimizer_,
                                           parts_.check_every, /*alone=*/parts_.all != nullptr);
  }

  // The model gets what is evaluated (the weights' average or outer weights) or trained. Collective.
  void show_evaluated(bool shown) {
    show_average(shown);
    if (outer_) outer_->show_outer(shown);
  }

  // Swaps the model's weights between the trained ones and, if `shown`, their average. Collective.
  void show_average(bool shown) {
    if (average_ == nullptr || shown == shows_average_) return;
    parts_.group->inside().barrier();  // until no replica reads variables or the last update
    average_->exchange();
    reducer_->share_update();
    shows_average_ = shown;
  }

  StrategyParts parts_;
  std::unique_ptr<Objective> objective_;
  bool keeps_copies_;
  CopyMemory copies_;
  at::Device device_;
  ReplicaStatistics statistics_;
  std::optional<VirtualReplicaStates> states_;  // strategy.virtual_replicas
  NoiseScale noise_;
  bool records_;
  StepRecorder recorder_;
  std::vector<at::Tensor> recorded_gradients_;  // of parts, in the recording's memory
  StepPacer pacer_;
  std::unique_ptr<GradientReducer> reducer_;  // refers to the group and the clock: destroyed before them
  std::unique_ptr<StepExecution> execution_;
  std::unique_ptr<WatchedOptimizer> optimizer_;  // updates the reducer's parts
  WeightAverage* average_ = nullptr;             // inside the optimizer; may be null
  std::unique_ptr<Sentinel> sentinel_;
  bool shows_average_ = false;
  std::optional<OuterUpdate> outer_;  // strategy.local_steps
};

}  // namespace

std::unique_ptr<Strategy> make_mirrored(StrategyParts parts) {
  return std::make_unique<Mirrored>(std::move(parts));
}

}  // namespace dtrain
