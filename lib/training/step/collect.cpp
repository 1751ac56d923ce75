#include "step/collect.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"

namespace dtrain {
namespace {

const std::string kOptimizer = "optimizer.";
const std::string kSteps = "optimizer.steps";
const std::string kLossScale = "loss_scale";
constexpr int kRoot = 0;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ExitCode::kCheckpoint, "the checkpoint's '{}' {}; use the spec that it was trained with", name,
              why);
}

// All elements in memory order, which may be that of channels_last.
at::Tensor in_memory_order(const at::Tensor& tensor) { return tensor.as_strided({tensor.numel()}, {1}); }

at::Tensor host_memory_like(const at::Tensor& tensor) {
  return at::empty_like(tensor, tensor.options().device(at::kCPU).requires_grad(false));
}

// Memory of the host for a copy of `tensor`.
at::Tensor place_for(const Replica& replica, const std::string& name, const at::Tensor& tensor) {
  return replica.copies != nullptr ? replica.copies->take(name, tensor) : host_memory_like(tensor);
}

// Rank 0 alone gets what the optimizer remembers.
void collect_optimizer(const Replica& replica, Variables& all) {
  size_t number = 0;
  for (const OptimizerMemory& memory : replica.optimizer.memory()) {
    std::vector<at::Tensor> whole;
    for (const auto& [name, parameter] : trained_parameters(replica.model)) {
      if (replica.group.rank() != kRoot) break;
      const std::string saved = memory_name(memory.name, name);
      whole.push_back(place_for(replica, saved, parameter));
      all.emplace_back(saved, whole.back());
    }
    replica.reducer.gather_parts(number++, memory.tensors, whole);
  }
  all.emplace_back(kSteps, at::scalar_tensor(replica.optimizer.steps(), at::kLong));
  if (replica.loss_scale != nullptr)  // the same on all replicas
    all.emplace_back(kLossScale, at::tensor(replica.loss_scale->state(), at::kDouble));
}

// The devices whose random generators a replica uses.
std::vector<at::Device> drawing_devices(const Replica& replica) {
  std::vector<at::Device> devices = {at::kCPU};
  if (!replica.device.is_cpu()) devices.push_back(replica.device);
  return devices;
}

std::string generator_name(at::Device device) {
  return "replicas." +
         (device.is_cpu() ? "" : c10::DeviceTypeName(device.type(), /*lower_case=*/true) + "_") + "generator";
}

// The generator's state as bytes, in host memory.
at::Tensor generator_state(at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(at::Device device, const at::Tensor& state) {
  try {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state);
  } catch (const c10::Error&) {
    refuse(generator_name(device), "is no state of a generator of this LibTorch");
  }
}

// The saved tensors that rank 0 has, by name.
class Saved {
 public:
  Saved(const Replica& replica, const Variables& variables)
      : group_(replica.group), tensors_(variables.begin(), variables.end()) {}

  // Returns rank 0's tensor on every rank. `like` gives its shape and type, which rank 0 must have checked.
  at::Tensor share(const std::string& name, const at::Tensor& like) {
    at::Tensor tensor = at::empty(like.sizes(), like.options());  // contiguous, whatever their layout
    if (leads()) tensor.copy_(tensors_.at(name));
    group_.broadcast({tensor}, kRoot);
    return tensor;
  }
  int64_t share(int64_t number) { return shared_number(group_, number); }
  // The rows of `name`, which have the shape and type of `own`; undefined if there are none. With `all`, also
  // undefined unless their number is that one.
  at::Tensor rows(const std::string& name, const at::Tensor& own, std::optional<int64_t> all = {}) {
    const int64_t count = share(count_rows(name, own));
    if (count == 0 || count != all.value_or(count)) return {};
    std::vector<int64_t> shape = own.sizes().vec();
    shape.insert(shape.begin(), count);
    return share(name, at::empty(shape, own.options()));
  }

  bool has(const std::string& name) const { return tensors_.count(name) > 0; }  // meaningful on rank 0 only
  bool leads() const { return group_.rank() == kRoot; }
  void require(const std::string& name, const at::Tensor& like) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) refuse(name, "is missing: it is of another optimizer");
    if (found->second.sizes() != like.sizes() || found->second.scalar_type() != like.scalar_type())
      refuse(name, "has another shape or type than here");
  }
  const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }

 private:
  // The number of rows with the type and shape of `own` on rank 0. Generator states of another LibTorch do
  // not match and do not count.
  int64_t count_rows(const std::string& name, const at::Tensor& own) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end() || found->second.dim() == 0) return 0;
    const at::Tensor& rows = found->second;
    return rows.scalar_type() == own.scalar_type() && rows.sizes().slice(1) == own.sizes() ? rows.size(0) : 0;
  }

  ProcessGroup& group_;
  std::map<std::string, at::Tensor> tensors_;
};

void require_optimizer(const Replica& replica, const Saved& saved) {
  size_t count = 1;
  for (const OptimizerMemory& memory : replica.optimizer.memory()) {
    for (const auto& [name, parameter] : trained_parameters(replica.model)) {
      saved.require(memory_name(memory.name, name), parameter);
      ++count;
    }
  }
  saved.require(kSteps, at::scalar_tensor(0, at::kLong));
  for (const auto& [name, tensor] : saved.tensors()) {
    if (name.compare(0, kOptimizer.size(), kOptimizer) == 0 && count-- == 0)
      refuse(name, "is nothing that this optimizer remembers");
  }
}

