#include "data/dataset.h"

#include <ATen/ops/bincount.h>

#include <filesystem>

#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"
#include "data/table_dataset.h"
#include "files.h"

using namespace dtrain;
using namespace dtrain::test;

namespace fs = std::filesystem;

namespace {

// An empty working folder, with DTRAIN_DATA pointing to its "data".
struct Places {
  TemporaryFolder folder;
  WorkingFolder working{folder.path()};
  Environment environment{"DTRAIN_DATA", (folder.path() / "data").c_str()};
};

DataSpec spec_for(const std::string& dataset) {
  DataSpec spec;
  spec.dataset = dataset;
  return spec;
}

}  // namespace

TEST_CASE("places are searched in order") {
  const Places places;
  const fs::path own = places.folder.path() / "own";
  const fs::path data = places.folder.path() / "data" / "mnist";
  write_dataset(own, 30);
  write_dataset(data, 40);
  write_dataset("datasets/mnist", 50);

  DataSpec spec = spec_for("mnist");
  spec.path = own.string();
  CHECK(find_dataset(spec).source == own.string());
  CHECK(find_dataset(spec).train_examples == 30);
  spec.path.reset();
  CHECK(find_dataset(spec).source == data.string());
  CHECK(find_dataset(spec).train_examples == 40);
  {
    const Environment unset("DTRAIN_DATA", nullptr);
    CHECK(find_dataset(spec).source == "datasets/mnist");
    const Environment empty("DTRAIN_DATA", "");
    CHECK(find_dataset(spec).train_examples == 50);
  }
  fs::remove_all(data);
  CHECK(find_dataset(spec).source == "datasets/mnist");
}

TEST_CASE("a folder may be named with a dash, its files with a dot") {
  const Places places;
  const fs::path folder = "datasets/fashion-mnist";
  write_dataset(folder, 20);
  fs::rename(folder / "train-images-idx3-ubyte.gz", folder / "train-images.idx3-ubyte.gz");
  fs::rename(folder / "t10k-labels-idx1-ubyte", folder / "t10k-labels.idx1-ubyte");
  const Dataset dataset = load_dataset(spec_for("fashion_mnist"), 0);
  CHECK(dataset.info.source == folder.string());
  CHECK(dataset.train->size() == 20);
  CHECK(dataset.test->size() == 10);
}

TEST_CASE("the shape and counts come from the files") {
  const Places places;
  write_dataset("datasets/mnist", 20);
  const Dataset dataset = load_dataset(spec_for("mnist"), 0);
  CHECK(dataset.info.name == "mnist");
  CHECK(dataset.info.requested == "mnist");
  CHECK_FALSE(dataset.info.is_fallback());
  CHECK(dataset.info.example_shape == std::vector<int64_t>{1, 4, 3});
  CHECK(dataset.info.classes == 10);
  CHECK(dataset.info.train_examples == 20);
  CHECK(dataset.info.test_examples == 10);
  CHECK(stored_examples_of(*dataset.train).inputs.sizes() == at::IntArrayRef({20, 1, 4, 3}));
  CHECK(stored_examples_of(*dataset.train).targets.sizes() == at::IntArrayRef({20}));
  CHECK(stored_examples_of(*dataset.test).inputs.sizes() == at::IntArrayRef({10, 1, 4, 3}));
}

TEST_CASE("there are as many classes as the labels name, unless the spec says how many") {
  const Places places;
  const fs::path folder = "datasets/fashion_mnist";
  write_dataset(folder, 20);
  DataSpec spec = spec_for("fashion_mnist");
  CHECK(find_dataset(spec).classes == 10);
  CHECK(find_dataset(spec).class_names.size() == 10);
  const auto with_labels = [&](const std::string& train, const std::string& test) {
    fs::remove(folder / "train-labels-idx1-ubyte.gz");
    write_file(folder / "train-labels-idx1-ubyte", label_file(0).substr(0, 4) + word(20) + train);
    write_file(folder / "t10k-labels-idx1-ubyte", label_file(0).substr(0, 4) + word(10) + test);
  };
  with_labels(std::string(20, '\1'), std::string(10, '\2'));
  CHECK(find_dataset(spec).classes == 3);
  CHECK(find_dataset(spec).class_names.empty());  // not the published classes
  CHECK(load_dataset(spec, 1).info.classes == 3);
  with_labels(std::string(20, '\0'), std::string(10, '\0'));
  CHECK(find_dataset(spec).classes == 2);
  with_labels(std::string(20, '\200'), std::string(10, '\0'));
  CHECK(find_dataset(spec).classes == 10);  // more than are published may be damage
  CHECK_THAT(
      error_of([&] { load_dataset(spec, 1); }),
      ContainsSubstring("label 128 of example 0 is not below the number of classes, 10 (data.classes)"));
  spec.classes = 129;
  CHECK(load_dataset(spec, 1).info.classes == 129);
}

