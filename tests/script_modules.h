// Modules of TorchScript as torch.jit.script makes them of Python's.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <sstream>
#include <string>

namespace dtrain {

using ScriptUnit = std::shared_ptr<torch::jit::CompilationUnit>;

inline ScriptUnit new_unit() { return std::make_shared<torch::jit::CompilationUnit>(); }

inline torch::jit::Module script_module(const ScriptUnit& unit) {
  torch::jit::Module module(c10::QualifiedName("__torch__.Part"), unit, /*shouldMangle=*/true);
  module.register_attribute("training", c10::BoolType::get(), true);
  return module;
}

// The same numbers in every process.
inline at::Tensor numbers_like(const std::vector<int64_t>& shape, double scale = 0.4) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return (at::arange(count, at::kDouble) * 1.7).sin().mul(scale).to(at::kFloat).view(shape);
}

inline void add_parameter(torch::jit::Module& module, const std::string& name, const at::Tensor& value) {
  module.register_parameter(name, value.detach().clone().set_requires_grad(true), /*is_buffer=*/false);
}

inline torch::jit::Module script_linear(const ScriptUnit& unit, int64_t inputs, int64_t outputs) {
  torch::jit::Module module = script_module(unit);
  add_parameter(module, "weight", numbers_like({outputs, inputs}));
  add_parameter(module, "bias", numbers_like({outputs}, 0.1));
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

// With its count of batches, as PyTorch's has one.
inline torch::jit::Module script_norm(const ScriptUnit& unit, int64_t channels) {
  torch::jit::Module module = script_module(unit);
  add_parameter(module, "weight", at::ones({channels}));
  add_parameter(module, "bias", at::zeros({channels}));
  module.register_buffer("running_mean", at::zeros({channels}));
  module.register_buffer("running_var", at::ones({channels}));
  module.register_buffer("num_batches_tracked", at::scalar_tensor(0, at::kLong));
  module.define(R"(
def forward(self, x: Tensor) -> Tensor:
  if self.training:
    self.num_batches_tracked = torch.add(self.num_batches_tracked, 1)
  mean, var = self.running_mean, self.running_var
  return torch.batch_norm(x, self.weight, self.bias, mean, var, self.training, 0.1, 1e-05, False)
)");
  return module;
}

// [n, 1, 4, 4] -> [n, 3]: linear, norm, an activation, dropout, linear. LibTorch's profiling executor
// computes the gradient of such an activation with other bits after the first pass. `method`: another that
// `rest` may call.
inline torch::jit::Module script_network(const std::string& rest = "self.last.forward(x)",
                                         const std::string& method = "") {
  const ScriptUnit unit = new_unit();
  torch::jit::Module network = script_module(unit);
  network.register_module("first", script_linear(unit, 16, 6));
  network.register_module("norm", script_norm(unit, 6));
  network.register_module("last", script_linear(unit, 6, 3));
  if (!method.empty()) network.define(method);
  network.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  x = self.norm.forward(self.first.forward(torch.flatten(x, 1)))\n"
      "  x = torch.sigmoid(x * 1.5) * x / (1.0 + x * x)\n"
      "  x = torch.dropout(x, 0.3, self.training)\n"
      "  return " +
      rest + "\n");
  return network;
}

// [n, 1, 4, 4] -> what `result` is of `y`, an output of three numbers.
inline torch::jit::Module script_returning(const std::string& result, const std::string& type) {
  const ScriptUnit unit = new_unit();
  torch::jit::Module network = script_module(unit);
  network.register_module("last", script_linear(unit, 16, 3));
  network.define("def forward(self, x: Tensor) -> " + type +
                 ":\n  y = self.last.forward(torch.flatten(x, 1))\n  return " + result + "\n");
  return network;
}

// As script_network(), and prints the text in each pass.
inline torch::jit::Module script_printing(const std::string& text) {
  torch::jit::Module network =
      script_network("self.shown(self.last.forward(x))",
                     "def shown(self, x: Tensor) -> Tensor:\n  print(\"" + text + "\")\n  return x\n");
  return network;
}

inline std::string script_bytes(const torch::jit::Module& module) {
  std::ostringstream out;
  module.save(out);
  return out.str();
}

}  // namespace dtrain
