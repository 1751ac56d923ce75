// Ends a training whose evaluations no longer improve. As in Keras, the best value since the start counts,
// and the trainer hands back its weights (restore_best).
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

std::unique_ptr<Callback> make_early_stopping(const CallbackContext& context);

}  // namespace dtrain
