#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "device/plugins.h"
#include "models/variables.h"
#include "objective/objective.h"
#include "optim/optimizer.h"
#include "optim/weight_average.h"
#include "strategy/step_queue.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

// The host prepares steps while the devices compute. How far it is ahead is how late it notices that the job
// is to stop, or that a loss is not finite.
constexpr size_t kCallsAhead = 2;
constexpr double kLongestCall = 0.25;  // seconds

// A device's tensors, by the names that programs give them.
using DeviceState = std::map<std::string, DeviceTensorPtr>;

// A copy of `tensor` in the memory of a device, under another type of the same size if one is given.
DeviceTensorPtr send(ProgramRunner& runner, const at::Tensor& tensor, size_t device,
                     std::optional<at::ScalarType> type = std::nullopt) {
  const at::Tensor rows = tensor.contiguous();
  return runner.send({rows.const_data_ptr(), type.value_or(rows.scalar_type()), rows.sizes().vec()},
                     static_cast<int64_t>(device));
}

class DeviceProgramStrategy : public Strategy {
 public:
  explicit DeviceProgramStrategy(StrategyParts parts)
      : parts_(std::move(parts)),
        objective_(make_objective(parts_.train)),
        runner_(program_module().open(programs_.plugin, programs_.gpus)),
        states_(static_cast<size_t>(programs_.form.devices)),
        last_sent_(states_.size()),
        queue_(programs_.form.steps, [this] { make_steps(); }) {
    if (programs_.form.devices > runner_->devices())
      throw Error(ExitCode::kUsage,
                  "strategy.replicas is {}, and the plugin {} has {} devices; use at most as many",
                  programs_.form.devices, programs_.plugin, runner_->devices());
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
    parts_.model->train_layers(layers);
    programs_.form.trained = layers.each;
    prepare_steps();
    place_variables();
    return true;
  }

  MetricSums train_step(const Share& share, const StepContext& context) override {
    parts_.clock->enter(StepTime::kCompute);
    evaluated_.clear();
    ++updates_;
    const MicroBatch& batch = share.micro_batches.at(0);
    if (batch.rows().defined()) keep_examples(batch.stored());
    MetricSums sums;
    sums.add_pending(objective_->info(), with_target_sums(queue_.add(step_of(share, context)), batch));
    if (queue_.full()) make_steps();
    parts_.clock->enter(StepTime::kUpdate);
    return sums;
  }

  MetricSums evaluate(const Share& share) override {
    prepare_evaluation();
    MetricSums sums;
    for (const MicroBatch& micro_batch : share.micro_batches) {
      const Batch& batch = micro_batch.stored();
      const at::Tensor outputs =
          evaluated_outputs(*objective_, parts_.evaluate, batch.inputs,
                            [this](const at::Tensor& inputs) { return forward(inputs); });
      sums.add_evaluated(*objective_, outputs, batch.targets, share.keeps_rows);
    }
    return sums;
  }

  MetricSums sum_over_replicas(MetricSums sums) override {
    parts_.clock->enter(StepTime::kCompute);  // what the devices have not done yet
    finish_steps();
    sums.add(MetricSums(objective_->info(), parts_.model->outputs()));  // there may have been no batches
    return sums;
  }

  Decision agree(const Decision& own) override { return own; }

  // Every device has made the same updates of the same sums: their copies have the same bits.
  std::string check_variables() override {
    make_steps();
    for (const auto& [name, host] : state_on_host()) {
      if (moves(name)) continue;  // each device's own
      const at::Tensor first = at::empty_like(host);
      read(name, 0, first);
      for (size_t device = 1; device < states_.size(); ++device) {
        const at::Tensor other = at::empty_like(host);
        read(name, device, other);
        if (std::memcmp(first.data_ptr(), other.data_ptr(), first.nbytes()) != 0)
          throw Error(ExitCode::kDisagree,
                      "memory of device 0 or {} is corrupt: their copies of '{}' differ; --resume goes on "
                      "from the last checkpoint",
                      device, name);
      }
    }
    return "";
  }

