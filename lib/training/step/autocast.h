// Forward passes in 16 bits.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

namespace dtrain {

// The type in which convolutions and dense layers compute, for a value of train.precision; nullopt: the
// model's own type.
std::optional<at::ScalarType> compute_type(const std::string& precision);

// While it lives, this thread's forward passes on `device` convert the inputs and weights of convolutions and
// dense layers to `type`; the weights themselves are not changed. Does nothing if `type` is nullopt.
class Autocast {
 public:
  Autocast(at::DeviceType device, std::optional<at::ScalarType> type);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool active_;
};

}  // namespace dtrain
