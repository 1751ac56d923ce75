#include "optim/optimizer.h"

#include <numeric>

#include "optim/optimizer_kinds.h"

namespace dtrain {

std::string memory_name(const std::string& memory, const std::string& parameter) {
  return "optimizer." + memory + "." + parameter;
}

void Optimizer::update() {
  if (size() == 0) return;  // kernels over lists reject empty lists
  std::vector<size_t> numbers(size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  update(numbers);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters) {
  return optimizer_method(spec.kind).make(spec, parameters);
}

}  // namespace dtrain
