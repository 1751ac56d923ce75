// Folders that hold MNIST, or a dataset in the same four IDX files.
#pragma once

#include <filesystem>
#include <optional>

#include "data/dataset.h"

namespace dtrain {

// The shape and counts of the four files in `folder`, from their headers:
// {train,t10k}-{images-idx3,labels-idx1}-ubyte, with a dot for the second dash or not, with .gz or not.
// `source` becomes the folder. nullopt when the folder holds none of the four. Throws Error(kData) when some
// of them are missing, or when they do not fit together.
std::optional<DatasetInfo> find_mnist(const std::filesystem::path& folder);

// Reads from `info.source` the first info.train_examples and info.test_examples.
Dataset load_mnist(const DatasetInfo& info);

}  // namespace dtrain
