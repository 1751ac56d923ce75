// The variables of a training, and what its optimizer remembers, in the memory of each device of a plugin.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/program_runner.h"
#include "models/variables.h"

namespace dtrain {

// A device's tensors, by the names that programs give them.
using DeviceState = std::map<std::string, DeviceTensorPtr>;

// A copy of `tensor` in the memory of a device, under another type of the same size if one is given.
DeviceTensorPtr send(ProgramRunner& runner, const at::Tensor& tensor, size_t device,
                     std::optional<at::ScalarType> type = std::nullopt);

class DeviceVariables {
 public:
  DeviceVariables(std::shared_ptr<ProgramRunner> runner, size_t devices)
      : runner_(std::move(runner)), states_(devices) {}

  size_t devices() const { return states_.size(); }
  bool empty() const { return states_.front().empty(); }
  const std::vector<DeviceState>& states() const { return states_; }
  void replace(size_t device, const std::string& name, DeviceTensorPtr tensor) {
    states_[device][name] = std::move(tensor);
  }

  // Every device gets these, and has no others.
  void send_to_all(const Variables& variables);
  // Copies a variable of device `device` into `to`, once the device has computed it.
  void read(const std::string& name, size_t device, const at::Tensor& to) const;
  std::vector<at::Tensor> of_each_device(const std::string& name, const at::Tensor& like) const;
  at::Tensor mean(const std::string& name, const at::Tensor& like) const;  // over the devices

 private:
  std::shared_ptr<ProgramRunner> runner_;
  std::vector<DeviceState> states_;
};

}  // namespace dtrain
