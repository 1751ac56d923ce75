// Readers of the datasets that have no other settings: MNIST, CIFAR and generated pictures.
#pragma once

#include <filesystem>
#include <optional>

#include "data/dataset.h"

namespace dtrain {

// MNIST, or a dataset in the same four IDX files: the shape and counts of the four files in `folder`, from
// their headers: {train,t10k}-{images-idx3,labels-idx1}-ubyte, with a dot or a dash before idx, with or
// without .gz. If none is there, each name may have a beginning of its own
// (emnist-letters-train-images-idx3-ubyte), and test stand for t10k. `source` is set to the folder. Returns
// nullopt if the folder holds none of the four. Throws Error(kData) if some are missing or do not match.
std::optional<DatasetInfo> find_mnist(const std::filesystem::path& folder);

// How many classes the labels of the files in `folder` name: one more than the largest, and at least two.
int64_t count_mnist_classes(const std::filesystem::path& folder);

// Reads the first info.train_examples and info.test_examples examples from the files in `info.source`.
Dataset load_mnist(const DatasetInfo& info);

// CIFAR-10 or CIFAR-100 in their binary files (https://www.cs.toronto.edu/~kriz/cifar.html): reads the files
// in `folder`, or in the folder of their archive inside it: data_batch_1.bin to data_batch_5.bin and
// test_batch.bin, or train.bin and test.bin. Any number of examples. Returns nullopt if none of them is
// there. Throws Error(kData) if only some are, or if one is no such file.
std::optional<DatasetInfo> find_cifar10(const std::filesystem::path& folder);
std::optional<DatasetInfo> find_cifar100(const std::filesystem::path& folder);

// Reads the first info.train_examples and info.test_examples examples.
Dataset load_cifar10(const DatasetInfo& info);
Dataset load_cifar100(const DatasetInfo& info);

// Generated images for benchmarks and tests. They need no files, can have any shape, and a model can learn
// them. They resemble no real data, so an accuracy on them shows only that training works. Throws
// Error(kUsage) if `info` asks for more than kMaxSyntheticBytes, or if a size or a count in it is below 1.
void check_synthetic(const DatasetInfo& info);

// Every class has a prototype of random pixels. An image is the mean of its class's prototype and noise, both
// uniform in 0..255; its label is drawn uniformly. The same `info` and `seed` give the same bytes on every
// machine, and a smaller dataset begins a larger one. Calls check_synthetic() first.
Dataset generate_synthetic(const DatasetInfo& info, uint64_t seed);

}  // namespace dtrain
