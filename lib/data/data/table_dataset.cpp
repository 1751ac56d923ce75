#include "data/table_dataset.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "arrays/array_file.h"
#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/error.h"
#include "core/random.h"
#include "core/range.h"
#include "core/text.h"
#include "core/version.h"
#include "csv/csv_cell.h"
#include "data/example_source.h"
#include "data/shared_table.h"
#include "data/split.h"
#include "job_file/print.h"
#include "pictures/picture_list.h"
#include "tables/plain_column.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostClassesOfArrays = 1'000'000;
// A smaller table is read sooner than others are told where it is.
constexpr int64_t kLeastSharedBytes = int64_t{1} << 20;
constexpr uint64_t kValidationPart = 0, kTestPart = 1;  // streams of random numbers

void limit_rows(const char* field, std::optional<int64_t> limit, std::vector<int64_t>& rows) {
  if (!limit) return;
  if (*limit > std::ssize(rows))
    throw FieldError(field, "{} is more than the {} there are", *limit, rows.size());
  rows.resize(static_cast<size_t>(*limit));
}

// The rows of the training file. `has_test`: the test part has a file of its own.
ExampleRows divide_rows(const DataSpec& spec, int64_t train_rows, bool has_test, const SplitBy& by) {
  const SplitSpec& split = spec.split;
  ExampleRows rows;
  rows.train = consecutive<int64_t>(0, train_rows);
  if (has_test && split.test)
    throw FieldError(kTestField, "there is a test part already, in a file of its own; leave this out");
  if (!has_test && !split.test)
    throw FieldError(kTestField,
                     "missing; {} has no test part of its own: give a part of the examples, such as "
                     "data.split: {{test: 0.2}}",
                     printable(location_of(spec), 1000));
  const auto seed_of = [&](uint64_t stream) {
    return derive_seed(static_cast<uint64_t>(split.seed), SeedPurpose::kSplit, stream);
  };
  if (!has_test) rows.test = take_part(rows.train, kTestField, *split.test, seed_of(kTestPart), by);
  if (!has_test) limit_rows("data.test_examples", spec.test_examples, rows.test);
  limit_rows("data.train_examples", spec.train_examples, rows.train);
  rows.validation = take_validation(rows.train, split, seed_of(kValidationPart), by);
  return rows;
}

// Of a test part with a file of its own.
std::vector<int64_t> rows_of_test_file(const DataSpec& spec, int64_t rows) {
  std::vector<int64_t> test = consecutive<int64_t>(0, rows);
  limit_rows("data.test_examples", spec.test_examples, test);
  return test;
}

// A source of only these rows, or the whole source if they are all.
ExampleSourcePtr part_of(const ExampleSourcePtr& source, const std::vector<int64_t>& rows) {
  return std::ssize(rows) == source->size() ? source : make_selection(source, rows);
}

// The first target below 0 or above 1 by more than rounding, in words; empty: there is none, or they are
// classes.
std::string outside_0_to_1(const ExampleSource& source, const std::vector<std::string>& names) {
  if (source.targets() == 0) return "";
  constexpr double kRounding = 1e-6;
  const at::Tensor targets = stored_examples_of(source).targets;
  const at::Tensor is_outside =
      targets.lt(-kRounding).logical_or_(targets.gt(1 + kRounding)).to(at::kByte).flatten();
  const auto first = is_outside.argmax().item<int64_t>();
  if (is_outside[first].item<uint8_t>() == 0) return "";
  const std::vector<int64_t> row = {first / source.targets()};
  const auto target = static_cast<size_t>(first % source.targets());
  return fmt::format("{} in {}{}", targets.flatten()[first].item<double>(),
                     printable(title_of(source.names_of(row).front()), 200),
                     names.empty() ? "" : ", " + in_column(names[target]));
}

Dataset dataset_of(DatasetInfo info, const ExampleSourcePtr& train, const ExampleSourcePtr& test,
                   const ExampleRows& rows) {
  info.train_examples = std::ssize(rows.train);
  info.validation_examples = std::ssize(rows.validation);
  info.test_examples = std::ssize(rows.test);
  info.example_shape = train->shape().vec();
  info.has_pixels = train->has_pixels();
  info.targets = train->targets();
  info.outside_0_to_1 = outside_0_to_1(*train, info.target_names);
  if (test && info.outside_0_to_1.empty()) info.outside_0_to_1 = outside_0_to_1(*test, info.target_names);
  Dataset dataset{std::move(info), part_of(train, rows.train), part_of(test ? test : train, rows.test)};
  if (!rows.validation.empty()) dataset.validation = make_selection(train, rows.validation);
  return dataset;
}