void restore_optimizer(const Replica& replica, Saved& saved) {
  const std::vector<ParameterPart>& parts = replica.reducer.parts();
  const Variables parameters = trained_parameters(replica.model);
  for (const OptimizerMemory& memory : replica.optimizer.memory()) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& like = parameters[i].second;
      const std::string name = memory_name(memory.name, parameters[i].first);
      const at::Tensor whole = in_memory_order(at::empty_like(like).copy_(saved.share(name, like)));
      for (size_t part = 0; part < parts.size(); ++part) {
        const ParameterPart& own = parts[part];
        if (own.parameter != i) continue;
        in_memory_order(memory.tensors[part]).copy_(whole.narrow(0, own.begin, own.values.numel()));
      }
    }
  }
  replica.optimizer.set_steps(saved.share(saved.leads() ? saved.tensors().at(kSteps).item<int64_t>() : 0));
}

// A training in another precision saved no loss scale; the scale then starts from its initial value.
void restore_loss_scale(const Replica& replica, Saved& saved) {
  const at::Tensor like = at::zeros({3}, at::kDouble);
  if (replica.loss_scale == nullptr || saved.share(saved.has(kLossScale) ? 1 : 0) == 0) return;
  if (saved.leads()) saved.require(kLossScale, like);
  const at::Tensor state = saved.share(kLossScale, like);
  const double* const numbers = state.const_data_ptr<double>();
  replica.loss_scale->restore({numbers, numbers + 3});
}

void restore_buffers(const Replica& replica, Saved& saved) {
  std::vector<at::Tensor> own;
  for (auto& [name, buffer] : replica.model.moving_buffers()) {
    const at::Tensor rows = saved.rows(kReplicaBuffer + name, buffer, replica.group.size());
    if (!rows.defined()) return;
    own.push_back(rows[replica.group.rank()]);
  }
  if (!own.empty()) replica.statistics->set_own(own);
}

void restore_generators(const Replica& replica, Saved& saved) {
  for (const at::Device device : drawing_devices(replica)) {
    const at::Tensor rows = saved.rows(generator_name(device), generator_state(device));
    if (rows.defined() && replica.group.rank() < rows.size(0))
      set_generator_state(device, rows[replica.group.rank()].clone());
  }
}

}  // namespace

void prepare_to_collect(const Replica& replica) {
  Variables all = named_variables(replica.model);
  for (const OptimizerMemory& memory : replica.optimizer.memory()) {
    for (const auto& [name, parameter] : trained_parameters(replica.model))
      all.emplace_back(memory_name(memory.name, name), parameter);
  }
  replica.copies->prepare(all);
}

CollectedVariables collect(const Replica& replica, const std::function<void()>& wait_for_device) {
  const at::NoGradGuard no_grad;
  CollectedVariables all;
  all.model = named_variables(replica.model);
  for (auto& [name, tensor] : all.model) tensor = place_for(replica, name, tensor).copy_(tensor);
  collect_optimizer(replica, all.training);
  for (const at::Device device : drawing_devices(replica)) {
    if (!replica.keeps_generators) break;
    all.training.emplace_back(generator_name(device), gather_rows(replica.group, generator_state(device)));
  }
  if (replica.statistics == nullptr || replica.statistics->are_alike()) return all;
  std::map<std::string, at::Tensor> copies(all.model.begin(), all.model.end());
  Variables means;
  for (const auto& [name, buffer] : replica.model.moving_buffers()) {
    all.training.emplace_back(kReplicaBuffer + name, gather_rows(replica.group, buffer));
    if (buffer.is_floating_point()) {
      means.emplace_back(name, replica.statistics->mean_of(buffer));
    } else {
      copies.at(name).copy_(all.training.back().second[0]);  // a count: the first one's is saved
    }
  }
  wait_for_device();
  for (const auto& [name, mean] : means) copies.at(name).copy_(mean);
  return all;
}

void restore(const Replica& replica, const CollectedVariables& variables) {
  const at::NoGradGuard no_grad;
  Saved saved(replica, variables.training);
  const bool training = saved.share(variables.training.empty() ? 0 : 1) == 1;
  if (saved.leads()) {
    if (training) require_optimizer(replica, saved);
    write_variables(replica.model, variables.model);
  }
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : named_variables(replica.model)) all.push_back(tensor.detach());
  replica.group.broadcast(all, kRoot);
  if (replica.statistics != nullptr) replica.statistics->begin();
  if (!training) return;
  restore_optimizer(replica, saved);
  restore_loss_scale(replica, saved);
  if (replica.statistics != nullptr) restore_buffers(replica, saved);
  if (replica.keeps_generators) restore_generators(replica, saved);
  replica.group.barrier();  // from here on, variables shared by replicas are written
}

at::Tensor CopyMemory::take(const std::string& name, const at::Tensor& tensor) {
  if (touched_.valid()) touched_.get();
  at::Tensor& kept = kept_[name];
  const bool fits = kept.defined() && kept.sizes() == tensor.sizes() && kept.strides() == tensor.strides() &&
                    kept.scalar_type() == tensor.scalar_type();
  if (!fits || kept.use_count() > 1) kept = host_memory_like(tensor);
  return kept;
}

void CopyMemory::prepare(const Variables& all) {
  if (touched_.valid()) touched_.get();
  kept_.clear();
  std::vector<std::pair<void*, size_t>> places;
  for (const auto& [name, tensor] : all) {
    const at::Tensor& kept = kept_[name] = host_memory_like(tensor);
    places.emplace_back(kept.mutable_data_ptr(), kept.nbytes());
  }
  touched_ = std::async(std::launch::async, [places = std::move(places)] {
    for (const auto& [place, bytes] : places) std::memset(place, 0, bytes);
  });
}

}  // namespace dtrain