TEST_CASE("a missing dataset is replaced by the fallback, which is told") {
  const Places places;
  write_dataset("datasets/fashion_mnist", 20);
  DataSpec spec = spec_for("mnist");
  spec.fallback = "fashion_mnist";
  const DatasetInfo info = find_dataset(spec);
  CHECK(info.name == "fashion_mnist");
  CHECK(info.requested == "mnist");
  CHECK(info.is_fallback());
  CHECK(describe_dataset(spec).name == "fashion_mnist");

  SECTION("a path to something else is a slip, which no fallback hides") {
    write_dataset("datasets/mnist", 20);
    fs::create_directory("elsewhere");
    write_file("mnist.tar.xz", "an archive");
    for (const char* path : {"elsewhere", "mnist.tar.xz"}) {
      spec.path = path;
      CHECK_THAT(error_of([&] { find_dataset(spec); }),
                 ContainsSubstring("dataset mnist was not found; looked in:"));
    }
    CHECK_THAT(error_of([&] { find_dataset(spec); }),
               ContainsSubstring("mnist.tar.xz (not a folder; an archive must be unpacked)"));
  }
  SECTION("a path that is not there is a slip, which no fallback hides") {
    spec.path = "elsewhre";
    CHECK(error_of([&] { find_dataset(spec); }) ==
          "data.path: elsewhre: there is no such folder; correct it, or leave data.path out to search the "
          "usual "
          "folders and then for data.fallback");
    spec.fallback.reset();
    CHECK_THAT(error_of([&] { load_dataset(spec, 1); }),
               ContainsSubstring("elsewhre: there is no such folder"));
    CHECK(describe_dataset(spec).name == "mnist");  // what is published: planning needs no data
  }
  SECTION("synthetic needs no files") {
    spec.fallback = "synthetic";
    spec.train_examples = 7;
    spec.test_examples = 5;
    spec.class_names = {"a", "b", "c"};  // of the missing dataset
    const Dataset dataset = load_dataset(spec, 1);
    CHECK(dataset.info.class_names.empty());
    CHECK(dataset.info.name == "synthetic");
    CHECK(dataset.info.is_fallback());
    CHECK(dataset.info.source == "generated");
    CHECK(dataset.train->size() == 7);
    CHECK(dataset.test->size() == 5);
  }
}

TEST_CASE("what a model keeps of its data describes it, whatever has become of the files") {
  const Places places;
  write_dataset("datasets/mnist", 20);
  DataSpec spec = spec_for("idx");
  spec.fallback = "mnist";
  spec.saved_table = saved_text(find_dataset(spec));
  fs::remove("datasets/mnist/t10k-images-idx3-ubyte");
  CHECK_THAT(error_of([&] { find_dataset(spec); }), ContainsSubstring("is missing"));
  const DatasetInfo described = describe_dataset(spec);
  CHECK(described.name == "mnist");
  CHECK(described.requested == "idx");
  CHECK(described.example_shape == std::vector<int64_t>{1, 4, 3});
  CHECK(described.classes == 10);
  CHECK(described.train_examples == 20);
  CHECK(described.table.empty());
  spec.saved_table.replace(0, spec.saved_table.find("\"shape\""), "{");  // as earlier versions have saved it
  CHECK(describe_dataset(spec).name == "idx");
}

TEST_CASE("a dataset that is nowhere is an error that lists where it was looked for") {
  const Places places;
  fs::create_directories("datasets/mnist");
  write_file("file", "x");
  DataSpec spec = spec_for("mnist");
  std::string message = error_of([&] { find_dataset(spec); });
  CHECK_THAT(message, ContainsSubstring("dataset mnist was not found"));
  CHECK_THAT(message,
             ContainsSubstring((places.folder.path() / "data/mnist").string() + " (no such folder)"));
  CHECK_THAT(message, ContainsSubstring("datasets/mnist (none of its files)"));
  CHECK_THAT(message, ContainsSubstring("scripts/fetch_dataset mnist"));
  CHECK_THAT(message, ContainsSubstring("data.path"));
  CHECK_THAT(error_of([&] { load_dataset(spec, 0); }), ContainsSubstring("was not found"));
  spec.path = "file";
  CHECK_THAT(error_of([&] { find_dataset(spec); }), ContainsSubstring("file (not a folder; an archive must"));
  {
    const Environment unset("DTRAIN_DATA", nullptr);
    CHECK_THAT(error_of([&] { find_dataset(spec); }), ContainsSubstring("$DTRAIN_DATA is not set"));
  }

  const DatasetInfo info = describe_dataset(spec);
  CHECK(info.source.empty());
  CHECK(info.name == "mnist");
  CHECK(info.example_shape == std::vector<int64_t>{1, 28, 28});
  CHECK(info.classes == 10);
  CHECK(info.train_examples == 60000);
  CHECK(info.test_examples == 10000);
}

