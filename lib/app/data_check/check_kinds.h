// How check_data() checks each kind of data.
#pragma once

#include "data_check/data_check.h"
#include "pictures/picture_list.h"

namespace dtrain {

void check_pictures(DataCheck& check, const PictureList& list, int64_t threads,
                    const OnPrepared& on_progress);
void check_table(DataCheck& check, const DataSpec& spec);
// Of datasets whose examples are read as a whole: arrays, IDX, CIFAR, generated ones.
void check_examples(DataCheck& check, const Dataset& dataset, const OnPrepared& on_progress);

}  // namespace dtrain