// Calls `visit` with the name and the value of each that is kept with a model.
template <class Info, class Visit>
void visit_kept(Info& info, const Visit& visit) {
  visit("shape", info.example_shape);
  visit("has_pixels", info.has_pixels);
  visit("classes", info.classes);
  visit("class_names", info.class_names);
  visit("targets", info.targets);
  visit("target_names", info.target_names);
  visit("train_examples", info.train_examples);
  visit("validation_examples", info.validation_examples);
  visit("test_examples", info.test_examples);
}

// csv, parquet

TableWish wish_of(const DataSpec& spec) {
  TableWish wish;
  wish.targets = spec.target;
  wish.ignored = spec.ignore;
  for (const auto& column : {spec.id, spec.split.group}) {
    if (column) wish.ignored.push_back(*column);
  }
  wish.classes = spec.target_kind == "classes";
  wish.fills_missing = spec.missing == "mean";
  wish.kinds = spec.columns;
  wish.missing_values = spec.missing_values;
  wish.style = {sign_of(spec.decimal), sign_of(spec.thousands)};
  wish.separator = sign_of(spec.separator);
  if (wish.classes && wish.targets.size() != 1)
    throw FieldError("data.target",
                     "names more than one column, and a class is in one; use one, or a loss of numbers");
  return wish;
}

// What decides about the parts of the training file.
SplitBy split_by(const TableFiles& files, const DataSpec& spec, const RawTable& table) {
  const SplitSpec& split = spec.split;
  const auto require_rows = [&](int64_t rows) {
    if (rows != table.rows) refuse_file(files.train.name, "was changed while it was read; start again");
  };
  const CsvSeparator separator{table.separator, /*always=*/true};
  SplitBy by;
  if (split.group) {
    by.groups = read_groups(files.train, *split.group, separator, spec.missing_values);
    require_rows(std::ssize(by.groups));
  }
  if (split.time) {
    by.times = read_times(files.train, *split.time, table, wish_of(spec));
    require_rows(std::ssize(by.times));
  }
  if (!split.stratify) return by;
  const auto found = std::ranges::find(table.columns, spec.target.front(), &RawColumn::name);
  if (found == table.columns.end())  // the model was trained on another
    throw FieldError("data.target",
                     "the model predicts another column, by whose classes the parts were made");
  const RawColumn& target = *found;
  if (target.is_number) return by_classes({});
  // By their first rows: with a saved format words have other numbers than in training, and the folds depend
  // on them. A class that is missing is refused later.
  std::unordered_map<double, int64_t> numbers;
  for (const double word : target.values)
    by.classes.push_back(std::isnan(word) ? -1 : numbers.emplace(word, std::ssize(numbers)).first->second);
  return by;
}

CsvParts read_files(const TableFiles& files, const DataSpec& spec) {
  const bool saved = !spec.saved_table.empty();
  CsvParts parts;
  if (saved) parts.format = table_format_of(saved_table_dataset(spec));
  parts.table =
      saved ? read_raw_table(files.train, parts.format, true) : read_raw_table(files.train, wish_of(spec));
  parts.rows =
      divide_rows(spec, parts.table.rows, files.test.has_value(), split_by(files, spec, parts.table));
  if (!saved) parts.format = make_table_format(parts.table, wish_of(spec), parts.rows.train);
  if (files.test) {
    parts.test = read_raw_table(*files.test, parts.format, true);
    parts.rows.test = rows_of_test_file(spec, parts.test->rows);
  }
  return parts;
}

std::vector<fs::path> all_of(const TableFiles& files) {
  std::vector<fs::path> all = files.train.files;
  if (files.test) all.insert(all.end(), files.test->files.begin(), files.test->files.end());
  return all;
}

int64_t bytes_of(const TableFiles& files) {
  std::error_code none;
  int64_t bytes = 0;
  for (const fs::path& file : all_of(files)) bytes += static_cast<int64_t>(fs::file_size(file, none));
  return bytes;
}

