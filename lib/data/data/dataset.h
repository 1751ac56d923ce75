// The one table of datasets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "addresses/fetched_files.h"
#include "data/example_source.h"
#include "spec/spec.h"

namespace dtrain {

// Pictures that cannot be read, which data.on_bad_example: skip leaves out of all parts.
struct BadExamples {
  int64_t count = 0;
  std::vector<std::string> first = {};  // a few: the file, and why
  std::string names = {};               // a checksum of their names; empty: there are none
  bool known = true;                    // false: the pictures were not read yet
};

// A description of a dataset, available before its pixels are read.
struct DatasetInfo {
  std::string name;       // the dataset that is used
  std::string requested;  // the dataset that the spec asks for; differs from `name` after a fallback
  std::string source;     // the folder, or "generated"
  std::vector<int64_t> example_shape;  // of an example's inputs: channels, height, width; of numbers any
  int64_t classes = 0;                 // 0: the targets are numbers
  int64_t train_examples = 0;       // to train on, after data.train_examples and without the validation part
  int64_t validation_examples = 0;  // 0: the spec has no data.split
  int64_t test_examples = 0;
  std::vector<std::string> class_names = {};   // by class; empty if the classes have only numbers
  int64_t targets = 0;                         // numbers to predict of an example; 0: its class
  std::vector<std::string> target_names = {};  // of these numbers; may be empty
  bool has_pixels = true;                      // inputs are pixels, and not numbers
  std::string table = {};                      // arrays, csv: what is kept with a model (table_dataset.h)
  std::string reading = {};                    // csv: how its cells are read, in words; not kept in plans
  std::vector<std::string> warnings = {};      // csv: what is doubtful about its columns; not kept in plans
  // arrays, csv: the first target that is a number, but not one from 0 to 1; empty: there is none, or it is
  // not known. Not kept in plans.
  std::string outside_0_to_1 = {};
  BadExamples bad = {};
  std::string content = {};  // of an address: a checksum of its files (addresses/fetched_files.h)
  std::string place = {};    // where their copies are on this host
  std::map<std::string, int64_t> left_out = {};  // of pictures: PictureList::left_out
  // Of all examples as they are stored, in bytes.
  int64_t stored_bytes() const;
  bool is_fallback() const { return name != requested; }
  bool has_validation() const { return validation_examples > 0; }
  // The examples of evaluations during training: the validation part, or without one the test examples.
  int64_t evaluated_examples() const { return has_validation() ? validation_examples : test_examples; }
  // Whether the test examples are evaluated at the end, apart from the evaluations during training.
  bool has_final_test() const { return has_validation() && test_examples > 0; }
};

// train and test are non-null in a loaded dataset.
struct Dataset {
  DatasetInfo info;
  ExampleSourcePtr train;
  ExampleSourcePtr test;
  ExampleSourcePtr validation = {};  // null: the spec has no data.split
};

// "54,000 training, 6,000 validation and 10,000 test examples"
std::string counts_of(const DatasetInfo& info);

// The same, which pictures are left out: "..., without 2 that cannot be read (names 8f14e45f)", and checksums
// of fetched files, and of a table's columns (tables/table_format.h). Equal on hosts with the same data.
std::string fingerprint_of(const DatasetInfo& info);

// "2 pictures cannot be read: rose/1.png: the file is empty; tulip/7.png: ..."
std::string bad_examples_text(const BadExamples& bad);

// "7", or "7 Sneaker" if the classes have names.
std::string class_title(const DatasetInfo& info, int64_t label);

// "Sneaker", or "7" if the classes have no names.
std::string class_name(const DatasetInfo& info, int64_t label);

// The names that `data.dataset` and `data.fallback` accept.
const std::vector<std::string>& dataset_names();

// The spec with copies of its files in the place of an address; they are fetched now if they are not here.
// Other specs, and an address with spec.stream, stay as they are. Throws as fetch_files(), as do those below.
DataSpec with_files_here(const DataSpec& spec);

// Copies of whatever files at an address a dataset may be in, to find out which it is: a file, or a folder.
// Throws as fetch_files() does.
FetchedFiles fetch_any(const std::string& address);

// Looks for the files of the dataset in spec.path, or without one in $DTRAIN_DATA/<name>, datasets/<name>
// under the working folder, and the system's folder; then for the files of spec.fallback. Reads the headers,
// and without spec.classes the labels. Throws Error(kData) that lists the folders it searched and the command
// that fetches the dataset; Error(kData) if there is no folder spec.path, even with a fallback; Error(kUsage)
// for an unknown name, if the spec asks for more examples than the dataset has, or if its validation part
// leaves none to train on. Incomplete or damaged files are an error; they are never skipped in favour of the
// next folder. Pictures that spec.on_bad_example leaves out are counted unless `bad.known`.
DatasetInfo find_dataset(const DataSpec& spec);

// Like find_dataset, but if no files are found, returns the published counts and shape with an empty
// `source`: planning needs no data. Of an address, only tables are fetched. With spec.saved_table, which
// describes what a model was trained on, it does not look for files.
DatasetInfo describe_dataset(const DataSpec& spec);

// Opens the dataset, or reads all of it. Only the synthetic dataset uses `seed`. Throws Error(kData) that
// names the file and the offset.
Dataset load_dataset(const DataSpec& spec, uint64_t seed);

// Told how many of how many pictures are prepared, by one thread at a time.
using OnPrepared = std::function<void(int64_t done, int64_t all)>;

// Does once what takes long, so that load_dataset() is quick, here and in other processes of this host:
// decodes the pictures of an image_folder into the cache, if spec.cache asks for it, and finds those that
// cannot be read, if spec.on_bad_example leaves them out: find_dataset() then knows them. Does nothing for a
// dataset that is not there. Throws as load_dataset() does.
void prepare_dataset(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress = {});

// spec.cache with `auto` resolved: "disk" where such a file is allowed and fits on the disk, else "none".
// Other values, and those of datasets without such a file, stay as they are.
std::string resolve_cache(const DatasetInfo& info, const DataSpec& spec);

// How large the file is that prepare_dataset() makes; 0: it makes none.
int64_t prepared_bytes(const DatasetInfo& info, const DataSpec& spec);

}  // namespace dtrain
