// history.csv: a line for every epoch and every evaluation, for spreadsheets.
//   epoch,step,phase,loss,accuracy,learning_rate,examples_per_second,seconds
// `phase` is train or eval; what a phase does not have is empty. A run that goes on from a checkpoint first
// cuts off what it is to do again.
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context);

}  // namespace dtrain
