#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "models/variables.h"
#include "parameter_server/server_messages.h"
#include "step/collect.h"
#include "step/sentinel.h"
#include "step/train_step.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

// In a checkpoint: int64 [servers, workers], the number of steps of each worker as each server knew it; -1
// for a worker that was lost.
const std::string kWorkerSteps = "workers.steps";
constexpr int64_t kMostSteps = int64_t{1} << 53;
constexpr int64_t kBytesPerKey = int64_t{1} << 20;  // at the store, which does not take values of any size

// The worker's connection to one server.
class ServerLink {
 public:
  ServerLink(std::unique_ptr<PairChannel> channel, ServerPart part, at::ScalarType dtype)
      : channel_(std::move(channel)), part_(std::move(part)), dtype_(dtype) {}

  // The first exchange: checks that both sides have the same model.
  void join() {
    Message greeting;
    greeting.send(*channel_, RequestHeader{.request = Request::kJoin, .elements = part_.elements});
    const AnswerHeader answer = greeting.receive_answer(*channel_);
    if (answer.answer != Answer::kRefused) return;
    throw Error(ExitCode::kUsage,
                "{} holds {} numbers of the model, not the {} that the spec of this worker gives it; start "
                "servers and workers with the same spec",
                channel_->peer(), answer.elements, part_.elements);
  }

  // `on_wait` is called if the server has to wait for other workers.
  AnswerHeader ask(
      const RequestHeader& request, const std::function<void()>& on_wait = [] {}) {
    message_.send(*channel_, request);
    AnswerHeader header = message_.receive_answer(*channel_);
    for (; header.answer == Answer::kWait; header = message_.receive_answer(*channel_)) on_wait();
    return header;
  }

  // From now on messages carry what `phase` trains of the server's part, and so many sums.
  void carry(ServerPart phase, int64_t sums) {
    trained_ = std::move(phase);
    message_ = Message(trained_.elements, dtype_, sums);
  }

  // Receives all values that the server holds [part().elements].
  at::Tensor receive_all() {
    at::Tensor values = new_values(part_);
    channel_->receive(values);
    return values;
  }

  ServerState receive_state(int64_t memories, int workers) {
    ServerState state(memories, trained_.elements, dtype_, workers);
    state.receive(*channel_);
    return state;
  }

  // Sends the server's values and the rest of its state.
  void restore(const at::Tensor& values, const ServerState& state, int32_t phase, int64_t optimizer_steps) {
    message_.send(*channel_, RequestHeader{.request = Request::kRestore,
                                           .sequence = optimizer_steps,
                                           .elements = std::ssize(state.memories),
                                           .phase = phase});
    channel_->send(values);
    state.send(*channel_);
    message_.receive_answer(*channel_);
  }

  std::vector<double> receive_numbers(int64_t count) {
    at::Tensor numbers = at::empty({count}, at::kDouble);
    channel_->receive(numbers);
    const double* first = numbers.const_data_ptr<double>();
    return {first, first + count};
  }

  const std::string& name() const { return channel_->peer(); }
  const ServerPart& part() const { return part_; }
  const ServerPart& trained() const { return trained_; }
  at::Tensor new_values(const ServerPart& part) const { return at::empty({part.elements}, dtype_); }
  at::Tensor& values() { return message_.values(); }  // [trained().elements], variables or gradients
  at::Tensor& sums() { return message_.sums(); }

 private:
  std::unique_ptr<PairChannel> channel_;
  ServerPart part_;
  at::ScalarType dtype_;
  ServerPart trained_;  // of the phase; empty before the first one
  Message message_;
};

int64_t examples_in(const Share& share) {
  int64_t examples = 0;
  for (const MicroBatch& batch : share.micro_batches) examples += batch.size();
  return examples;
}

