#include "step/step_execution.h"

#include "compiled/compiled_program.h"

namespace dtrain {

std::unique_ptr<StepExecution> make_step_execution(const StepParts& parts) {
  const std::vector<at::Tensor> parameters = parts.model.parameters();
  const bool is_double = !parameters.empty() && parameters.front().scalar_type() == at::kDouble;
  const bool compiles =
      parts.on_processor && reason_not_to_compile(parts.model.layers(), is_double ? "float64" : "float32",
                                                  parts.train, static_cast<size_t>(parts.model.first_layer()))
                                .empty();
  return compiles ? make_compiled_execution(parts) : make_eager_execution(parts);
}

}  // namespace dtrain
