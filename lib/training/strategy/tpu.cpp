#include "strategy/tpu.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "device/tpu.h"
#include "models/variables.h"
#include "objective/evaluated_outputs.h"
#include "optim/decay_groups.h"
#include "optim/training_optimizer.h"
#include "spec/batch_plan.h"
#include "strategy/device_variables.h"
#include "strategy/step_queue.h"

namespace dtrain {
namespace {

// The host prepares steps while the devices compute. How far it is ahead is how late it notices that the job
// is to stop, or that a loss is not finite.
constexpr size_t kCallsAhead = 2;
constexpr double kLongestCall = 0.25;  // seconds

// Rows [range] of `tensor`, as `type`, filled up with zeros to `rows`. May refer to `tensor`.
at::Tensor filled_up(const at::Tensor& tensor, Range range, int64_t rows, at::ScalarType type) {
  const at::Tensor own = tensor.narrow(0, range.begin, range.size());
  if (range.size() == rows) return own.to(type).contiguous();
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape[0] = rows;
  at::Tensor filled = at::zeros(shape, at::TensorOptions(type));
  filled.narrow(0, 0, range.size()).copy_(own);
  return filled;
}

class Tpu : public Strategy {
 public:
  explicit Tpu(StrategyParts parts)
      : model_(std::move(parts.model)),
        group_(std::move(parts.group)),
        clock_(std::move(parts.clock)),
        train_(std::move(parts.train)),
        objective_(make_objective(train_)),
        evaluate_(parts.evaluate),
        programs_(std::move(parts.programs)),
        runner_(program_module().open(programs_.plugin)),
        variables_(runner_, static_cast<size_t>(programs_.form.devices)),
        last_sent_(variables_.devices()),
        queue_(programs_.form.steps, [this] { make_steps(); }) {
    if (programs_.form.devices > runner_->devices())
      throw Error(
          ExitCode::kUsage,
          fmt::format("strategy.replicas is {}, and the plugin {} has {} devices; use at most as many",
                      programs_.form.devices, programs_.plugin, runner_->devices()));
    prepare_steps();
  }

  bool defers_steps() const override { return true; }

  int64_t place_variables() override {
    if (average_ != nullptr) average_->begin();
    send_variables();
    return 0;
  }

  bool begin_phase(int64_t /*number*/, const TrainedLayers& layers) override {
    fetch_variables();
    model_->train_layers(layers);
    programs_.form.trained = layers.each;
    prepare_steps();
    place_variables();
    return true;
  }

  MetricSums train_step(const Share& share, const StepContext& context) override {
    clock_->enter(StepTime::kCompute);
    evaluated_.clear();
    optimizer_->set_steps(optimizer_->steps() + 1);
    const MicroBatch& batch = share.micro_batches.at(0);
    if (batch.rows().defined()) keep_examples(batch.stored());
    MetricSums sums;
    sums.add_pending(objective_->info(), with_target_sums(queue_.add(values_of(share, context)), batch));
    if (queue_.full()) make_steps();
    clock_->enter(StepTime::kUpdate);
    return sums;
  }

  MetricSums evaluate(const Share& share) override {
    prepare_evaluation();
    MetricSums sums;
    for (const MicroBatch& micro_batch : share.micro_batches) {
      const Batch& batch = micro_batch.stored();
      const at::Tensor outputs = evaluated_outputs(
          *objective_, evaluate_, batch.inputs, [this](const at::Tensor& inputs) { return forward(inputs); });
      sums.add_evaluated(*objective_, outputs, batch.targets);
    }
    return sums;
  }

  MetricSums sum_over_replicas(MetricSums sums) override {
    clock_->enter(StepTime::kCompute);  // what the devices have not done yet
    finish_steps();
    sums.add(MetricSums(objective_->info(), model_->outputs()));  // there may have been no batches
    return sums;
  }

  Decision agree(const Decision& own) override { return own; }