class ParameterServer : public Strategy {
 public:
  explicit ParameterServer(StrategyParts parts)
      : parts_(std::move(parts)),
        trained_(tensors_of(trained_parameters(*parts_.model))),
        objective_(make_objective(parts_.train)),
        worker_(parts_.servers.worker),
        workers_(parts_.servers.workers),
        phase_(parts_.servers.phase) {
    prepare_steps();
    auto& channels = parts_.servers.channels;
    const auto divided =
        partition_model(*parts_.model, static_cast<int>(channels.size()), parts_.servers.min_shard_bytes);
    for (size_t i = 0; i < channels.size(); ++i)
      servers_.emplace_back(std::move(channels[i]), divided[i], trained_.front().scalar_type());
  }

  bool is_asynchronous() const override { return true; }

  bool begin_phase(int64_t number, const TrainedLayers& layers) override {
    parts_.clock->enter(StepTime::kCommunicate);
    if (worker_ == 0) tell_buffers(number);
    const std::vector<AnswerHeader> answers = ask_to_begin(static_cast<int32_t>(number));
    const auto has_begun = [&](const AnswerHeader& answer) { return answer.phase == number; };
    if (std::ranges::none_of(answers, has_begun)) return false;
    if (!std::ranges::all_of(answers, has_begun))
      throw Error(ExitCode::kPeerLost,
                  "the job stops at a moment when only some servers have begun the phase");
    phase_ = static_cast<int32_t>(number);
    if (worker_ != 0) take_buffers();
    parts_.model->train_layers(layers);
    prepare_steps();
    for (ServerLink& server : servers_) server.carry(trained_part_of(server), sum_count());
    return true;
  }

  int64_t place_variables() override {
    if (parts_.servers.has_weights) worker_ == 0 ? tell_buffers(phase_) : take_buffers();
    join_servers();
    return take_place();
  }

  MetricSums train_step(const Share& share, const StepContext& context) override {
    steps_ = context.step;
    if (examples_in(share) == 0) return send_skip();
    if (!computes_) read(/*computes=*/true);
    Share own = share;
    own.global_examples = examples_in(share);  // this worker's update is its own global batch
    MetricSums sums = execution_->gradients(own, {});
    clip_gradient(step_parts());
    return send_update(sums, context.learning_rate);
  }

  MetricSums evaluate(const Share& share) override {
    if (computes_ || !up_to_date_) read(/*computes=*/false);
    return execution_->evaluate(share);
  }

  MetricSums sum_over_replicas(MetricSums sums) override { return sums; }

  Decision agree(const Decision& own) override {
    Decision decision = own;
    decision.leave = own.leave || others_leave_;
    decision.steps_until = 1;  // it costs nothing, and a step may wait long for a straggler
    return decision;
  }

  std::string check_variables() override { return ""; }  // the servers check

