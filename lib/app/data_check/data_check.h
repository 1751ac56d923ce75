// Finds what is wrong with data, or odd about it, before a model learns from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "images/image_set.h"
#include "images/look.h"
#include "pictures/picture_list.h"

namespace dtrain {

enum class DataPart { kTrain, kValidation, kTest, kUnused };
inline constexpr int kDataParts = 4;
const char* name_of(DataPart part);

struct CheckedExample {
  DataPart part = DataPart::kUnused;
  int64_t label = -1;   // -1: its target is no class
  int64_t number = -1;  // of the row in its file, or of the example in its part; pictures have a file
};

// Examples that are the same, ascending.
struct SameExamples {
  bool exact = true;  // the same bytes, or the same inputs; otherwise they look alike
  std::vector<size_t> members;
};

// An example that cannot be read, or not brought to the size that the model takes.
struct BrokenExample {
  size_t example = 0;
  std::string reason;
};

struct SizeRange {
  int64_t least = 0, median = 0, most = 0;
};

struct DataCheck {
  std::string dataset;
  std::string source;                // the folder or file
  std::vector<std::string> classes;  // their names, or numbers; empty: targets are numbers
  std::vector<CheckedExample> examples;
  std::vector<SameExamples> same;  // the larger groups first
  double seconds = 0;              // that it took
  // Of pictures alone. Sizes are those of the upright pictures that can be read.
  std::filesystem::path root;
  std::vector<ImageFile> files;  // below `root`, one for each example
  std::vector<BrokenExample> broken;
  SizeRange widths, heights;
  std::map<std::string, std::vector<size_t>> odd_colours;  // "grey", "inks (CMYK)", ...: all but plain colour
  std::vector<size_t> turned;                              // by their EXIF orientation
  std::vector<size_t> nearly_black;                        // of 16 bits (is_nearly_black())
  std::vector<size_t> other_colours;                       // by their colour profiles, which nobody heeds
  std::map<std::string, int64_t> left_out;                 // PictureList::left_out
  // Of tables alone.
  int64_t rows_to_train = 0;  // the rows of the test's own file have higher numbers of examples
  bool has_test_file = false;
  std::vector<std::pair<std::string, std::string>> columns;  // a column, and what is odd about it
  // Of any data: why training would refuse them, and what it would warn of.
  std::vector<std::string> refused;
  std::vector<std::string> doubtful;

  bool is_sound() const { return broken.empty() && refused.empty(); }
  std::string title_of(size_t example) const;  // "rose/1.jpg", "row 17", "test example 3"
  // Examples of each class in each part: [part][class]; one class without a name if targets are numbers.
  std::vector<std::vector<int64_t>> counts() const;
  bool crosses_parts(const SameExamples& group) const;  // training and test or validation
  bool has_several_labels(const SameExamples& group) const;
};

// Reads all data once, pictures by `threads` threads with one picture each in memory. Notes a picture that it
// cannot read, and continues. Throws Error(kData) if it cannot list the data, or read any of it.
DataCheck check_data(const DataSpec& spec, uint64_t seed, int64_t threads,
                     const OnPrepared& on_progress = {});

// How it checks each kind of data.
void check_pictures(DataCheck& check, const PictureList& list, const DataSpec& spec, int64_t threads,
                    const OnPrepared& on_progress);
void check_table(DataCheck& check, const DataSpec& spec);
// Of datasets whose examples are read as a whole: arrays, IDX, CIFAR, generated ones.
void check_examples(DataCheck& check, const Dataset& dataset, const OnPrepared& on_progress);

// Groups of equal contents. `readable` says which examples count.
std::vector<SameExamples> find_copies(const std::vector<uint64_t>& contents,
                                      const std::vector<bool>& readable);

// Groups of pictures that look alike without being copies of one another, though some in a group may be.
// Takes time in proportion to the pictures; of very many nearly alike ones, compares each with some thousand.
std::vector<SameExamples> find_alike(const std::vector<Look>& looks, const std::vector<uint64_t>& contents,
                                     const std::vector<bool>& readable);

}  // namespace dtrain
