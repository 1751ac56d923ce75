#include "step/replica_states.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

#include "core/random.h"
#include "models/variables.h"

namespace dtrain {
namespace {

// Copies all that decides what a generator draws next. get_state() and set_state() take a hundred times as
// long.
void copy_state(const at::Generator& from, const at::Generator& to) {
  auto* const source = from.get<at::CPUGeneratorImpl>();
  auto* const target = to.get<at::CPUGeneratorImpl>();
  target->set_engine(source->engine());
  target->set_next_float_normal_sample(source->next_float_normal_sample());
  target->set_next_double_normal_sample(source->next_double_normal_sample());
}

// The one that LibTorch's operations draw from.
class GeneratorInUse {
 public:
  void save(const at::Generator& to) const { copy_state(generator_, to); }
  void load(const at::Generator& from) const { copy_state(from, generator_); }

 private:
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock_{generator_.mutex()};
};

std::vector<at::Tensor> copies_of_buffers(const Model& model) {
  std::vector<at::Tensor> copies;
  for (const auto& [name, buffer] : moving_buffers(model)) copies.push_back(buffer.clone());
  return copies;
}

void load_buffers(const Model& model, const std::vector<at::Tensor>& from) {
  const at::NoGradGuard no_grad;
  const Variables buffers = moving_buffers(model);
  for (size_t i = 0; i < from.size(); ++i) buffers[i].second.copy_(from[i]);
}

}  // namespace

at::Tensor gather_rows(ProcessGroup& group, const VirtualReplicas& replicas, const at::Tensor& own) {
  std::vector<int64_t> shape = own.sizes().vec();
  shape.front() = replicas.count;
  at::Tensor rows = at::zeros(shape, own.options());
  rows.narrow(0, replicas.own.begin, replicas.own.size()).copy_(own);
  if (group.size() == 1 || rows.numel() == 0) return rows;
  // Each element is zero on all ranks but one, and the sum is over bytes, so that every value arrives as it
  // is, including negative zeros and NaN.
  at::Tensor bytes = rows.view({-1}).view(at::kByte);
  group.all_reduce_sum(bytes);
  return rows;
}

at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own) {
  return gather_rows(group, {group.size(), {group.rank(), group.rank() + 1}}, own.unsqueeze(0));
}

ReplicaStates::ReplicaStates(Model& model, const VirtualReplicas& replicas, bool are_virtual, uint64_t seed)
    : model_(model),
      replicas_(replicas),
      are_virtual_(are_virtual),
      states_(static_cast<size_t>(replicas.own.size())) {
  const GeneratorInUse in_use;
  for (size_t i = 0; i < count(); ++i) {
    const auto number = static_cast<uint64_t>(replicas.own.begin) + i;
    states_[i].generator =
        at::make_generator<at::CPUGeneratorImpl>(derive_seed(seed, SeedPurpose::kReplica, number));
  }
  if (are_virtual_) in_use.load(states_[used_].generator);
  begin();
}

void ReplicaStates::begin() {
  alike_ = true;
  has_mean_ = false;
  if (count() == 1) return;
  for (State& state : states_) state.buffers = copies_of_buffers(model_);
}

void ReplicaStates::use(size_t number) {
  State& state = states_[number];
  if (number != used_) {
    State& last = states_[used_];
    const GeneratorInUse in_use;
    in_use.save(last.generator);
    in_use.load(state.generator);
    if (!has_mean_) last.buffers = copies_of_buffers(model_);
  }
  if (number != used_ || has_mean_) load_buffers(model_, state.buffers);
  used_ = number;
  has_mean_ = false;
}

void ReplicaStates::agree(ProcessGroup& group) {
  if (alike_ || has_mean_) return;
  const at::NoGradGuard no_grad;
  states_[used_].buffers = copies_of_buffers(model_);
  const std::vector<at::Tensor> own = buffers();
  const Variables all = moving_buffers(model_);
  for (size_t i = 0; i < all.size(); ++i) {
    at::Tensor buffer = all[i].second;
    if (buffer.is_floating_point()) {
      buffer.copy_(sum(group, own[i])).div_(replicas_.count);
    } else if (are_virtual_) {
      buffer.copy_(gather_rows(group, replicas_, own[i])[0]);
    }
  }
  has_mean_ = true;
}

at::Tensor ReplicaStates::sum(ProcessGroup& group, const at::Tensor& rows) const {
  if (are_virtual_) return sum_of_rows(gather_rows(group, replicas_, rows));
  at::Tensor sum = rows.squeeze(0).clone();
  group.all_reduce_sum(sum);
  return sum;
}

at::Tensor ReplicaStates::generators() const {
  std::vector<at::Tensor> rows;
  GeneratorInUse().save(states_[used_].generator);
  for (const State& state : states_) rows.push_back(state.generator.get_state());
  return at::stack(rows);
}

std::vector<at::Tensor> ReplicaStates::buffers() const {
  std::vector<at::Tensor> all;
  const Variables of_model = moving_buffers(model_);
  for (size_t i = 0; i < of_model.size(); ++i) {
    std::vector<at::Tensor> rows;
    for (size_t number = 0; number < count(); ++number)
      rows.push_back(number == used_ && !has_mean_ ? of_model[i].second : states_[number].buffers[i]);
    all.push_back(at::stack(rows));
  }
  return all;
}

void ReplicaStates::set_generator(size_t number, const at::Tensor& state) {
  at::Generator generator = states_[number].generator;
  generator.set_state(state);
  if (number == used_) GeneratorInUse().load(generator);
}

void ReplicaStates::set_buffers(size_t number, const std::vector<at::Tensor>& buffers) {
  if (number == used_) load_buffers(model_, buffers);
  states_[number].buffers = buffers;
}

}  // namespace dtrain
