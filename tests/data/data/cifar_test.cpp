#include "data/dataset_readers.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"
#include "files.h"

namespace dtrain {
namespace {

using namespace test;

// Records whose pixels are all `first`, first + 1, ..., and whose last label is that number modulo `classes`.
std::string records(int first, int count, int labels, int classes) {
  std::string bytes;
  for (int number = first; number < first + count; ++number) {
    bytes += std::string(static_cast<size_t>(labels - 1), '\x13');
    bytes += static_cast<char>(number % classes);
    bytes += std::string(3072, static_cast<char>(number));
  }
  return bytes;
}

DataSpec spec_of(const std::string& dataset, const TemporaryFolder& folder) {
  DataSpec spec;
  spec.dataset = dataset;
  spec.path = folder.path().string();
  return spec;
}

TEST_CASE("CIFAR-10 is read from its five files and the test's, in their order") {
  const TemporaryFolder folder;
  for (int batch = 0; batch < 5; ++batch)
    folder.write("data_batch_" + std::to_string(batch + 1) + ".bin", records(10 * batch, 4, 1, 10));
  DataSpec spec = spec_of("cifar10", folder);
  CHECK_THAT(error_of([&] { find_dataset(spec); }),
             ContainsSubstring("test_batch.bin: one of the dataset's files"));
  folder.write("test_batch.bin", records(100, 3, 1, 10));
  spec.train_examples = 6;
  const Dataset dataset = load_dataset(spec, 1);
  CHECK(dataset.info.classes == 10);
  CHECK(dataset.info.class_names.at(3) == "cat");
  CHECK(dataset.info.test_examples == 3);
  const StoredExamples train = stored_examples_of(*dataset.train);
  CHECK(train.inputs.sizes() == at::IntArrayRef({6, 3, 32, 32}));
  CHECK(at::equal(train.inputs.select(1, 2).select(1, 31).select(1, 31),
                  at::tensor({0, 1, 2, 3, 10, 11}, at::kByte)));
  CHECK(at::equal(train.targets, at::tensor({0, 1, 2, 3, 0, 1}, at::kLong)));

  folder.write("test_batch.bin", records(100, 3, 1, 10) + "x");
  CHECK_THAT(error_of([&] { find_dataset(spec); }),
             ContainsSubstring("9,220 bytes, which is no multiple of the 3,073"));
  folder.write("test_batch.bin", records(10, 1, 1, 200));
  CHECK_THAT(error_of([&] { load_dataset(spec, 1); }),
             ContainsSubstring("label 10 of example 0 is not below"));
}

TEST_CASE("CIFAR-100 has a coarse label before the one that counts, and a folder as its archive has it") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "cifar-100-binary");
  folder.write("cifar-100-binary/train.bin", records(0, 120, 2, 100));
  folder.write("cifar-100-binary/test.bin", records(90, 5, 2, 100));
  const Dataset dataset = load_dataset(spec_of("cifar100", folder), 1);
  CHECK(dataset.info.classes == 100);
  CHECK(stored_examples_of(*dataset.train).targets[119].item<int64_t>() == 19);
  CHECK(stored_examples_of(*dataset.test).inputs[4][1][0][0].item<int>() == 94);
}

TEST_CASE("an idx folder has files with a name of their own, any size and as many classes as labels") {
  const TemporaryFolder folder;
  folder.write("emnist-letters-train-images-idx3-ubyte", image_file(30, 5, 6));
  folder.write("emnist-letters-train-labels-idx1-ubyte", word(0x801) + word(30) + std::string(30, '\x19'));
  folder.write("emnist-letters-test-images-idx3-ubyte.gz", gzip(image_file(10, 5, 6)));
  folder.write("emnist-letters-test-labels-idx1-ubyte", label_file(10));
  const DataSpec spec = spec_of("idx", folder);
  const Dataset dataset = load_dataset(spec, 1);
  CHECK(dataset.info.classes == 26);
  CHECK(dataset.info.example_shape == std::vector<int64_t>{1, 5, 6});
  CHECK(dataset.train->size() == 30);
  CHECK(dataset.test->size() == 10);
  folder.write("emnist-digits-train-labels-idx1-ubyte", label_file(30));
  CHECK_THAT(error_of([&] { find_dataset(spec); }),
             ContainsSubstring("put each dataset into a folder of its own"));
}

}  // namespace
}  // namespace dtrain