// A name for all that decides the tensors, as far as it can be known without reading the files.
std::string key_of(const TableFiles& files, DataSpec spec) {
  spec.path = std::nullopt;
  spec.classes = std::nullopt;  // a plan writes what it has found
  spec.class_names.clear();
  JobSpec job;
  job.data = std::move(spec);
  const std::string text = std::string(kVersion) + print_spec(job) + job.data.saved_table;
  Checksum sum(text.c_str(), text.size() + 1);
  for (const fs::path& file : all_of(files)) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) continue;
    for (const int64_t one :
         {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino),
          static_cast<int64_t>(status.st_size), static_cast<int64_t>(status.st_mtim.tv_sec),
          static_cast<int64_t>(status.st_mtim.tv_nsec), static_cast<int64_t>(status.st_ctim.tv_sec),
          static_cast<int64_t>(status.st_ctim.tv_nsec)})
      sum.add(&one, sizeof one);
  }
  return sum.text();
}

// The parts of the training file, as rows of it are numbered with them, uint8 [rows]; 0: none.
constexpr std::array kPartsOfRows = {&ExampleRows::train, &ExampleRows::validation, &ExampleRows::test};

void number_parts(const ExampleRows& rows, const at::Tensor& numbers) {
  numbers.zero_();
  for (size_t part = 0; part < kPartsOfRows.size(); ++part) {
    for (const int64_t row : rows.*kPartsOfRows[part])
      numbers.mutable_data_ptr<uint8_t>()[row] = static_cast<uint8_t>(part + 1);
  }
}

ExampleRows rows_numbered(const at::Tensor& numbers) {
  ExampleRows rows;
  const uint8_t* const part = numbers.const_data_ptr<uint8_t>();
  for (int64_t row = 0; row < numbers.numel(); ++row) {
    if (part[row] > 0) (rows.*kPartsOfRows.at(part[row] - 1U)).push_back(row);
  }
  return rows;
}

EncodedTable encode_csv(const TableFiles& files, const DataSpec& spec, const MakeTensor& make_tensor) {
  const CsvParts parts = read_files(files, spec);
  EncodedTable table{.format = parts.format, .train = {}, .parts = {}, .warnings = parts.table.warnings};
  const auto encoded = [&](const RawTable& raw) {
    TableTensors tensors = encode_table(raw, parts.format, /*with_targets=*/true, make_tensor);
    table.warnings.insert(table.warnings.end(), tensors.unknown_words.begin(), tensors.unknown_words.end());
    return StoredExamples{std::move(tensors.inputs), std::move(tensors.targets)};
  };
  table.train = encoded(parts.table);
  ExampleRows rows = parts.rows;
  if (parts.test) rows.test.clear();  // rows of another file
  table.parts =
      make_tensor ? make_tensor({parts.table.rows}, at::kByte) : at::empty({parts.table.rows}, at::kByte);
  number_parts(rows, table.parts);
  if (parts.test) table.test = encoded(*parts.test);
  return table;
}

// In words.
std::string reading_of(const TableFormat& format, bool is_text) {
  std::vector<std::string> names;
  std::vector<ColumnReading> readings;
  for (const TableColumn& column : format.inputs) {
    names.push_back(column.name);
    readings.push_back(column.reading);
  }
  names.insert(names.end(), format.targets.begin(), format.targets.end());
  readings.insert(readings.end(), format.target_readings.begin(), format.target_readings.end());
  return reading_text(names, readings, is_text ? format.separator : '\0');
}

Dataset load_csv(const DataSpec& spec) {
  const TableFiles files = table_files(spec);
  const auto encode = [&](const MakeTensor& make_tensor) { return encode_csv(files, spec, make_tensor); };
  const EncodedTable table = bytes_of(files) < kLeastSharedBytes
                                 ? encode({})
                                 : shared_table(key_of(files, spec), location_of(spec), encode);
  const TableFormat& format = table.format;
  DatasetInfo info;
  info.name = info.requested = spec.dataset;
  info.source = location_of(spec);
  info.class_names = format.classes;
  info.classes = std::ssize(format.classes);
  if (format.classes.empty()) info.target_names = format.targets;
  if (info.classes == 1) refuse_file(files.train.name, "all training examples are of the same class");
  if (spec.classes && info.classes > 0 && *spec.classes != info.classes)
    throw FieldError("data.classes", "{}, but column '{}' has {}", *spec.classes,
                     printable(format.targets.front(), 100), info.classes);
  info.reading = reading_of(format, spec.dataset == "csv");
  info.warnings = table.warnings;
  info.warnings.insert(info.warnings.end(), files.warnings.begin(), files.warnings.end());
  ExampleRows rows = rows_numbered(table.parts);
  if (table.test) rows.test = rows_of_test_file(spec, table.test->size());
  const auto source_of = [](const StoredExamples& examples, const TablePath& path) {
    const auto names_of = [name = path.name.filename().string()](std::span<const int64_t> indices) {
      std::vector<ExampleName> names;
      for (const int64_t index : indices) names.push_back({.file = name, .row = index + 1});
      return names;
    };
    return make_memory_source(examples, names_of);
  };
  Dataset dataset = dataset_of(std::move(info), source_of(table.train, files.train),
                               table.test ? source_of(*table.test, *files.test) : nullptr, rows);
  dataset.info.table = saved_text(dataset.info, table_format_text(format));
  return dataset;
}

