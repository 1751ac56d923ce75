// Ends a training whose evaluations no longer get better. As in Keras, the best value counts from the start,
// and the weights are the last ones: checkpoint.best keeps the best.
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

std::unique_ptr<Callback> make_early_stopping(const CallbackContext& context);

}  // namespace dtrain
