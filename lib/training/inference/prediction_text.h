// The output of `dtrain predict` for pictures.
#pragma once

#include <string>

#include "data/dataset.h"
#include "inference/prediction.h"
#include "metrics/event.h"

namespace dtrain {

// A line for people, whose first column has a width: the file, and the most probable classes.
std::string prediction_text(const std::string& file, size_t width, const DatasetInfo& data,
                            const Prediction& prediction);

// A line of a table, and the line above all: the file, its class, and the probability of each class, all of
// which `prediction` has.
std::string prediction_heading(const DatasetInfo& data);
std::string prediction_row(const std::string& file, const DatasetInfo& data, const Prediction& prediction);

Event prediction_document(const std::string& file, const DatasetInfo& data, const Prediction& prediction);

}  // namespace dtrain
