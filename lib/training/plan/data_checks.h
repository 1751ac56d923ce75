// What a job asks of its examples.
#pragma once

#include "data/dataset.h"
#include "job_file/load.h"

namespace dtrain {

// Adds a problem for a loss, or a metric to go by, that this data cannot serve.
void check_objective(LoadedSpec& loaded, const DatasetInfo& data);

// The same for what is done to examples: sampling, augmentation, views.
void check_examples(LoadedSpec& loaded, const DatasetInfo& data);

}  // namespace dtrain