  CollectedVariables collect_variables() override {
    fetch_variables();
    exchange_average();
    CollectedVariables all = collect(replica());
    exchange_average();
    if (buffers_agree()) return all;
    for (const auto& [name, buffer] : parts_.model->moving_buffers())
      all.training.emplace_back(kReplicaBuffer + name, at::stack(of_each_device(name, buffer)));
    return all;
  }

  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    finish_steps();
    const bool trains = !variables.training.empty();
    if (!trains && !states_.front().empty()) fetch_variables();  // what the optimizer remembers stays
    restore(replica(), variables);
    updates_ = optimizer_->steps();
    if (trains) exchange_average();
    if (!trains && average_ != nullptr) average_->begin();
    send_variables();
    for (const auto& [name, rows] : variables.training) {
      if (name.rfind(kReplicaBuffer, 0) != 0 || rows.size(0) != std::ssize(states_)) continue;
      const std::string buffer = name.substr(kReplicaBuffer.size());
      if (!states_.front().contains(buffer)) continue;
      for (size_t device = 0; device < states_.size(); ++device)
        states_[device][buffer] = send(*runner_, rows[static_cast<int64_t>(device)], device);
    }
    return step;
  }

  void finish() override {}

 private:
  struct Program {
    DeviceProgram text;
    std::unique_ptr<LoadedProgram> loaded;
  };

  // The sums of a step whose program has made all but those of the targets alone.
  std::shared_future<std::vector<double>> with_target_sums(std::shared_future<std::vector<double>> made,
                                                           const MicroBatch& batch) const {
    const int64_t count = objective_->info().target_sum_count(parts_.model->outputs());
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

  DeviceStep step_of(const Share& share, const StepContext& context) const {
    return {static_cast<double>(updates_), context.learning_rate, static_cast<double>(share.global_examples),
            derive_seed(parts_.seed, SeedPurpose::kStep, static_cast<uint64_t>(context.step)),
            share.micro_batches.at(0)};
  }

  // Tells the devices to make the steps that wait.
  void make_steps() {
    if (queue_.empty()) return;
    const auto argument = [&](const TensorType& type, size_t device) {
      return step_argument(type, queue_.steps(), programs_.form, static_cast<int64_t>(device));
    };
    Program& program = whole_.loaded && queue_.size() == programs_.form.steps ? whole_ : step_;
    ProgramRun made = run(program, states_, argument);
    const std::vector<TensorType>& results = program.text.results;
    for (size_t device = 0; device < states_.size(); ++device) {
      for (size_t i = 0; i + 1 < results.size(); ++i)
        states_[device][results[i].name] = made.results[device][i];
    }
    under_way_.push_back({std::move(made.work), queue_.size(), steady_seconds()});
    queue_.made(made.results.front().back(), results.back().shape.back());
    wait_for_calls(kCallsAhead);
  }

  void finish_steps() {
    make_steps();
    wait_for_calls(0);
  }

  // Until at most `left` are under way. Waits for them in order, so that what went wrong first is told.
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
    for (Program* const program : {&step_, &whole_, &forward_}) *program = {};
    average_ = nullptr;
    optimizer_.reset();
    reducer_ =
        parts_.group->make_gradient_reducer(tensors_of(trained_parameters(*parts_.model)), {}, *parts_.clock);
    std::vector<at::Tensor> values;
    const Variables parameters = trained_parameters(*parts_.model);
    for (const auto& [name, parameter] : parameters) values.push_back(parameter.detach());
    TrainingOptimizer made = make_training_optimizer(parts_.train, values, parameters);
    average_ = made.average;
    optimizer_ = std::move(made.optimizer);
    updates_ = optimizer_->steps();
    step_ = compile(lower_training_step(programs_.model, parts_.train, programs_.form));
    if (!has_whole_calls(programs_.form)) return;
    ProgramForm whole = programs_.form;
    whole.whole_calls = true;
    whole_ = compile(lower_training_step(programs_.model, parts_.train, whole));
  }

  Program compile(DeviceProgram text) const {
    auto loaded =
        runner_->compile(text.text, {programs_.form.devices, programs_.quick_compile, programs_.kernels_in});
    return {std::move(text), std::move(loaded)};
  }

  // Saved models have the weights' average, and the optimizer remembers those that training goes on with.
  void exchange_average() {
    if (average_ != nullptr) average_->exchange();
  }

  // Evaluations use the average of the weights, if there is one, and the mean of the moving statistics over
  // the devices, which keep their own.
  void prepare_evaluation() {
    if (!evaluated_.empty()) return;
    if (!forward_.loaded) {
      ProgramForm form = programs_.form;
      form.rows = parts_.evaluate.batch_per_replica;
      forward_ = compile(lower_forward(programs_.model, form));
    }
    make_steps();
    evaluated_ = states_;
    for (DeviceState& state : evaluated_) {
      if (average_ == nullptr) break;
      for (const auto& [name, parameter] : trained_parameters(*parts_.model))
        state[name] = state.at(memory_name(WeightAverage::kMemory, name));
    }
    if (buffers_agree()) return;
    for (const auto& [name, buffer] : parts_.model->moving_buffers()) {
      const at::Tensor mean = mean_of(name, buffer);
      for (size_t device = 0; device < evaluated_.size(); ++device)
        evaluated_[device][name] = send(*runner_, mean, device);
    }
  }

  // [n, ...] for the inputs of n examples, which each device computes a share of.
  at::Tensor forward(const at::Tensor& inputs) {
    const auto argument = [&](const TensorType& type, size_t device) {
      return filled_up(inputs, share_of_device(device, inputs.size(0)), parts_.evaluate.batch_per_replica,
                       type.type);
    };
    const std::vector<DeviceTensorList> results = run(forward_, evaluated_, argument).results;
    std::vector<at::Tensor> parts;
    for (size_t device = 0; device < results.size(); ++device) {
      const TensorType& type = forward_.text.results.back();
      const at::Tensor outputs = at::empty(type.shape, type.type);
      results[device].back()->read(outputs.data_ptr(), static_cast<int64_t>(outputs.nbytes()));
      parts.push_back(outputs.narrow(0, 0, share_of_device(device, inputs.size(0)).size()));
    }
    return at::cat(parts);
  }

  // Runs a program on the devices' state, the examples that they keep and else argument(type, device).
  template <class Argument>
  ProgramRun run(const Program& program, const std::vector<DeviceState>& states, const Argument& argument) {
    std::vector<DeviceTensorList> arguments(states.size());
    for (size_t device = 0; device < states.size(); ++device) {
      for (const TensorType& type : program.text.arguments) {
        DeviceTensorPtr kept = find(states[device], type.name);
        if (!kept && device < kept_.size()) kept = find(kept_[device], type.name);
        if (!kept) kept = send_again(argument(type, device), device, type);
        arguments[device].push_back(std::move(kept));
      }
    }
    return program.loaded->run(arguments);
  }

  static DeviceTensorPtr find(const DeviceState& state, const std::string& name) {
    const auto found = state.find(name);
    return found == state.end() ? nullptr : found->second;
  }

  // What is small and the same as last time, such as the learning rate, is not sent again.
  DeviceTensorPtr send_again(const at::Tensor& tensor, size_t device, const TensorType& type) {
    constexpr size_t kSmall = 1 << 20;
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
    kept_ = std::vector<DeviceState>(states_.size());  // the old ones go first
    kept_examples_ = stored;
    const bool classes = programs_.form.targets == 0;
    for (size_t device = 0; device < kept_.size(); ++device) {
      kept_[device]["stored_inputs"] = send(*runner_, stored.inputs, device);
      kept_[device]["stored_targets"] =
          send(*runner_, classes ? stored.targets.to(at::kInt) : stored.targets, device);
    }
  }

  // The variables and what the optimizer remembers, by the names that programs and checkpoints give them.
  Variables state_on_host() const {
    Variables all;
    for (const auto& [name, tensor] : named_variables(*parts_.model)) all.emplace_back(name, tensor.detach());
    const Variables trained = trained_parameters(*parts_.model);
    for (const OptimizerMemory& memory : optimizer_->memory()) {
      for (size_t i = 0; i < trained.size(); ++i)
        all.emplace_back(memory_name(memory.name, trained[i].first), memory.tensors[i]);
    }
    return all;
  }

  void send_variables() {
    evaluated_.clear();
    for (size_t device = 0; device < states_.size(); ++device) {
      states_[device].clear();
      for (const auto& [name, tensor] : state_on_host())
        states_[device][name] = send(*runner_, tensor, device);
    }
  }

  // Copies a variable of device `device` into `to`, once the device has computed it.
  void read(const std::string& name, size_t device, const at::Tensor& to) const {
    const at::Tensor rows = to.is_contiguous() ? to : at::empty(to.sizes(), to.options());
    states_[device].at(name)->read(rows.data_ptr(), static_cast<int64_t>(rows.nbytes()));
    if (!to.is_contiguous()) to.copy_(rows);
  }

  std::vector<at::Tensor> of_each_device(const std::string& name, const at::Tensor& like) const {
    std::vector<at::Tensor> all;
    for (size_t device = 0; device < states_.size(); ++device) {
      all.push_back(at::empty_like(like));
      read(name, device, all.back());
    }
    return all;
  }

  at::Tensor mean_of(const std::string& name, const at::Tensor& like) const {
    at::Tensor mean = at::zeros_like(like);
    for (const at::Tensor& each : of_each_device(name, like)) mean.add_(each);
    return mean.div_(std::ssize(states_));
  }

  // Copies the state of device 0 to the host, and the mean of the moving statistics.
  void fetch_variables() {
    make_steps();
    const at::NoGradGuard no_grad;
    optimizer_->set_steps(updates_);
    for (const auto& [name, tensor] : state_on_host()) read(name, 0, tensor);
    if (buffers_agree()) return;
    for (auto& [name, buffer] : parts_.model->moving_buffers()) buffer.copy_(mean_of(name, buffer));
  }

  // With sync_batch_norm all devices have the same moving statistics.
  bool buffers_agree() const { return parts_.train.sync_batch_norm || states_.size() == 1; }

  bool moves(const std::string& name) const {
    if (buffers_agree()) return false;
    const Variables moving = parts_.model->moving_buffers();
    return std::ranges::any_of(moving, [&](const auto& each) { return each.first == name; });
  }

  Replica replica() { return {*parts_.model, *parts_.group, *reducer_, *optimizer_}; }

  // The model and the optimizer hold the values of the last fetch; programs compute on the devices.
  StrategyParts parts_;
  ProgramParts& programs_ = parts_.programs;
  std::unique_ptr<Objective> objective_;
  std::shared_ptr<ProgramRunner> runner_;
  std::unique_ptr<GradientReducer> reducer_;  // names the parts of the optimizer; sums nothing
  std::unique_ptr<Optimizer> optimizer_;
  int64_t updates_ = 0;  // made by the devices; the optimizer's steps are those of the last fetch
  WeightAverage* average_ = nullptr;  // inside the optimizer; may be null
  Program step_;                      // for a step, or as many as a call has
  Program whole_;                     // for calls that are full; none: step_ makes these too
  Program forward_;                   // none: not compiled yet
  std::vector<DeviceState> states_;   // of each device: its variables, and what its optimizer remembers
  Batch kept_examples_;               // those that the devices keep; undefined: none
  std::vector<DeviceState> kept_;     // by device
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

std::unique_ptr<Strategy> make_device_program(StrategyParts parts) {
  return std::make_unique<DeviceProgramStrategy>(std::move(parts));
}

}  // namespace dtrain