  // Every device has made the same updates of the same sums: their copies have the same bits.
  std::string check_variables() override {
    make_steps();
    for (const auto& [name, host] : state_on_host()) {
      if (moves(name)) continue;  // each device's own
      const at::Tensor first = at::empty_like(host);
      variables_.read(name, 0, first);
      for (size_t device = 1; device < variables_.devices(); ++device) {
        const at::Tensor other = at::empty_like(host);
        variables_.read(name, device, other);
        if (std::memcmp(first.data_ptr(), other.data_ptr(), first.nbytes()) != 0)
          throw Error(
              ExitCode::kDisagree,
              fmt::format(
                  "memory of device 0 or {} is corrupt: their copies of '{}' differ; --resume goes on "
                  "from the last checkpoint",
                  device, name));
      }
    }
    return "";
  }

  CollectedVariables collect_variables() override {
    fetch_variables();
    exchange_average();
    CollectedVariables all = collect(replica(), /*buffers_agree=*/true);
    exchange_average();
    if (buffers_agree()) return all;
    for (const auto& [name, buffer] : moving_buffers(*model_))
      all.training.emplace_back(kReplicaBuffer + name, at::stack(variables_.of_each_device(name, buffer)));
    return all;
  }

  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    finish_steps();
    const bool trains = !variables.training.empty();
    if (!trains && !variables_.empty()) fetch_variables();  // what the optimizer remembers stays
    restore(replica(), variables);
    if (trains) exchange_average();
    if (!trains && average_ != nullptr) average_->begin();
    send_variables();
    for (const auto& [name, rows] : variables.training) {
      if (name.rfind(kReplicaBuffer, 0) != 0 || rows.size(0) != std::ssize(variables_.states())) continue;
      const std::string buffer = name.substr(kReplicaBuffer.size());
      if (!variables_.states().front().contains(buffer)) continue;
      for (size_t device = 0; device < variables_.devices(); ++device)
        variables_.replace(device, buffer, send(*runner_, rows[static_cast<int64_t>(device)], device));
    }
    return step;
  }

  std::optional<WorkersReport> end_training() override { return std::nullopt; }

  void finish() override {}

 private:
  // The sums of a step whose program has made all but those of the targets alone.
  std::shared_future<std::vector<double>> with_target_sums(std::shared_future<std::vector<double>> made,
                                                           const MicroBatch& batch) const {
    const int64_t count = objective_->info().target_sum_count(model_->outputs());
    if (count == 0) return made;
    const at::Tensor& stored = batch.stored().targets;
    const at::Tensor sums = at::empty({count}, at::kDouble);
    objective_->sum_up_targets(batch.rows().defined() ? stored.index_select(0, batch.rows()) : stored, sums);
    const auto completed = [made = std::move(made), sums] {
      std::vector<double> all = made.get();
      all.insert(all.end(), sums.const_data_ptr<double>(), sums.const_data_ptr<double>() + sums.numel());
      return all;
    };
    return std::async(std::launch::deferred, completed).share();
  }

  // What each device gets for a step.
  std::vector<StepValues> values_of(const Share& share, const StepContext& context) const {
    const uint64_t seed =
        derive_seed(programs_.seed, SeedPurpose::kStep, static_cast<uint64_t>(context.step));
    const at::Tensor halves = at::empty({2}, at::kInt);  // their bits are what counts
    std::memcpy(halves.data_ptr(), &seed, sizeof seed);
    const StepValues same = {{"step", number(static_cast<double>(optimizer_->steps()))},
                             {"learning_rate", number(context.learning_rate)},
                             {"examples", number(static_cast<double>(share.global_examples))},
                             {"seed", halves}};
    const MicroBatch& batch = share.micro_batches.at(0);
    std::vector<StepValues> of_devices(variables_.devices(), same);
    for (size_t device = 0; device < of_devices.size(); ++device) {
      const Range rows = share_of_device(device, batch.size());
      for (const TensorType& type : step_text_.arguments) {
        if (differs_by_step(type.name) && !same.contains(type.name))
          of_devices[device][type.name] = part_of(batch, type.name, type.type, rows);
      }
    }
    return of_devices;
  }

