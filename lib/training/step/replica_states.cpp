#include "step/replica_states.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <mutex>

#include "core/random.h"
#include "models/variables.h"

namespace dtrain {
namespace {

void load_buffers(const Model& model, const std::vector<at::Tensor>& from) {
  const at::NoGradGuard no_grad;
  const Variables buffers = model.moving_buffers();
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

int64_t shared_number(ProcessGroup& group, int64_t own) {
  at::Tensor number = at::full({1}, own, at::kLong);
  group.broadcast({number}, 0);
  return number.item<int64_t>();
}

void ReplicaStatistics::begin() {
  alike_ = true;
  own_.clear();
}

void ReplicaStatistics::agree() {
  if (alike_ || !own_.empty()) return;
  const at::NoGradGuard no_grad;
  for (auto& [name, buffer] : model_.moving_buffers()) {
    own_.push_back(buffer.clone());
    if (buffer.is_floating_point()) buffer.copy_(mean_of(buffer));
  }
}

void ReplicaStatistics::take_back() {
  if (own_.empty()) return;
  load_buffers(model_, own_);
  own_.clear();
}

at::Tensor ReplicaStatistics::mean_of(const at::Tensor& buffer) const {
  at::Tensor sum = buffer.clone();
  group_.all_reduce_sum(sum);
  return sum.div_(group_.size());
}

void ReplicaStatistics::set_own(const std::vector<at::Tensor>& buffers) {
  load_buffers(model_, buffers);
  alike_ = false;
}

int64_t VirtualReplicaStates::begin(const Model& model) {
  buffers_ = tensors_of(model.moving_buffers());
  int64_t numbers = sums_;
  for (const at::Tensor& buffer : buffers_) numbers += buffer.numel();
  return numbers;
}

void VirtualReplicaStates::begin_step(int64_t step) {
  step_ = step;
  before_.clear();
  for (const at::Tensor& buffer : buffers_) before_.push_back(buffer.clone());
}

void VirtualReplicaStates::begin_replica(size_t number) {
  if (number > 0) take_back();
  const uint64_t of_replica =
      derive_seed(seed_, SeedPurpose::kReplica, static_cast<uint64_t>(replicas_.own.begin) + number);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(derive_seed(of_replica, SeedPurpose::kStep, static_cast<uint64_t>(step_)));
}

void VirtualReplicaStates::end_replica(size_t number, const at::Tensor& sums, const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  const int64_t index = replicas_.own.begin + static_cast<int64_t>(number);
  double* const own_sums = rows.mutable_data_ptr<double>() + index * rows.stride(0);
  if (sums.defined()) {
    std::copy_n(sums.const_data_ptr<double>(), sums_, own_sums);
  } else {
    std::fill_n(own_sums, sums_, 0.0);
  }
  int64_t next = sums_;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    at::Tensor change = rows[index].narrow(0, next, buffers_[i].numel());
    change.copy_(buffers_[i].reshape(-1)).sub_(before_[i].reshape(-1));
    next += change.numel();
  }
}

at::Tensor VirtualReplicaStates::end_step(const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  const at::Tensor sum = sum_of_rows(rows);
  int64_t next = sums_;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const at::Tensor& buffer = buffers_[i];
    // The first one's counts are those of all.
    at::Tensor change = buffer.is_floating_point() ? sum.narrow(0, next, buffer.numel()).div(replicas_.count)
                                                   : rows[0].narrow(0, next, buffer.numel()).clone();
    buffer.copy_(change.add_(before_[i].reshape(-1)).view(buffer.sizes()));
    next += buffer.numel();
  }
  return sum.narrow(0, 0, sums_);
}

void VirtualReplicaStates::take_back() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(before_[i]);
}

}  // namespace dtrain
