#include "strategy/device_variables.h"

#include <ATen/ATen.h>

namespace dtrain {

DeviceTensorPtr send(ProgramRunner& runner, const at::Tensor& tensor, size_t device,
                     std::optional<at::ScalarType> type) {
  const at::Tensor rows = tensor.contiguous();
  return runner.send({rows.const_data_ptr(), type.value_or(rows.scalar_type()), rows.sizes().vec()},
                     static_cast<int64_t>(device));
}

void DeviceVariables::send_to_all(const Variables& variables) {
  for (size_t device = 0; device < states_.size(); ++device) {
    states_[device].clear();
    for (const auto& [name, tensor] : variables) states_[device][name] = send(*runner_, tensor, device);
  }
}

void DeviceVariables::read(const std::string& name, size_t device, const at::Tensor& to) const {
  if (to.is_contiguous()) {
    states_[device].at(name)->read(to.data_ptr(), static_cast<int64_t>(to.nbytes()));
    return;
  }
  const at::Tensor rows = at::empty(to.sizes(), to.options());
  read(name, device, rows);
  to.copy_(rows);
}

std::vector<at::Tensor> DeviceVariables::of_each_device(const std::string& name,
                                                        const at::Tensor& like) const {
  std::vector<at::Tensor> all;
  for (size_t device = 0; device < states_.size(); ++device) {
    all.push_back(at::empty_like(like));
    read(name, device, all.back());
  }
  return all;
}

at::Tensor DeviceVariables::mean(const std::string& name, const at::Tensor& like) const {
  at::Tensor mean = at::zeros_like(like);
  for (const at::Tensor& each : of_each_device(name, like)) mean.add_(each);
  return mean.div_(std::ssize(states_));
}

}  // namespace dtrain