  // Whether each step has its own of a program's argument.
  bool differs_by_step(const std::string& name) const {
    return name != "count" && !variables_.states().front().contains(name) && name.rfind("stored_", 0) != 0;
  }

  // Tells the devices to make the steps that wait.
  void make_steps() {
    if (queue_.empty()) return;
    const auto argument = [&](const TensorType& type, size_t device) {
      return queue_.argument(type, device);
    };
    ProgramRun made = run(*step_, step_text_, variables_.states(), argument);
    for (size_t device = 0; device < variables_.devices(); ++device) {
      for (size_t i = 0; i + 1 < made.results[device].size(); ++i)
        variables_.replace(device, step_text_.results[i].name, made.results[device][i]);
    }
    under_way_.push_back({std::move(made.work), queue_.size(), steady_seconds()});
    queue_.made(made.results.front().back(), step_text_.results.back().shape.back());
    wait_for_calls(kCallsAhead);
  }

  void finish_steps() {
    make_steps();
    wait_for_calls(0);
  }

  // Until at most `left` are under way. They are waited for in their order, so that what went wrong first is
  // told.
  void wait_for_calls(size_t left) {
    for (; under_way_.size() > left; under_way_.pop_front()) {
      const Call& call = under_way_.front();
      call.work->wait();
      const double began = std::max(call.made, std::exchange(last_finished_, steady_seconds()));
      queue_.limit(kLongestCall, (last_finished_ - began) / static_cast<double>(call.steps));
    }
  }

  // Makes and compiles the program of a step for the parameters that are trained.
  void prepare_steps() {
    finish_steps();
    step_.reset();
    forward_.reset();
    average_ = nullptr;
    optimizer_.reset();
    reducer_ = group_->make_gradient_reducer(tensors_of(trained_parameters(*model_)), {}, *clock_);
    std::vector<at::Tensor> values;
    std::vector<bool> decayed;
    for (const auto& [name, parameter] : trained_parameters(*model_)) {
      values.push_back(parameter.detach());
      decayed.push_back(decays(train_.optimizer, parameter));
    }
    TrainingOptimizer made = make_training_optimizer(train_, values, decayed);
    average_ = made.average;
    optimizer_ = std::move(made.optimizer);
    step_text_ = lower_training_step(programs_.model, train_, programs_.form);
    step_ = runner_->compile(step_text_.text, compile_options());
  }

  CompileOptions compile_options() const { return {programs_.form.devices, programs_.quick_compile}; }

  // Saved models have the average of the weights, and the optimizer remembers those that training goes on
  // with.
  void exchange_average() {
    if (average_ != nullptr) average_->exchange();
  }

  // Evaluations use the average of the weights, if there is one, and the mean of the moving statistics over
  // the devices, which keep their own.
  void prepare_evaluation() {
    if (!evaluated_.empty()) return;
    if (forward_ == nullptr) {
      ProgramForm form = programs_.form;
      form.rows = programs_.evaluated_rows;
      forward_text_ = lower_forward(programs_.model, form);
      forward_ = runner_->compile(forward_text_.text, compile_options());
    }
    make_steps();
    evaluated_ = variables_.states();
    for (DeviceState& state : evaluated_) {
      if (average_ == nullptr) break;
      for (const auto& [name, parameter] : trained_parameters(*model_))
        state[name] = state.at(memory_name(WeightAverage::kMemory, name));
    }
    if (buffers_agree()) return;
    for (const auto& [name, buffer] : moving_buffers(*model_)) {
      const at::Tensor mean = variables_.mean(name, buffer);
      for (size_t device = 0; device < evaluated_.size(); ++device)
        evaluated_[device][name] = send(*runner_, mean, device);
    }
  }

