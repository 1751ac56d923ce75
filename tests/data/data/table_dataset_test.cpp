// The datasets csv and arrays: parts, shapes, and what is refused.
#include "data/table_dataset.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "catch.h"
#include "core/error.h"
#include "data/example_source.h"
#include "files.h"
#include "job_file/load.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

DataSpec data_of(const std::string& fields, const std::string& train = "") {
  const LoadedSpec loaded = parse_spec("batch: {per_replica: 4}\ndata: {" + fields + "}\n" + train, "spec");
  if (!loaded.ok()) throw std::runtime_error(loaded.problems.front().to_string());
  return loaded.spec.data;
}

std::string refusal(const DataSpec& spec) {
  try {
    load_dataset(spec, 1);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string numbered_rows(int count) {
  std::string text = "n,y\n";
  for (int row = 0; row < count; ++row) text += std::to_string(row) + "," + std::to_string(2 * row) + "\n";
  return text;
}

std::set<double> targets_of(const ExampleSource& source) {
  const at::Tensor targets = stored_examples_of(source).targets.to(at::kDouble).view({-1});
  return {targets.const_data_ptr<double>(), targets.const_data_ptr<double>() + targets.numel()};
}

const char* const kSquares = "train: {loss: mean_squared_error}\n";

TEST_CASE("tables of as many rows are told apart by their columns") {
  const TemporaryFolder folder;
  folder.write("test.csv", "a,b,y\n1,x,1\n");
  const DataSpec spec = data_of("dataset: csv, target: y, path: " + folder.path().string(), kSquares);
  const auto fingerprint_with = [&](const std::string& row) {
    folder.write("train.csv", "a,b,y\n1,x,1\n2,z,2\n" + row + "\n");
    return fingerprint_of(find_dataset(spec));
  };
  const std::string fingerprint = fingerprint_with("3,x,3");
  CHECK_THAT(fingerprint, ContainsSubstring("3 training and 1 test examples, checksum of the columns "));
  CHECK(fingerprint_with("3.0,x,3") == fingerprint);
  CHECK(fingerprint_with("4,x,3") != fingerprint);
  CHECK(fingerprint_with("3,w,3") != fingerprint);
}

TEST_CASE("the parts of a Parquet folder have different names, whatever that of the folder") {
  const TemporaryFolder folder;
  const std::filesystem::path place = folder / "test";
  std::filesystem::create_directory(place);
  write_file(place / "train-00000.parquet", "");
  const DataSpec spec = data_of("dataset: parquet, target: y, path: " + place.string(), kSquares);
  CHECK(table_files(spec).train.name == place);
  write_file(place / "test.parquet", "");
  const TableFiles files = table_files(spec);
  CHECK(files.train.name == place / "train");
  REQUIRE(files.test);
  CHECK(files.test->name == place / "test");
  CHECK(files.warnings.empty());
  for (const char* name : {"validation-00000.parquet", "validation-00001.parquet", "values.parquet"})
    write_file(place / name, "");
  REQUIRE(table_files(spec).warnings.size() == 1);
  CHECK_THAT(table_files(spec).warnings.front(),
             ContainsSubstring("test/validation-00000.parquet is not read: data.split.validation takes"));
}

TEST_CASE("names of parts are read in any case, and all usual words for validation are told") {
  for (const std::string kind : {"csv", "parquet"}) {
    INFO(kind);
    const TemporaryFolder folder;
    for (const char* name : {"Train.", "TEST.", "values."}) folder.write(name + kind, "");
    const DataSpec spec =
        data_of("dataset: " + kind + ", target: y, path: " + folder.path().string(), kSquares);
    const TableFiles files = table_files(spec);
    CHECK(files.train.name == folder / (kind == "csv" ? "Train.csv" : "train"));
    REQUIRE(files.test);
    CHECK(files.test->name == folder / (kind == "csv" ? "TEST.csv" : "test"));
    CHECK(files.warnings.empty());
    for (const char* name : {"Valid.", "dev.", "eval."}) {
      const std::filesystem::path path = folder.write(name + kind, "");
      REQUIRE(table_files(spec).warnings.size() == 1);
      CHECK_THAT(table_files(spec).warnings.front(), ContainsSubstring(name + kind + " is not read"));
      std::filesystem::remove(path);
    }
  }
}

TEST_CASE("a table is divided into parts that share nothing, the same ones every time") {
  const TemporaryFolder folder;
  const std::string path = folder.write("rows.csv", numbered_rows(100));
  const std::string fields =
      "dataset: csv, path: " + path + ", target: y, split: {test: 0.2, validation: 0.25}";
  const Dataset dataset = load_dataset(data_of(fields, kSquares), 1);
  CHECK(dataset.info.train_examples == 60);
  CHECK(dataset.info.validation_examples == 20);
  CHECK(dataset.info.test_examples == 20);
  CHECK(dataset.info.targets == 1);
  CHECK(dataset.info.classes == 0);
  CHECK(dataset.info.target_names == std::vector<std::string>{"y"});
  CHECK(dataset.info.example_shape == std::vector<int64_t>{1});
  std::set<double> all = targets_of(*dataset.train);
  for (const ExampleSourcePtr& part : {dataset.validation, dataset.test}) {
    const std::set<double> targets = targets_of(*part);
    CHECK(std::ssize(targets) == 20);
    all.insert(targets.begin(), targets.end());
  }
  CHECK(all.size() == 100);
  CHECK(targets_of(*load_dataset(data_of(fields, kSquares), 2).test) == targets_of(*dataset.test));
  DataSpec other = data_of(fields, kSquares);
  other.split.seed = 2;
  CHECK(targets_of(*load_dataset(other, 1).test) != targets_of(*dataset.test));
  // Standardised by what is trained on, and by nothing else.
  const at::Tensor inputs = stored_examples_of(*dataset.train).inputs.to(at::kDouble);
  CHECK(std::abs(inputs.mean().item<double>()) < 1e-6);
  CHECK(inputs.square().mean().item<double>() == Approx(1).epsilon(1e-5));
  CHECK(std::abs(stored_examples_of(*dataset.test).inputs.mean().item<double>()) > 1e-6);
}

TEST_CASE("a saved format takes the place of the training part") {
  const TemporaryFolder folder;
  const std::string path = folder.write("rows.csv", numbered_rows(100));
  DataSpec spec = data_of("dataset: csv, path: " + path + ", target: y, split: {test: 0.2}", kSquares);
  const Dataset first = load_dataset(spec, 1);
  spec.saved_table = first.info.table;
  folder.write("rows.csv", numbered_rows(10));
  const Dataset later = load_dataset(spec, 1);
  const TableFormat format = table_format_of(first.info);
  CHECK(table_format_of(later.info) == format);
  const double target = stored_examples_of(*later.test).targets[0][0].item<double>();
  CHECK(stored_examples_of(*later.test).inputs[0][0].item<double>() ==
        Approx((target / 2 - format.inputs[0].mean) / format.inputs[0].standard_deviation).epsilon(1e-5));
  std::filesystem::remove(path);
  const DatasetInfo described = describe_dataset(spec);
  CHECK(described.targets == 1);
  CHECK(described.train_examples == 80);
  spec.saved_table = "{}";
  CHECK_THROWS_AS(describe_dataset(spec), Error);
}

TEST_CASE("the loss says whether numbers are classes") {
  const TemporaryFolder folder;
  const std::string path = folder.write("rows.csv", "x,y\n1,0\n2,1\n3,2\n4,0\n5,1\n6,2\n");
  const std::string fields = "dataset: csv, path: " + path + ", target: y, split: {test: 0.2}";
  const Dataset classes = load_dataset(data_of(fields), 1);
  CHECK(classes.info.classes == 3);
  CHECK(classes.info.class_names == std::vector<std::string>{"0", "1", "2"});
  CHECK(stored_examples_of(*classes.train).targets.scalar_type() == at::kLong);
  CHECK(load_dataset(data_of(fields, kSquares), 1).info.targets == 1);
  CHECK(load_dataset(data_of(fields + ", target_kind: numbers"), 1).info.targets == 1);
  CHECK_THAT(refusal(data_of(fields + ", classes: 5")),
             ContainsSubstring("data.classes: 5, but column 'y' has 3"));
}

TEST_CASE("parts that are missing, doubled or too large are refused with the field") {
  const TemporaryFolder folder;
  const std::string path = folder.write("rows.csv", numbered_rows(10));
  const std::string fields = "dataset: csv, path: " + path + ", target: y";
  CHECK_THAT(refusal(data_of(fields, kSquares)), ContainsSubstring("data.split.test: missing"));
  CHECK_THAT(refusal(data_of(fields + ", split: {test: 0.2}, train_examples: 9", kSquares)),
             ContainsSubstring("data.train_examples: 9 is more than the 8 there are"));
  std::filesystem::create_directories(folder / "both");
  write_file(folder / "both/train.csv", numbered_rows(10));
  write_file(folder / "both/test.csv", numbered_rows(3));
  const std::string both = "dataset: csv, path: " + (folder / "both").string() + ", target: y";
  CHECK(load_dataset(data_of(both, kSquares), 1).info.test_examples == 3);
  write_file(folder / "both/val.csv", numbered_rows(3));
  const std::vector<std::string> warnings = load_dataset(data_of(both, kSquares), 1).info.warnings;
  CHECK(std::ranges::any_of(warnings, [](const std::string& warning) {
    return warning.find("val.csv is not read: data.split.validation takes") != std::string::npos;
  }));
  CHECK_THAT(refusal(data_of(both + ", split: {test: 0.2}", kSquares)),
             ContainsSubstring("there is a test part already"));
  CHECK_THAT(refusal(data_of("dataset: csv, target: y, path: " + folder.path().string(), kSquares)),
             ContainsSubstring("there is no train.csv"));
  CHECK_THAT(refusal(data_of("dataset: csv, target: y, path: /nowhere.csv", kSquares)),
             ContainsSubstring("there is no such file or folder"));
}

// Patients with several rows each, in the order of their visits; every fifth row is sick.
std::string visits(int count) {
  std::string text = "patient,day,pulse,state,n\n";
  for (int row = 0; row < count; ++row)
    text += fmt::format("p{},2024-{:02}-{:02},{},{},{}\n", row * row % 23, 12 - row % 12, 28 - row % 28,
                        60 + row % 40, row % 5 == 0 ? "sick" : "well", row);
  return text;
}

// The rows of a part, from 0.
std::vector<size_t> rows_of(const ExampleSourcePtr& part) {
  std::vector<int64_t> all(static_cast<size_t>(part->size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  std::vector<size_t> rows;
  for (const ExampleName& name : part->names_of(all)) rows.push_back(static_cast<size_t>(name.row - 1));
  return rows;
}

TEST_CASE("parts of a table by classes, groups and time, also for a model that is used later") {
  const TemporaryFolder folder;
  const int rows = 300;
  const std::string path = folder.write("visits.csv", visits(rows));
  const std::string fields = "dataset: csv, path: " + path +
                             ", target: state, columns: {day: date}, split: {test: 0.2, validation: 0.25, ";
  const auto parts_of = [&](const std::string& rule) {
    const DataSpec spec = data_of(fields + rule + "}");
    const Dataset dataset = load_dataset(spec, 1);
    DataSpec later = spec;
    later.saved_table = dataset.info.table;
    const Dataset again = load_dataset(later, 1);
    CHECK(rows_of(again.test) == rows_of(dataset.test));
    CHECK(rows_of(again.validation) == rows_of(dataset.validation));
    return dataset;
  };
  const Dataset by_class = parts_of("stratify: true");
  CHECK(by_class.train->classes().bincount().equal(at::tensor(std::vector<int64_t>{36, 144})));
  CHECK(by_class.validation->classes().bincount().equal(at::tensor(std::vector<int64_t>{12, 48})));
  CHECK(by_class.test->classes().bincount().equal(at::tensor(std::vector<int64_t>{12, 48})));

  const Dataset by_group = parts_of("group: patient");
  CHECK(by_group.info.example_shape == std::vector<int64_t>{3});  // day, pulse and n: not the patient
  std::map<size_t, std::set<int>> seen;                           // parts, by patient
  const std::vector<ExampleSourcePtr> parts = {by_group.train, by_group.validation, by_group.test};
  for (int part = 0; part < 3; ++part) {
    CHECK(parts[static_cast<size_t>(part)]->size() > 20);
    for (const size_t row : rows_of(parts[static_cast<size_t>(part)])) seen[row * row % 23].insert(part);
  }
  for (const auto& [patient, in] : seen) CHECK(in.size() == 1);

  const Dataset by_time = parts_of("time: day");
  CHECK(by_time.info.example_shape == std::vector<int64_t>{3 + 12});  // the patients are words: 12 of them
  const auto days = [](const ExampleSourcePtr& part) {
    std::vector<size_t> numbers;  // in the order of time
    for (const size_t row : rows_of(part)) numbers.push_back((12 - row % 12) * 100 + 28 - row % 28);
    std::ranges::sort(numbers);
    return numbers;
  };
  CHECK(days(by_time.train).size() == 180);
  CHECK(days(by_time.train).back() <= days(by_time.validation).front());
  CHECK(days(by_time.validation).back() <= days(by_time.test).front());
}

TEST_CASE("the times of rows are numbers as their column has them, also if it is no input") {
  const TemporaryFolder folder;
  std::string text = "time;x;y\n";
  for (int row = 0; row < 100; ++row)
    text += fmt::format("{};{},5;{}\n",
                        row < 49 ? std::to_string(951 + row) : fmt::format("1.{:03}", row - 49), row, row);
  const std::string path = folder.write("rows.csv", text);
  const auto spec_with = [&](const std::string& more) {
    return data_of("dataset: csv, path: " + path + ", target: y, split: {test: 0.2, time: time}" + more,
                   kSquares);
  };
  std::vector<size_t> last(20);
  std::iota(last.begin(), last.end(), size_t{80});
  for (const char* more : {"", ", decimal: comma", ", decimal: comma, thousands: point, ignore: time"}) {
    INFO(more);
    DataSpec spec = spec_with(more);
    const Dataset dataset = load_dataset(spec, 1);
    CHECK(rows_of(dataset.test) == last);
    spec.saved_table = dataset.info.table;
    CHECK(rows_of(load_dataset(spec, 1).test) == last);
  }
  CHECK_THAT(
      refusal(spec_with(", ignore: time")),
      ContainsSubstring("column 'time', row 50: '1.000' is read as 1000, and could be 1; data.decimal"));
  CHECK_THAT(
      refusal(spec_with(", ignore: time, decimal: comma, thousands: none")),
      ContainsSubstring("row 50: '1.000' is not a date or a number with a decimal comma; data.split.time"));
}

TEST_CASE("a part that a table's columns cannot decide is refused") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("rows.csv", "id,when,x,y\n1,2024-01-01,1,a\n1,yesterday,2,b\n,,3,a\n");
  const auto refused = [&](const std::string& rule, const std::string& loss = "") {
    return refusal(data_of(
        "dataset: csv, path: " + path + ", target: y, ignore: when, split: {test: 0.4, " + rule + "}", loss));
  };
  CHECK_THAT(refused("group: idd"), ContainsSubstring("there is no column 'idd'; did you mean 'id'?"));
  CHECK_THAT(refused("time: whem"), ContainsSubstring("there is no column 'whem'; did you mean 'when'?"));
  CHECK_THAT(refused("group: id"),
             ContainsSubstring("column 'id', row 3: the value is missing, and data.split.group needs"));
  CHECK_THAT(refused("time: when"), ContainsSubstring("column 'when', row 3: the value is missing"));
  folder.write("rows.csv", "id,when,x,y\n1,2024-01-01,1,0.5\n1,yesterday,2,1.5\n1,2024-01-01,3,2\n");
  const char* const squares = "train: {loss: mean_squared_error}\n";
  CHECK_THAT(refused("time: when", squares),
             ContainsSubstring("column 'when', row 2: 'yesterday' is not a date"));
  CHECK_THAT(refused("group: id", squares),
             ContainsSubstring("data.split.group: finds a single group in 3 examples"));
  CHECK_THAT(refused("stratify: true", squares),
             ContainsSubstring("data.split.stratify: is for classes, and the targets"));
}

void save(const std::filesystem::path& path, const at::Tensor& x, const at::Tensor& y) {
  std::filesystem::remove(path);
  write_safetensors(path, {{"x_train", x}, {"y_train", y}}, {});
}

TEST_CASE("every example of a table is called by its row, and one of arrays by its index") {
  const TemporaryFolder folder;
  std::string text = "n,y\n1,10\n\n";  // empty lines are no rows
  for (int row = 2; row <= 40; ++row) text += std::to_string(row) + "," + std::to_string(10 * row) + "\n";
  const std::string path = folder.write("rows.csv", text);
  const std::string fields = ", split: {test: 0.2, validation: 0.2}";
  const Dataset table =
      load_dataset(data_of("dataset: csv, path: " + path + ", target: y" + fields, kSquares), 1);
  const auto check = [](const Dataset& dataset, const auto& is_named) {
    for (const ExampleSourcePtr& part : {dataset.train, dataset.validation, dataset.test}) {
      for (int64_t i = 0; i < part->size(); ++i) {
        const std::vector<int64_t> index = {i};
        is_named(part->names_of(index).front(), stored_examples_of(*part).targets[i].item<double>());
      }
    }
  };
  check(table, [](const ExampleName& name, double target) {
    CHECK(name.file == "rows.csv");
    CHECK(10.0 * static_cast<double>(name.row) == target);
  });
  CHECK(title_of(table.test->names_of(std::vector<int64_t>{0}).front()).starts_with("rows.csv, row "));

  const std::string arrays = (folder / "all.safetensors").string();
  save(arrays, at::arange(60, at::kDouble).view({20, 3}), at::arange(20, at::kDouble).view({20, 1}));
  check(load_dataset(data_of("dataset: arrays, path: " + arrays + fields, kSquares), 1),
        [](const ExampleName& name, double target) {
          CHECK(name.file.empty());
          CHECK(static_cast<double>(name.index) == target);
          CHECK(title_of(name) == "example " + std::to_string(name.index));
        });
}

TEST_CASE("arrays are pictures, numbers, classes or targets by their types and shapes") {
  const TemporaryFolder folder;
  const std::string path = (folder / "all.safetensors").string();
  const DataSpec spec = data_of("dataset: arrays, path: " + path + ", split: {test: 0.25}");
  const at::Tensor labels = at::tensor({0, 1, 2, 1, 0, 1, 2, 0}, at::kLong);
  save(path, at::arange(8 * 20, at::kLong).to(at::kByte).view({8, 4, 5}), labels);
  const DatasetInfo pictures = load_dataset(spec, 1).info;
  CHECK(pictures.has_pixels);
  CHECK(pictures.example_shape == std::vector<int64_t>{1, 4, 5});
  CHECK(pictures.classes == 3);
  CHECK(pictures.train_examples == 6);

  DataSpec stratified = spec;
  stratified.split = {.validation = {}, .test = 0.4, .stratify = true};  // 3 of 3, 3 and 2 examples
  const at::Tensor tested = load_dataset(stratified, 1).test->classes().bincount({}, 3);
  CHECK(tested.max().item<int64_t>() <= 2);
  CHECK(tested.slice(0, 0, 2).min().item<int64_t>() == 1);

  save(path, at::arange(24, at::kDouble).view({8, 3}), at::arange(16, at::kFloat).view({8, 2}));
  CHECK_THAT(refusal(stratified), ContainsSubstring("data.split.stratify: is for classes"));
  const Dataset numbers = load_dataset(spec, 1);
  CHECK_FALSE(numbers.info.has_pixels);
  CHECK(numbers.info.example_shape == std::vector<int64_t>{3});
  CHECK(numbers.info.targets == 2);
  // What a model in float32 is given of arrays in float64.
  ExampleSlot slot{at::empty({2, 3}), at::empty({2, 2})};
  const std::vector<int64_t> rows = {5, 0};
  numbers.train->read(rows, at::Tensor(), slot);
  const StoredExamples all = stored_examples_of(*numbers.train);
  CHECK(at::equal(slot.inputs[0], all.inputs[5].to(at::kFloat)));
  CHECK(at::equal(slot.targets[1], all.targets[0].to(at::kFloat)));

  save(path, at::arange(8, at::kLong), labels.view({8, 1}));
  const DatasetInfo column = load_dataset(spec, 1).info;
  CHECK(column.example_shape == std::vector<int64_t>{1});
  CHECK(column.classes == 3);
}

TEST_CASE("the normalisation of pixels is refused where there are none") {
  const TemporaryFolder folder;
  const std::string path = (folder / "all.safetensors").string();
  const at::Tensor pixels = at::arange(8 * 20, at::kLong).to(at::kByte).view({8, 1, 4, 5});
  const std::string arrays = "dataset: arrays, path: " + path + ", split: {test: 0.25}, ";
  const auto refused = [](const std::string& fields) {
    try {
      find_dataset(data_of(fields, kSquares));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string fields[] = {"image: {mean: 0.5}", "image: {standard_deviation: 0.25}", "mean: 0.5",
                                "standard_deviation: 0.25"};
  save(path, pixels, at::tensor({0, 1, 2, 1, 0, 1, 2, 0}, at::kLong));
  for (const std::string& field : fields) CHECK(refused(arrays + field) == "accepted");
  save(path, pixels, at::arange(8, at::kFloat));
  for (const std::string& field : fields)
    CHECK_THAT(refused(arrays + field), ContainsSubstring("normalises pixels, and the examples of arrays"));
  CHECK_THAT(refused(arrays + "image: {mean: measured}"), ContainsSubstring("data.image.mean: normalises"));
  CHECK(refused(arrays + "image: {mean: 0, standard_deviation: 1}") == "accepted");
  const std::string table = folder.write("rows.csv", numbered_rows(10));
  CHECK_THAT(refused("dataset: csv, target: y, split: {test: 0.2}, mean: 0.5, path: " + table),
             ContainsSubstring("data.mean: normalises pixels, and the examples of csv are numbers; leave"));

  // A model that an earlier version has trained so is used as it was trained.
  DataSpec spec = data_of(arrays + "image: {mean: 0.5}");
  spec.saved_table = load_dataset(spec, 1).info.table;
  CHECK(find_dataset(spec).example_shape == std::vector<int64_t>{1, 4, 5});
}

TEST_CASE("arrays that do not go together are refused") {
  const TemporaryFolder folder;
  const std::string path = (folder / "all.safetensors").string();
  const DataSpec spec = data_of("dataset: arrays, path: " + path + ", split: {test: 0.25}");
  const at::Tensor labels = at::tensor({0, 1, 2, 1}, at::kLong);
  const auto refused = [&](const at::Tensor& x, const at::Tensor& y) {
    save(path, x, y);
    return refusal(spec);
  };
  CHECK_THAT(refused(at::zeros({5, 3}), labels),
             ContainsSubstring("x_train has 5 examples and y_train has 4"));
  CHECK_THAT(refused(at::zeros({4, 8, 8, 3}), labels), ContainsSubstring("channels at the end"));
  CHECK_THAT(refused(at::zeros({4, 1, 2, 2, 2}), labels), ContainsSubstring("has the shape [4, 1, 2, 2, 2]"));
  CHECK_THAT(refused(at::zeros({0, 3}), at::zeros({0}, at::kLong)), ContainsSubstring("at least one"));
  CHECK_THAT(refused(at::zeros({4, 3}), labels - 1), ContainsSubstring("a class is negative"));
  CHECK_THAT(refused(at::zeros({4, 3}), labels * 1'000'000), ContainsSubstring("at most 1000000 classes"));
  CHECK_THAT(refused(at::full({4, 3}, NAN), labels), ContainsSubstring("inputs: not all numbers"));
  CHECK_THAT(refused(at::zeros({4, 3}), at::full({4}, INFINITY)),
             ContainsSubstring("targets: not all numbers"));
  std::filesystem::remove(path);
  write_safetensors(path, {{"x_train", at::zeros({4, 3})}}, {});
  CHECK_THAT(refusal(spec), ContainsSubstring("there is no array y_train"));
  std::filesystem::remove(path);
  write_safetensors(path,
                    {{"x_train", at::zeros({4, 3})},
                     {"y_train", labels},
                     {"x_test", at::zeros({2, 2})},
                     {"y_test", at::zeros({2}, at::kLong)}},
                    {});
  DataSpec with_test = spec;
  with_test.split.test.reset();
  CHECK_THAT(refusal(with_test), ContainsSubstring("are not like those of the training"));
}

}  // namespace
}  // namespace dtrain
