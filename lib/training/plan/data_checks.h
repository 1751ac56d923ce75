// What a job asks of its examples.
#pragma once

#include "data/dataset.h"
#include "job_file/load.h"

namespace dtrain {

// Adds a problem for each field that this data cannot serve: a loss of other targets, augmentation of
// numbers.
void check_data(LoadedSpec& loaded, const DatasetInfo& data);

}  // namespace dtrain