  // [n, ...] for the inputs of n examples, which each device computes a share of.
  at::Tensor forward(const at::Tensor& inputs) {
    const auto argument = [&](const TensorType& type, size_t device) {
      return filled_up(inputs, share_of_device(device, inputs.size(0)), programs_.evaluated_rows, type.type);
    };
    const std::vector<DeviceTensorList> results = run(*forward_, forward_text_, evaluated_, argument).results;
    std::vector<at::Tensor> parts;
    for (size_t device = 0; device < results.size(); ++device) {
      const TensorType& type = forward_text_.results.back();
      const at::Tensor outputs = at::empty(type.shape, type.type);
      results[device].back()->read(outputs.data_ptr(), static_cast<int64_t>(outputs.nbytes()));
      parts.push_back(outputs.narrow(0, 0, share_of_device(device, inputs.size(0)).size()));
    }
    return at::cat(parts);
  }

  // Runs a program on the state of the devices, the examples that they keep and, of what is in neither,
  // argument(type, device).
  template <class Argument>
  ProgramRun run(LoadedProgram& program, const DeviceProgram& text, const std::vector<DeviceState>& states,
                 const Argument& argument) {
    std::vector<DeviceTensorList> arguments(states.size());
    for (size_t device = 0; device < states.size(); ++device) {
      for (const TensorType& type : text.arguments) {
        DeviceTensorPtr kept = find(states[device], type.name);
        if (!kept && device < kept_.size()) kept = find(kept_[device], type.name);
        if (!kept) kept = send_again(argument(type, device), device, type);
        arguments[device].push_back(std::move(kept));
      }
    }
    return program.run(arguments);
  }

  static DeviceTensorPtr find(const DeviceState& state, const std::string& name) {
    const auto found = state.find(name);
    return found == state.end() ? nullptr : found->second;
  }

  // What is small and the same as last time, such as the learning rate, is not sent again.
  DeviceTensorPtr send_again(const at::Tensor& tensor, size_t device, const TensorType& type) {
    constexpr size_t kSmall = 1 << 16;
    if (tensor.nbytes() > kSmall) return send(*runner_, tensor, device, type.type);
    auto& [last, sent] = last_sent_[device][type.name];
    const bool same = last.defined() && last.sizes() == tensor.sizes() &&
                      std::memcmp(last.const_data_ptr(), tensor.const_data_ptr(), tensor.nbytes()) == 0;
    if (!same) {
      sent = send(*runner_, tensor, device, type.type);
      last = tensor.clone();  // its memory may be that of a batch, and have other examples next time
    }
    return sent;
  }

  Range share_of_device(size_t device, int64_t n) const {
    return share_of({0, n}, static_cast<int64_t>(device), programs_.form.devices);
  }

  // Sends each device all examples, of which steps take rows, unless it has them.
  void keep_examples(const Batch& stored) {
    if (kept_examples_.inputs.defined() && kept_examples_.inputs.is_same(stored.inputs)) return;
    finish_steps();
    kept_ = std::vector<DeviceState>(variables_.devices());  // the old ones go first
    kept_examples_ = stored;
    const bool classes = programs_.form.targets == 0;
    for (size_t device = 0; device < kept_.size(); ++device) {
      kept_[device]["stored_inputs"] = send(*runner_, stored.inputs, device);
      kept_[device]["stored_targets"] =
          send(*runner_, classes ? stored.targets.to(at::kInt) : stored.targets, device);
    }
  }