  // Each server reports its state at one moment, but not all servers at the same moment: of an update in
  // progress, one server may have its part and another may not. The workers' steps record this.
  CollectedVariables collect_variables() override {
    if (worker_ != 0) return {};
    const auto answers = ask_all({.request = Request::kCollect});
    receive_all();
    computes_ = false;
    const auto optimizer = whole_optimizer();
    at::Tensor steps = at::zeros({std::ssize(servers_), workers_}, at::kLong);
    std::vector<std::string> suspicions;
    for (size_t i = 0; i < servers_.size(); ++i) {
      ServerState state = servers_[i].receive_state(answers[i].elements, workers_);
      copy_memories(*optimizer, servers_[i].trained(), state, /*to_servers=*/false);
      const std::vector<double> growth = servers_[i].receive_numbers(2);
      const std::string suspicion =
          suspicion_of({growth[0], growth[1]}, "the largest weight of " + servers_[i].name());
      if (!suspicion.empty()) suspicions.push_back(suspicion);
      steps[static_cast<int64_t>(i)].copy_(state.steps);
      optimizer->set_steps(std::max(optimizer->steps(), answers[i].steps));
    }
    CollectedVariables all = collect(as_replica(*optimizer));
    all.training.emplace_back(kWorkerSteps, steps);
    all.suspicion = join(suspicions, "; ");
    return all;
  }

  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    join_servers();
    if (worker_ == 0) restore_servers(variables, step);
    ask_all({.request = Request::kAwait});
    if (worker_ != 0) take_buffers();
    return take_place();
  }

  std::optional<WorkersReport> end_training() override {
    computes_ = up_to_date_ = false;
    ask_all({.request = Request::kEndTraining});
    if (worker_ != 0) return std::nullopt;
    WorkersReport report;
    for (ServerLink& server : servers_) {
      const int64_t count = server.ask({.request = Request::kReport}).elements;
      report.add(WorkersReport::from_values(server.receive_numbers(count)));
    }
    return report;
  }

  void finish() override { ask_all({.request = Request::kLeave}); }

 private:
  void join_servers() {
    parts_.servers.on_wait();
    for (ServerLink& server : servers_) server.join();
  }

  // Sends the request to all servers at once, with the links' values as data, and waits for the answers. Each
  // server has its own thread here: a server that waits for other workers sends kWait repeatedly, and these
  // answers must be read even while another server waits; otherwise workers could wait in a circle.
  std::vector<AnswerHeader> ask_all(const RequestHeader& request) {
    parts_.servers.on_wait();  // a worker that waits for a server must not look like a hung one
    std::vector<AnswerHeader> answers(servers_.size());
    std::vector<std::future<void>> others;
    for (size_t i = 1; i < servers_.size(); ++i)
      others.push_back(std::async(std::launch::async, [&, i] { answers[i] = servers_[i].ask(request); }));
    answers[0] = servers_[0].ask(request, [this] { parts_.clock->enter(StepTime::kWaitForPeers); });
    for (std::future<void>& other : others) other.get();
    others_leave_ = others_leave_ || answers[0].stopping != 0;
    return answers;
  }

  // Reads the variables for the first time. One server may know of a step that another does not know of, if
  // an earlier process of this worker ended between sending to the two. That step is done again, and a server
  // that has already made its update does not make it a second time. Servers may be in a later phase than
  // this one, if this worker comes back late. Its steps are then those before that phase, which the loop
  // begins.
  int64_t take_place() {
    const std::vector<AnswerHeader> answers = ask_to_begin(phase_);
    int32_t latest = 0;
    for (const AnswerHeader& answer : answers) latest = std::max(latest, answer.phase);
    steps_ = std::numeric_limits<int64_t>::max();
    for (const AnswerHeader& answer : answers) {
      if (answer.phase == latest) steps_ = std::min(steps_, answer.steps);
    }
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (answers[i].phase == phase_) servers_[i].carry(trained_part_of(servers_[i]), sum_count());
    }
    return steps_;
  }

  // Waits until all workers have come to the phase, and takes the variables, which are then the same for all.
  std::vector<AnswerHeader> ask_to_begin(int32_t phase) {
    const std::vector<AnswerHeader> answers = ask_all({.request = Request::kBegin, .phase = phase});
    receive_all();
    computes_ = false;
    return answers;
  }

  void prepare_steps() {
    execution_.reset();
    reducer_.reset();
    trained_ = tensors_of(trained_parameters(*parts_.model));
    reducer_ = parts_.group->make_gradient_reducer(trained_, parts_.reducer, *parts_.clock);
    execution_ = make_step_execution(step_parts());
  }

  StepParts step_parts() {
    return {.model = *parts_.model,
            .group = *parts_.group,
            .reducer = *reducer_,
            .clock = *parts_.clock,
            .train = parts_.train,
            .objective = *objective_,
            .evaluate = parts_.evaluate};
  }

  int64_t sum_count() const { return objective_->info().sum_count(parts_.model->outputs()); }

  ServerPart trained_part_of(const ServerLink& server) const {
    std::vector<bool> trained;
    for (const at::Tensor& parameter : parts_.model->parameters())
      trained.push_back(parameter.requires_grad());
    return trained_part(server.part(), trained);
  }

  // An optimizer over whole parameters, so that its memories have the shapes in a checkpoint. Their contents
  // come from the servers or are sent to them.
  std::unique_ptr<Optimizer> whole_optimizer() const {
    std::vector<at::Tensor> values;
    for (const ParameterPart& part : reducer_->parts()) values.push_back(part.values);
    return make_optimizer(parts_.train.optimizer, values);
  }

  Replica as_replica(Optimizer& optimizer) { return {*parts_.model, *parts_.group, *reducer_, optimizer}; }

  static void copy_memories(const Optimizer& whole, const ServerPart& part, ServerState& state,
                            bool to_servers) {
    const auto memories = whole.memory();
    for (size_t i = 0; i < state.memories.size(); ++i) {
      if (to_servers) {
        gather_pieces(part, memories.at(i).tensors, state.memories[i]);
      } else {
        scatter_pieces(part, state.memories[i], memories.at(i).tensors);
      }
    }
  }

  void restore_servers(const CollectedVariables& variables, int64_t step) {
    const auto optimizer = whole_optimizer();
    restore(as_replica(*optimizer), variables);
    tell_buffers(phase_);
    const at::Tensor steps = steps_to_restore(variables, step);
    const int64_t memories = variables.training.empty() ? 0 : std::ssize(optimizer->memory());
    for (size_t i = 0; i < servers_.size(); ++i) {
      ServerLink& server = servers_[i];
      const ServerPart trained = trained_part_of(server);
      at::Tensor values = server.new_values(server.part());
      gather_pieces(server.part(), parts_.model->parameters(), values);
      ServerState state(trained.elements > 0 ? memories : 0, trained.elements, values.scalar_type(),
                        workers_);
      copy_memories(*optimizer, trained, state, /*to_servers=*/true);
      state.steps.copy_(steps[static_cast<int64_t>(i)]);
      server.restore(values, state, phase_, optimizer->steps());
    }
  }

  // Returns int64 [servers, workers]. Workers that were lost start at worker 0's step; if the number of
  // workers has changed, all do. With other servers, an update that only some had made counts as made.
  at::Tensor steps_to_restore(const CollectedVariables& variables, int64_t step) const {
    const at::Tensor all = at::full({std::ssize(servers_), workers_}, step, at::kLong);
    const std::map<std::string, at::Tensor> saved(variables.training.begin(), variables.training.end());
    const auto found = saved.find(kWorkerSteps);
    if (found == saved.end() || found->second.dim() != 2 || found->second.size(0) == 0 ||
        found->second.size(1) != workers_ || found->second.scalar_type() != at::kLong)
      return all;
    at::Tensor steps = found->second.clamp_max(kMostSteps);
    const at::Tensor lost = (steps < 0).any(0, /*keepdim=*/true);
    if (steps.size(0) != all.size(0)) steps = steps.amax(0, /*keepdim=*/true);
    return at::where(lost, all, steps);
  }

  // The servers have parameters only. Worker 0 puts its buffers at the store before it restores the servers
  // or asks them to begin a phase, and the others, also those that come back later, take them when that is
  // done.
  void tell_buffers(int64_t phase) {
    if (!parts_.servers.store) return;
    std::vector<at::Tensor> each = {at::empty({0}, at::kByte)};
    for (const at::Tensor& buffer : parts_.model->buffers())
      each.push_back(buffer.detach().cpu().contiguous().view({-1}).view(at::kByte));
    const at::Tensor bytes = at::cat(each);
    const auto* const data = bytes.data_ptr<uint8_t>();
    for (int64_t begin = 0; begin < bytes.numel(); begin += kBytesPerKey) {
      const int64_t end = std::min(begin + kBytesPerKey, bytes.numel());
      parts_.servers.store->set(buffers_key(phase, begin), std::vector<uint8_t>(data + begin, data + end));
    }
  }

  void take_buffers() {
    if (!parts_.servers.store) return;
    const std::vector<at::Tensor> buffers = parts_.model->buffers();
    int64_t size = 0;
    for (const at::Tensor& buffer : buffers) size += static_cast<int64_t>(buffer.nbytes());
    std::vector<uint8_t> bytes;
    while (std::ssize(bytes) < size) {
      const std::vector<uint8_t> more = parts_.servers.store->get(buffers_key(phase_, std::ssize(bytes)));
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    const uint8_t* next = bytes.data();
    for (const at::Tensor& buffer : buffers) {
      at::Tensor values = at::empty(buffer.sizes(), buffer.scalar_type());
      if (values.numel() > 0) std::memcpy(values.data_ptr(), next, values.nbytes());
      next += values.nbytes();
      buffer.detach().copy_(values);
    }
  }

  static std::string buffers_key(int64_t phase, int64_t first_byte) {
    return fmt::format("buffers of worker 0/phase {}/{}", phase, first_byte);
  }

  void receive_all() {
    const std::vector<at::Tensor> parameters = parts_.model->parameters();
    for (ServerLink& server : servers_) scatter_pieces(server.part(), server.receive_all(), parameters);
    up_to_date_ = true;
  }

  void take_trained() {
    for (ServerLink& server : servers_) scatter_pieces(server.trained(), server.values(), trained_);
    up_to_date_ = true;
  }

  // Fetches the variables. `computes`: an update computed from them will follow.
  void read(bool computes) {
    parts_.clock->enter(StepTime::kCommunicate);
    ask_all({.request = Request::kRead, .computes = computes ? 1 : 0});
    take_trained();
    computes_ = computes;
  }

  MetricSums send_update(MetricSums& sums, double learning_rate) {
    parts_.clock->enter(StepTime::kCommunicate);
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : trained_) gradients.push_back(parameter.grad().contiguous());
    for (ServerLink& server : servers_) {
      gather_pieces(server.trained(), gradients, server.values());
      server.sums().copy_(sums.values());
    }
    const auto answers =
        ask_all({.request = Request::kUpdate, .sequence = steps_, .learning_rate = learning_rate});
    computes_ = answers.front().computes != 0;  // from the variables in the answers
    up_to_date_ = false;
    if (computes_) take_trained();
    parts_.clock->enter(StepTime::kUpdate);
    return sums_to_tell(sums);
  }

  MetricSums send_skip() {
    parts_.clock->enter(StepTime::kCommunicate);
    ask_all({.request = Request::kSkip, .sequence = steps_});
    computes_ = up_to_date_ = false;
    return sums_to_tell(MetricSums(objective_->info(), parts_.model->outputs()));
  }

  // Worker 0 reports the sums of all workers, which the first server has added up and answered with.
  MetricSums sums_to_tell(const MetricSums& own) {
    if (worker_ != 0) return own;
    MetricSums all(objective_->info(), parts_.model->outputs());
    all.values().copy_(servers_.front().sums());
    return all;
  }

  StrategyParts parts_;
  std::vector<at::Tensor> trained_;  // the parameters of the phase
  std::unique_ptr<Objective> objective_;
  int worker_;
  int workers_;
  int32_t phase_;
  std::unique_ptr<GradientReducer> reducer_;  // refers to the group and the clock: destroyed before them
  std::unique_ptr<StepExecution> execution_;
  std::vector<ServerLink> servers_;
  int64_t steps_ = 0;
  bool computes_ = false;      // the servers expect an update computed from the local variables
  bool others_leave_ = false;  // a worker left early because the job is to stop
  bool up_to_date_ = false;    // no training since the variables were read
};

}  // namespace

std::unique_ptr<Strategy> make_parameter_server(StrategyParts parts) {
  return std::make_unique<ParameterServer>(std::move(parts));
}

std::vector<ServerPart> partition_model(const Model& model, int servers, int64_t min_shard_bytes) {
  std::vector<int64_t> lengths;
  for (const at::Tensor& parameter : model.parameters()) lengths.push_back(parameter.numel());
  const auto element_bytes = static_cast<int64_t>(model.parameters().front().element_size());
  return partition_parameters(lengths, element_bytes, servers, min_shard_bytes);
}

}  // namespace dtrain
