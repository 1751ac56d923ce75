// Prints the learning rate after every epoch.
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

std::unique_ptr<Callback> make_print_learning_rate(const CallbackContext& context);

}  // namespace dtrain