  // A device's rows of what a training step takes of a batch.
  at::Tensor part_of(const MicroBatch& micro_batch, const std::string& name, at::ScalarType type,
                     Range rows) const {
    const int64_t all = programs_.form.rows;
    const Batch& batch = micro_batch.stored();
    if (name == "rows") return filled_up(micro_batch.rows(), rows, all, type);
    if (name == "inputs") return filled_up(batch.inputs, rows, all, type);
    if (name == "targets") return filled_up(batch.targets, rows, all, type);
    if (name == "other_targets") return filled_up(batch.other_targets, rows, all, type);
    if (name == "shares") return filled_up(batch.shares, rows, all, type);
    if (name != "weights") throw Error(ExitCode::kBug, "a program asks for an unknown " + name);
    at::Tensor weights = at::zeros({all});
    weights.narrow(0, 0, rows.size()).fill_(1);
    return weights;
  }

  static at::Tensor number(double value) { return at::scalar_tensor(value, at::kFloat); }

  // The variables and what the optimizer remembers, by the names that programs and checkpoints give them.
  Variables state_on_host() const {
    Variables all;
    for (const auto& [name, tensor] : named_variables(*model_)) all.emplace_back(name, tensor.detach());
    const Variables trained = trained_parameters(*model_);
    for (const OptimizerMemory& memory : optimizer_->memory()) {
      for (size_t i = 0; i < trained.size(); ++i)
        all.emplace_back(memory_name(memory.name, trained[i].first), memory.tensors[i]);
    }
    return all;
  }

  void send_variables() {
    evaluated_.clear();
    variables_.send_to_all(state_on_host());
  }

  // Copies the state of device 0 to the host, and the mean of the moving statistics.
  void fetch_variables() {
    make_steps();
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : state_on_host()) variables_.read(name, 0, tensor);
    if (buffers_agree()) return;
    for (auto& [name, buffer] : moving_buffers(*model_)) buffer.copy_(variables_.mean(name, buffer));
  }

  // With sync_batch_norm all devices have the same moving statistics.
  bool buffers_agree() const { return train_.sync_batch_norm || variables_.devices() == 1; }

  bool moves(const std::string& name) const {
    if (buffers_agree()) return false;
    const Variables moving = moving_buffers(*model_);
    return std::any_of(moving.begin(), moving.end(), [&](const auto& each) { return each.first == name; });
  }

  Replica replica() { return {*model_, *group_, *reducer_, *optimizer_}; }

  // The model and the optimizer hold the values of the last fetch; programs compute on the devices.
  std::shared_ptr<Model> model_;
  std::unique_ptr<ProcessGroup> group_;  // of this process alone
  std::shared_ptr<StepClock> clock_;
  TrainSpec train_;
  std::unique_ptr<Objective> objective_;
  EvaluateSpec evaluate_;
  ProgramParts programs_;
  std::shared_ptr<ProgramRunner> runner_;
  std::unique_ptr<GradientReducer> reducer_;  // names the parts of the optimizer; sums nothing
  std::unique_ptr<Optimizer> optimizer_;
  WeightAverage* average_ = nullptr;  // inside the optimizer; may be null
  DeviceProgram step_text_;
  std::unique_ptr<LoadedProgram> step_;
  DeviceProgram forward_text_;
  std::unique_ptr<LoadedProgram> forward_;  // null: not compiled yet
  DeviceVariables variables_;
  Batch kept_examples_;            // those that the devices keep; undefined: none
  std::vector<DeviceState> kept_;  // by device
  // By device and argument: what was sent last. Programs change none of it.
  std::vector<std::map<std::string, std::pair<at::Tensor, DeviceTensorPtr>>> last_sent_;
  struct Call {
    std::unique_ptr<DeviceWork> work;
    int64_t steps = 1;
    double made = 0;  // steady_seconds()
  };
  std::deque<Call> under_way_;          // that nobody has waited for yet
  double last_finished_ = 0;            // when a call was last waited for
  StepQueue queue_;                     // steps that the devices have not been told of
  std::vector<DeviceState> evaluated_;  // what evaluations use; empty: to be made again
};

}  // namespace

std::unique_ptr<Strategy> make_tpu(StrategyParts parts) { return std::make_unique<Tpu>(std::move(parts)); }

}  // namespace dtrain
