// The weights of classes in training (train.loss.class_weights), as numbers in the order of the classes.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "data/dataset.h"
#include "job_file/load.h"

namespace dtrain {

// Puts weights by name in the order of the classes. Balanced ones stay so until the examples are known. Adds
// to the problems of `loaded` what does not fit the classes of the data.
ClassWeights resolve_class_weights(LoadedSpec& loaded, const DatasetInfo& data);

// n / (k * n of a class), where n examples have k classes among them: scikit-learn's "balanced", in which all
// examples together weigh as much as without weights. 0 for a class without examples. `labels`: int64 [n].
std::vector<double> balanced_weights(const at::Tensor& labels, int64_t classes);

// "balanced class weights: 0 cat 0.75, 1 dog 1.5"; if there are many classes, only the first ones.
std::string balanced_line(const DatasetInfo& data, const std::vector<double>& weights);

}  // namespace dtrain
