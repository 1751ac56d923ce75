// Where the files of tables are.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/data_errors.h"
#include "core/files.h"
#include "core/text.h"
#include "data/table_dataset.h"
#include "parquet/parquet_file.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// In lower case, as the names of parts are compared.
std::string name_of(const fs::path& path) { return in_lower_case(path.filename().string()); }

bool is_csv_of(const std::string& name, const std::string& part) {
  return name == part + ".csv" || name == part + ".csv.gz";
}

// As the part is written, before other spellings of its name.
fs::path csv_in(const fs::path& folder, const std::string& part) {
  for (const char* const extension : {".csv", ".csv.gz"}) {
    if (fs::path file = folder / (part + extension); fs::exists(file)) return file;
  }
  for (const fs::path& path : paths_in(folder)) {
    if (is_csv_of(name_of(path), part)) return path;
  }
  return {};
}

// Whether a name is that of a file of the part: train.parquet, train0.parquet, train-00000-of-00002.parquet.
bool is_of_part(const std::string& name, const std::string& part) {
  if (part.empty() || name == part + ".parquet") return true;
  if (!name.starts_with(part)) return false;
  const size_t number = name.find_first_of("-_.", part.size()) == part.size() ? part.size() + 1 : part.size();
  return name[number] >= '0' && name[number] <= '9';
}

// The Parquet files of a part, or of the whole folder, by name.
std::vector<fs::path> parquet_in(const fs::path& folder, const std::string& part) {
  std::vector<fs::path> files;
  std::error_code fault, gone;
  for (const fs::path& path : paths_in(folder, fault)) {
    const std::string name = name_of(path);
    const bool hidden = name.starts_with('.') || name.starts_with('_');
    if (!part.empty() && !is_of_part(name, part) && name.starts_with(part) &&
        name.find_first_of("-_.", part.size()) == part.size() && name.ends_with(".parquet"))
      refuse_file(
          path,
          "begins as the files of the {0} part do: name it {0}-00000.parquet if it is one, or else so that "
          "it begins otherwise",
          part);
    if (!hidden && is_of_part(name, part) && name.ends_with(".parquet") && fs::is_regular_file(path, gone))
      files.push_back(path);
  }
  if (fault) fail_on_file(folder, "cannot be read", fault.value());
  return files;
}

// A line about the first file of a validation part; empty: there is none.
std::vector<std::string> warnings_about(const fs::path& folder, bool of_parquet) {
  for (const fs::path& path : paths_in(folder)) {
    const std::string name = name_of(path);
    for (const std::string part : {"validation", "val", "valid", "dev", "eval"}) {
      const bool is_of_validation =
          of_parquet ? name.ends_with(".parquet") && is_of_part(name, part) : is_csv_of(name, part);
      if (is_of_validation)
        return {fmt::format("{} is not read: data.split.validation takes a part of the training examples",
                            printable(path.string(), 1000))};
    }
  }
  return {};
}

TableFiles parquet_files(const fs::path& folder) {
  std::vector<fs::path> train = parquet_in(folder, "train"), test = parquet_in(folder, "test");
  const bool is_one_table = train.empty() && test.empty();
  if (is_one_table) train = parquet_in(folder, "");
  if (train.empty()) refuse_file(folder, "there is no train.parquet or train-00000.parquet in this folder");
  TableFiles files{{test.empty() ? folder : folder / "train", std::move(train)}};
  if (!test.empty()) files.test = TablePath(folder / "test", std::move(test));
  if (!is_one_table) files.warnings = warnings_about(folder, /*of_parquet=*/true);
  return files;
}

}  // namespace

std::string location_of(const DataSpec& spec) {
  if (!spec.path) throw FieldError("data.path", "missing; " + spec.dataset + " has no usual folder");
  return *spec.path;
}

TableFiles table_files(const DataSpec& spec) {
  fs::path path = location_of(spec);
  if (!path.has_filename() && path.has_parent_path()) path = path.parent_path();  // "table/"
  const bool is_folder = fs::is_directory(path);
  if (is_folder && spec.dataset == "parquet") return parquet_files(path);
  TableFiles files{is_folder ? csv_in(path, "train") : path};
  if (is_folder) {
    const fs::path test = csv_in(path, "test");
    if (!test.empty()) files.test = test;
    files.warnings = warnings_about(path, /*of_parquet=*/false);
  }
  const fs::path& train = files.train.name;
  if (train.empty()) refuse_file(path, "there is no train.csv or train.csv.gz in this folder");
  if (!fs::exists(train))
    refuse_file(path.string(),
                "there is no such file or folder; data.path names a table (scripts/make_table makes those of "
                "the examples)");
  if (is_parquet(train) != (spec.dataset == "parquet") && fs::is_regular_file(train))
    refuse_file(path, spec.dataset == "parquet"
                          ? "is no Parquet file; for a table in text use data.dataset: csv"
                          : "is a Parquet file; use data.dataset: parquet");
  return files;
}

}  // namespace dtrain
