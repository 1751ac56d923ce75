// Folders that hold MNIST, or a dataset in the same four IDX files.
#pragma once

#include <filesystem>
#include <optional>

#include "data/dataset.h"

namespace dtrain {

// The shape and counts of the four files in `folder`, from their headers:
// {train,t10k}-{images-idx3,labels-idx1}-ubyte, with a dot or a dash before idx, with or without .gz. If none
// is there, each name may have a beginning of its own (emnist-letters-train-images-idx3-ubyte), and test
// stand for t10k. `source` is set to the folder. Returns nullopt if the folder holds none of the four. Throws
// Error(kData) if only some are missing, or if they do not match each other.
std::optional<DatasetInfo> find_mnist(const std::filesystem::path& folder);

// How many classes the labels of the files in `folder` name: one more than the largest, and at least two.
int64_t count_mnist_classes(const std::filesystem::path& folder);

// Reads the first info.train_examples and info.test_examples examples from the files in `info.source`.
Dataset load_mnist(const DatasetInfo& info);

}  // namespace dtrain
