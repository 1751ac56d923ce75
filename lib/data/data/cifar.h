// Folders that hold CIFAR-10 or CIFAR-100 in their binary files
// (https://www.cs.toronto.edu/~kriz/cifar.html).
#pragma once

#include <filesystem>
#include <optional>

#include "data/dataset.h"

namespace dtrain {

// Reads the files in `folder`, or in the folder of their archive inside it: data_batch_1.bin to
// data_batch_5.bin and test_batch.bin, or train.bin and test.bin. Any number of examples. Returns nullopt if
// none of them is there. Throws Error(kData) if only some are, or if one is no such file.
std::optional<DatasetInfo> find_cifar10(const std::filesystem::path& folder);
std::optional<DatasetInfo> find_cifar100(const std::filesystem::path& folder);

// Reads the first info.train_examples and info.test_examples examples.
Dataset load_cifar10(const DatasetInfo& info);
Dataset load_cifar100(const DatasetInfo& info);

}  // namespace dtrain
