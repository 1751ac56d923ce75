// history.csv: a line for every epoch and every evaluation, for spreadsheets.
//   epoch,step,phase,loss,accuracy,learning_rate,examples_per_second,seconds
// with a column for each metric of the job's loss. `phase` is train or eval; fields that a phase does not
// have are empty. A run that resumes from a checkpoint first removes the lines after that checkpoint.
#pragma once

#include <memory>

#include "callbacks/callback.h"

namespace dtrain {

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context);

}  // namespace dtrain