TEST_CASE("an incomplete or damaged dataset is never passed over") {
  const Places places;
  const fs::path folder = "datasets/mnist";
  write_dataset(folder, 20);
  DataSpec spec = spec_for("mnist");
  spec.fallback = "synthetic";

  SECTION("one file missing") {
    fs::remove(folder / "t10k-labels-idx1-ubyte");
    CHECK_THAT(error_of([&] { find_dataset(spec); }),
               ContainsSubstring("1 of the dataset's four files is missing: t10k-labels-idx1-ubyte[.gz]"));
  }
  SECTION("three missing, the training images among them") {
    for (const char* name :
         {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte"}) {
      fs::remove(folder / name);
    }
    CHECK_THAT(error_of([&] { find_dataset(spec); }),
               ContainsSubstring("3 of the dataset's four files are missing"));
  }
  SECTION("a folder in the place of a file") {
    fs::remove(folder / "t10k-images-idx3-ubyte");
    fs::create_directory(folder / "t10k-images-idx3-ubyte");
    CHECK_THAT(error_of([&] { find_dataset(spec); }),
               ContainsSubstring("t10k-images-idx3-ubyte: is a folder"));
  }
  SECTION("images and labels of different counts") {
    write_file(folder / "train-labels-idx1-ubyte.gz", gzip(label_file(19)));
    const std::string message = error_of([&] { find_dataset(spec); });
    CHECK_THAT(message, ContainsSubstring("train-images-idx3-ubyte.gz holds 20 images"));
    CHECK_THAT(message, ContainsSubstring("train-labels-idx1-ubyte.gz holds 19 labels"));
  }
  SECTION("test images of another shape") {
    write_file(folder / "t10k-images-idx3-ubyte", image_file(10, 3, 4));
    const std::string message = error_of([&] { find_dataset(spec); });
    CHECK_THAT(message, ContainsSubstring("has images of 4 x 3"));
    CHECK_THAT(message, ContainsSubstring("of 3 x 4"));
  }
  SECTION("a label out of range") {
    write_file(folder / "t10k-labels-idx1-ubyte", word(0x801) + word(10) + std::string(10, '\x0b'));
    CHECK_THAT(error_of([&] { load_dataset(spec, 0); }),
               ContainsSubstring("t10k-labels-idx1-ubyte: byte 8: label 11 of example 0"));
  }
}

TEST_CASE("fewer examples can be asked for, but not more than there are") {
  const Places places;
  write_dataset("datasets/mnist", 20);
  DataSpec spec = spec_for("mnist");
  spec.train_examples = 7;
  spec.test_examples = 3;
  const Dataset dataset = load_dataset(spec, 0);
  CHECK(dataset.info.train_examples == 7);
  CHECK(dataset.train->size() == 7);
  CHECK(stored_examples_of(*dataset.train).inputs.size(0) == 7);
  CHECK(dataset.test->size() == 3);
  spec.train_examples = 21;
  CHECK_THAT(
      error_of([&] { find_dataset(spec); }, ExitCode::kUsage),
      ContainsSubstring("data.train_examples: 21 is more than the 20 examples of mnist in datasets/mnist"));
  fs::remove_all("datasets");
  spec.train_examples = 60001;
  CHECK_THAT(error_of([&] { describe_dataset(spec); }, ExitCode::kUsage),
             ContainsSubstring("60000 examples of mnist"));
}

TEST_CASE("an unknown dataset is a usage error that lists the known") {
  CHECK(dataset_names() == std::vector<std::string>{"mnist", "fashion_mnist", "cifar10", "cifar100", "idx",
                                                    "image_folder", "tar", "image_parquet", "arrays", "csv",
                                                    "parquet", "synthetic"});
  const std::string message = error_of([] { find_dataset(spec_for("fashon_mnist")); }, ExitCode::kUsage);
  CHECK_THAT(message, ContainsSubstring("known: mnist, fashion_mnist, cifar10, cifar100, idx, image_folder, "
                                        "tar, image_parquet, arrays, csv, parquet, synthetic"));
  CHECK_THAT(message, ContainsSubstring("did you mean 'fashion_mnist'?"));
}

TEST_CASE("Fashion-MNIST as Debian installs it") {
  const Places places;  // nothing in the working folder or in DTRAIN_DATA
  INFO("This test needs Debian's package dataset-fashion-mnist; scripts/test installs it.");
  const Dataset dataset = load_dataset(spec_for("fashion_mnist"), 0);
  CHECK(dataset.info.source == "/usr/share/datasets/fashion-mnist");
  CHECK(stored_examples_of(*dataset.train).inputs.sizes() == at::IntArrayRef({60000, 1, 28, 28}));
  CHECK(stored_examples_of(*dataset.test).inputs.sizes() == at::IntArrayRef({10000, 1, 28, 28}));
  CHECK(at::bincount(stored_examples_of(*dataset.train).targets).eq(6000).all().item<bool>());
  CHECK(at::bincount(stored_examples_of(*dataset.test).targets).eq(1000).all().item<bool>());
  // The published mean of the training images is 0.2860.
  const double mean = stored_examples_of(*dataset.train).inputs.sum().item<double>() / (60000.0 * 784 * 255);
  CHECK(mean == Approx(0.2860).margin(5e-5));
}
