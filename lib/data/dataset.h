// The one table of datasets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "spec/spec.h"

namespace dtrain {

// What is known of a dataset before its pixels are read.
struct DatasetInfo {
  std::string name;                  // the one that is used
  std::string requested;             // the one the spec asked for; differs after a fallback
  std::string source;                // the folder, or "generated"
  std::vector<int64_t> image_shape;  // channels, height, width
  int64_t classes = 0;
  int64_t train_examples = 0;  // after data.train_examples
  int64_t test_examples = 0;
  std::vector<std::string> class_names = {};  // by class; empty where classes are just numbers
  bool is_fallback() const { return name != requested; }
};

struct Dataset {
  DatasetInfo info;
  ExampleSourcePtr train;  // neither is null once it is loaded
  ExampleSourcePtr test;
};

// "7", or "7 Sneaker" where the classes have names.
std::string class_title(const DatasetInfo& info, int64_t label);

// The names that `data.dataset` and `data.fallback` accept.
const std::vector<std::string>& dataset_names();

// Looks for the files (spec.path, $DTRAIN_DATA/<name>, datasets/<name> under the working folder, the system's
// place), then for those of spec.fallback, and reads the headers only. Throws Error(kData) that lists where
// it looked and the command that fetches the dataset; Error(kUsage) for an unknown name or for more examples
// than there are. Files that are incomplete or damaged are an error, never passed over for the next place.
DatasetInfo find_dataset(const DataSpec& spec);

// As find_dataset, but when no files are there it answers with the published counts and shape and an empty
// `source`: planning needs no data.
DatasetInfo describe_dataset(const DataSpec& spec);

// Opens it, or reads all of it. `seed` matters to the synthetic dataset only. Throws Error(kData) with file
// and offset.
Dataset load_dataset(const DataSpec& spec, uint64_t seed);

}  // namespace dtrain
