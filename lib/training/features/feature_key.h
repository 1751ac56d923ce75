// A key of everything that decides the bits of features. It is the name of their file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/model.h"
#include "spec/normalisation.h"

namespace dtrain {

// How features are made of examples. Sums are rounded differently if the work is divided differently.
struct FeatureMaking {
  int64_t layers = 0;           // how many of the model's layers make them
  Normalisation normalisation;  // of pixels
  bool channels_last = false;
  int64_t batch = 0;    // examples of one forward pass
  int64_t parts = 1;    // processes that make a part each
  int64_t threads = 1;  // of each
};

// One of `parts` parts of the data.
struct ExamplePart {
  int64_t part = 0;
  int64_t parts = 1;
};

// The checksum of a part of all examples of `dataset`, inputs and targets, as they are stored; numbers as
// `dtype`. Reads them all. `meet` is called now and then, equally often whatever the part.
std::string checksum_of_examples(const Dataset& dataset, const ExamplePart& part, at::ScalarType dtype,
                                 const std::function<void()>& meet);

// A name for the features: of the layers that make them, of all their variables, of how they are made, of
// the examples (checksum_of_examples() of each part), and of what else may decide the last bits: the
// processor and its instructions in use, LibTorch and this program's version, and what the environment asks
// of oneDNN and MKL.
std::string feature_key(const Model& model, const FeatureMaking& making,
                        const std::vector<std::string>& examples);

}  // namespace dtrain