// arrays

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

// Inputs as a source takes them: uint8 pictures with their channels, or numbers.
at::Tensor inputs_from(const std::string& what, const at::Tensor& stored) {
  if (stored.dim() < 1 || stored.dim() > 4 || stored.numel() == 0)
    refuse_file(what,
                "has the shape {}; examples are [n], [n, features], [n, height, width] or [n, channels, "
                "height, width], and there is at least one",
                shape_text(stored));
  const auto is_channels = [&](int64_t dimension) {
    const int64_t size = stored.size(dimension);
    return size == 1 || size == 3 || size == 4;
  };
  if (stored.dim() == 4 && is_channels(3) && !is_channels(1))
    refuse_file(what,
                "has the shape {}, with the channels at the end, as TensorFlow has them; save "
                "numpy.ascontiguousarray(array.transpose(0, 3, 1, 2))",
                shape_text(stored));
  at::Tensor inputs = stored;
  if (stored.dim() == 1) inputs = inputs.unsqueeze(1);
  if (stored.dim() == 3) inputs = inputs.unsqueeze(1);
  const bool pixels = inputs.scalar_type() == at::kByte && inputs.dim() == 4;
  if (!pixels && !inputs.is_floating_point()) inputs = inputs.to(at::kFloat);
  return inputs.contiguous();
}

// Classes as int64 [n], numbers as [n, targets].
at::Tensor targets_from(const std::string& what, const at::Tensor& stored) {
  const bool column = stored.dim() == 2 && stored.size(1) == 1;
  if (stored.dim() != 1 && stored.dim() != 2)
    refuse_file(what, "has the shape {}; targets are [n] or [n, outputs]", shape_text(stored));
  if (stored.is_floating_point()) return (stored.dim() == 1 ? stored.unsqueeze(1) : stored).contiguous();
  if (stored.dim() == 1 || column) return stored.reshape({-1}).to(at::kLong).contiguous();
  return stored.to(at::kFloat).contiguous();
}

StoredExamples examples_in(const std::string& path, const std::map<std::string, at::Tensor>& arrays,
                           const std::string& part) {
  const auto array = [&](const std::string& name) {
    const auto found = arrays.find(name);
    if (found == arrays.end()) refuse_file(path, "there is no array " + name);
    return found->second;
  };
  StoredExamples examples{inputs_from(path + ": x_" + part, array("x_" + part)),
                          targets_from(path + ": y_" + part, array("y_" + part))};
  if (examples.inputs.size(0) != examples.targets.size(0))
    refuse_file(path, "x_{0} has {1} examples and y_{0} has {2}", part, examples.inputs.size(0),
                examples.targets.size(0));
  return examples;
}

std::vector<const StoredExamples*> parts_in(const StoredExamples& train,
                                            const std::optional<StoredExamples>& test) {
  std::vector<const StoredExamples*> parts = {&train};
  if (test) parts.push_back(&*test);
  return parts;
}

int64_t count_classes(const std::string& path, const DataSpec& spec, const StoredExamples& train,
                      const std::optional<StoredExamples>& test) {
  int64_t largest = 1;
  for (const StoredExamples* part : parts_in(train, test)) {
    if (part->targets.dim() > 1) continue;
    if (part->targets.min().item<int64_t>() < 0)
      refuse_file(path, "a class is negative; classes count from 0");
    largest = std::max(largest, part->targets.max().item<int64_t>());
  }
  if (largest >= spec.classes.value_or(kMostClassesOfArrays))
    refuse_file(path,
                "there is a class {}, but at most {} classes; targets that are no classes are saved as "
                "floating-point numbers",
                largest, spec.classes.value_or(kMostClassesOfArrays));
  return spec.classes.value_or(largest + 1);
}

