// Datasets of a user's own numbers: `arrays` (NumPy, safetensors), `csv` and `parquet`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "tables/csv_table.h"
#include "tables/table_format.h"

namespace dtrain {

// Whether data.dataset is one of them.
bool is_table_dataset(const std::string& name);

// spec.path. Throws FieldError without one.
std::string location_of(const DataSpec& spec);

// Reads the dataset at spec.path. With spec.saved_table, columns become inputs as it says, and not by the
// training part. Throws Error(kData) for files that are missing, damaged or do not fit each other or the
// spec, FieldError for a split that leaves nothing or examples that are not there. `checks_numbers`: also for
// arrays with numbers that are not finite.
Dataset load_table_dataset(const DataSpec& spec, bool checks_numbers);

// What is kept of any data with a model, as JSON: info.table, or without one its shape, classes and counts.
std::string saved_text(const DatasetInfo& info, const std::string& format = "");

// The reverse, from spec.saved_table, for uses that need no data. Throws Error(kCheckpoint) if dtrain cannot
// have saved it.
DatasetInfo saved_table_dataset(const DataSpec& spec);

// Which rows of the files are which examples. Without a test file the test's are of the training file.
struct ExampleRows {
  std::vector<int64_t> train, validation, test;
};

// The files of a csv or parquet dataset at spec.path; of a folder train.csv and test.csv, or train*.parquet
// and test*.parquet, else all of its .parquet files. Throws Error(kData) without them, or for another kind.
struct TableFiles {
  TablePath train;
  std::optional<TablePath> test = {};
  std::vector<std::string> warnings = {};  // lines about files of a validation part, which are not read
};
TableFiles table_files(const DataSpec& spec);

// Their content before it becomes tensors: values may still be missing.
struct CsvParts {
  RawTable table;
  std::optional<RawTable> test = {};  // of a file of its own
  ExampleRows rows;
  TableFormat format;
};
CsvParts read_csv_parts(const DataSpec& spec);

// What the description has as the format of arrays whose inputs are unsigned bytes, and of others. Earlier
// versions have saved nothing there.
inline constexpr const char *kOfBytes = R"({"bytes":true})", *kOfNumbers = R"({"bytes":false})";

// The format of its columns.
TableFormat table_format_of(const DatasetInfo& info);

}  // namespace dtrain
