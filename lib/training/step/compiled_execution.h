// Computes steps by a program that is made once from the model's layers.
#pragma once

#include <memory>

#include "step/step_execution.h"

namespace dtrain {

// Computes steps on `parts`, which must outlive it, and for whose model reason_not_to_compile() is empty.
// They differ from those of autograd by rounding only: losses, metrics, what dropout draws and everything
// around them is the same. Evaluations are computed by programs, too.
std::unique_ptr<StepExecution> make_compiled_execution(const StepParts& parts);

}  // namespace dtrain