ExampleSourcePtr source_of(StoredExamples examples) {
  if (examples.inputs.scalar_type() == at::kByte && examples.targets.dim() != 1)
    examples.inputs = examples.inputs.to(at::kFloat).div_(255);
  return make_memory_source(std::move(examples));
}

Dataset load_arrays(const DataSpec& spec, bool checks_numbers) {
  const std::string path = location_of(spec);
  const auto arrays = read_arrays(path, {"x_train", "y_train", "x_test", "y_test"});
  const StoredExamples train = examples_in(path, arrays, "train");
  std::optional<StoredExamples> test;
  if (arrays.contains("x_test") || arrays.contains("y_test")) test = examples_in(path, arrays, "test");
  if (test && (test->inputs.sizes().slice(1) != train.inputs.sizes().slice(1) ||
               test->inputs.scalar_type() != train.inputs.scalar_type() ||
               test->targets.sizes().slice(1) != train.targets.sizes().slice(1) ||
               test->targets.is_floating_point() != train.targets.is_floating_point()))
    refuse_file(path,
                "the examples of the test, {} with targets {}, are not like those of the training, {} with "
                "targets {}, or have other types",
                shape_text(test->inputs), shape_text(test->targets), shape_text(train.inputs),
                shape_text(train.targets));
  if (checks_numbers) {
    for (const StoredExamples* part : parts_in(train, test)) {
      require_finite(path + ": inputs", part->inputs, part->inputs.scalar_type());
      require_finite(path + ": targets", part->targets, part->targets.scalar_type());
    }
  }
  DatasetInfo info;
  info.name = info.requested = spec.dataset;
  info.source = path;
  if (train.targets.dim() == 1) info.classes = count_classes(path, spec, train, test);
  if (std::ssize(spec.class_names) == info.classes) info.class_names = spec.class_names;
  const bool has_classes = train.targets.dim() == 1;
  const SplitBy by = spec.split.stratify ? by_classes(has_classes ? train.targets : at::Tensor()) : SplitBy();
  ExampleRows rows = divide_rows(spec, train.size(), test.has_value(), by);
  if (test) rows.test = rows_of_test_file(spec, test->size());
  Dataset dataset = dataset_of(std::move(info), source_of(train), test ? source_of(*test) : nullptr, rows);
  dataset.info.table =
      saved_text(dataset.info, train.inputs.scalar_type() == at::kByte ? kOfBytes : kOfNumbers);
  return dataset;
}

}  // namespace

CsvParts read_csv_parts(const DataSpec& spec) { return read_files(table_files(spec), spec); }

bool is_table_dataset(const std::string& name) { return name == "arrays" || has_columns(name); }

Dataset load_table_dataset(const DataSpec& spec, bool checks_numbers) {
  return has_columns(spec.dataset) ? load_csv(spec) : load_arrays(spec, checks_numbers);
}

std::string saved_text(const DatasetInfo& info, const std::string& format) {
  if (!info.table.empty()) return info.table;
  nlohmann::ordered_json document = {{"name", info.name}};
  visit_kept(info, [&](const char* name, const auto& value) { document[name] = value; });
  document["format"] = format;
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

DatasetInfo saved_table_dataset(const DataSpec& spec) {
  DatasetInfo info;
  try {
    const nlohmann::json document = nlohmann::json::parse(spec.saved_table);
    visit_kept(info, [&](const char* name, auto& value) { document.at(name).get_to(value); });
    info.name = document.value("name", spec.dataset);  // a fallback's; earlier versions have saved none
    if (info.train_examples < 1 || info.validation_examples < 0 || info.test_examples < 0 ||
        info.classes < 0 || info.targets < 0 || (info.classes == 0) == (info.targets == 0) ||
        (!info.class_names.empty() && std::ssize(info.class_names) != info.classes) ||
        (!info.target_names.empty() && std::ssize(info.target_names) != info.targets))
      throw std::out_of_range("classes");
  } catch (const std::exception&) {
    throw Error(ExitCode::kCheckpoint,
                "the checkpoint's description of its data is not one that dtrain saves");
  }
  info.requested = spec.dataset;
  if (is_table_dataset(spec.dataset)) info.table = spec.saved_table;
  return info;
}

TableFormat table_format_of(const DatasetInfo& info) {
  const nlohmann::json document = nlohmann::json::parse(info.table, nullptr, /*allow_exceptions=*/false);
  return parse_table_format(document.is_object() ? document.value("format", "") : "");
}

}  // namespace dtrain
