#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/mnist.h"
#include "data/split.h"
#include "data/synthetic.h"
#include "data/table_dataset.h"
#include "spec/field_error.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  // Describes the dataset in `folder`; nullopt if it is not there. Null: the dataset has no files.
  std::optional<DatasetInfo> (*find)(const fs::path& folder);
  Dataset (*load)(const DatasetInfo& info, uint64_t seed);
  int64_t classes;
  std::vector<int64_t> shape;  // as published, like the counts below
  int64_t train_examples;
  int64_t test_examples;
  std::string system_folder;  // where the operating system's package installs it; may be empty
  std::string how_to_get;
  std::vector<std::string> class_names = {};
};

Dataset load_idx(const DatasetInfo& info, uint64_t) { return load_mnist(info); }

// The one table of datasets.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> table = {
      {"mnist", find_mnist, load_idx, 10, {1, 28, 28}, 60000, 10000, "", "scripts/fetch_dataset mnist"},
      {"fashion_mnist",
       find_mnist,
       load_idx,
       10,
       {1, 28, 28},
       60000,
       10000,
       "/usr/share/datasets/fashion-mnist",
       "scripts/fetch_dataset fashion_mnist, or Debian's package dataset-fashion-mnist",
       {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
        "Ankle boot"}},
      {"arrays", nullptr, nullptr, 0, {}, 0, 0, "", ""},  // table_dataset.h
      {"csv", nullptr, nullptr, 0, {}, 0, 0, "", ""},
      {"synthetic", nullptr, generate_synthetic, 10, {1, 28, 28}, 60000, 10000, "", ""},
  };
  return table;
}

const Entry& entry_named(const std::string& name) {
  for (const Entry& entry : entries()) {
    if (entry.name == name) return entry;
  }
  throw Error(ExitCode::kUsage, fmt::format("unknown dataset '{}'; known: {}{}", printable(name),
                                            join(dataset_names()), did_you_mean(name, dataset_names())));
}

// The folders where a dataset may be, the preferred one first.
std::vector<fs::path> usual_places(const Entry& entry) {
  std::vector<std::string> names = {entry.name};
  if (entry.name.find('_') != std::string::npos) {
    names.push_back(entry.name);
    std::replace(names.back().begin(), names.back().end(), '_', '-');
  }
  std::vector<fs::path> roots = {"datasets"};
  const char* root = std::getenv("DTRAIN_DATA");
  if (root && *root) roots.insert(roots.begin(), root);

  std::vector<fs::path> places;
  for (const fs::path& folder : roots) {
    for (const std::string& name : names) places.push_back(folder / name);
  }
  if (!entry.system_folder.empty()) places.push_back(entry.system_folder);
  return places;
}

int64_t limited(const char* field, std::optional<int64_t> limit, int64_t available, const DatasetInfo& info) {
  if (limit && *limit > available) {
    throw FieldError(field, fmt::format("{} is more than the {} examples of {}{}{}", *limit, available,
                                        info.name, info.source.empty() ? "" : " in ", info.source));
  }
  return limit.value_or(available);
}

DatasetInfo synthetic_info(const Entry& entry, const DataSpec& spec) {
  DatasetInfo info;
  info.name = entry.name;
  info.requested = spec.dataset;
  info.source = "generated";
  info.image_shape = spec.shape;
  info.classes = spec.classes.value_or(entry.classes);
  info.train_examples = spec.train_examples.value_or(entry.train_examples);
  info.test_examples = spec.test_examples.value_or(entry.test_examples);
  check_synthetic(info);
  return info;
}

// More classes than are published may as well be damage: the spec has to ask for them.
int64_t classes_of(const DatasetInfo& info, const Entry& entry, const DataSpec& spec) {
  if (spec.classes) return *spec.classes;
  return info.source.empty() ? entry.classes : std::min(entry.classes, count_mnist_classes(info.source));
}

// Completes the information from the files with that from the table and the spec.
DatasetInfo complete(DatasetInfo info, const Entry& entry, const DataSpec& spec) {
  info.name = entry.name;
  info.requested = spec.dataset;
  info.classes = classes_of(info, entry, spec);
  info.class_names = entry.class_names;
  if (std::ssize(info.class_names) != info.classes) info.class_names.clear();  // not the published classes
  info.train_examples = limited("data.train_examples", spec.train_examples, info.train_examples, info);
  info.test_examples = limited("data.test_examples", spec.test_examples, info.test_examples, info);
  return info;
}

std::string describe_place(const fs::path& place) {
  std::error_code code;
  const fs::file_status status = fs::status(place, code);
  const char* what = !fs::exists(status)        ? "no such folder"
                     : fs::is_directory(status) ? "none of its files"
                                                : "not a folder";
  return fmt::format("{} ({})", printable(place.string(), 1000), what);
}

// Appends to `looked_in` every folder that does not hold the dataset.
std::optional<DatasetInfo> look_for(const Entry& entry, const std::vector<fs::path>& places,
                                    const DataSpec& spec, std::vector<std::string>& looked_in) {
  if (!entry.find) return synthetic_info(entry, spec);
  for (const fs::path& place : places) {
    if (const auto info = entry.find(place)) return complete(*info, entry, spec);
    looked_in.push_back(describe_place(place));
  }
  return std::nullopt;
}

// A data.path that is not there is a slip of the pen, which a fallback would hide.
bool has_wrong_path(const DataSpec& spec) {
  std::error_code code;
  return spec.path && entry_named(spec.dataset).find &&
         fs::status(*spec.path, code).type() == fs::file_type::not_found;
}

// With the training examples not yet split.
std::optional<DatasetInfo> search(const DataSpec& spec, std::vector<std::string>& looked_in) {
  const Entry& requested = entry_named(spec.dataset);
  const auto places = spec.path ? std::vector<fs::path>{*spec.path} : usual_places(requested);
  if (has_wrong_path(spec)) return std::nullopt;
  auto info = look_for(requested, places, spec, looked_in);
  if (!info && spec.fallback) {
    const Entry& fallback = entry_named(*spec.fallback);
    info = look_for(fallback, usual_places(fallback), spec, looked_in);
  }
  return info;
}

[[noreturn]] void fail_not_found(const DataSpec& spec, const std::vector<std::string>& looked_in) {
  if (has_wrong_path(spec)) {
    throw Error(ExitCode::kData,
                fmt::format("data.path: {}: there is no such folder; correct it, or leave data.path "
                            "out to search the usual folders{}",
                            printable(*spec.path, 1000), spec.fallback ? " and then for data.fallback" : ""));
  }
  const char* root = std::getenv("DTRAIN_DATA");
  std::string message =
      fmt::format("dataset {}{} was not found; looked in:", spec.dataset,
                  spec.fallback ? fmt::format(" (or its fallback {})", *spec.fallback) : "");
  for (const std::string& place : looked_in) message += "\n  " + place;
  if (!root || !*root) message += "\n  ($DTRAIN_DATA is not set)";
  message +=
      fmt::format("\nTo get it: {}. Or name its folder in data.path.", entry_named(spec.dataset).how_to_get);
  throw Error(ExitCode::kData, message);
}

DatasetInfo find_unsplit(const DataSpec& spec) {
  std::vector<std::string> looked_in;
  const auto info = search(spec, looked_in);
  if (!info) fail_not_found(spec, looked_in);
  return *info;
}

DatasetInfo split_info(DatasetInfo info, const SplitSpec& split) {
  info.validation_examples = validation_count(info.train_examples, split);
  info.train_examples -= info.validation_examples;
  return info;
}

}  // namespace

int64_t DatasetInfo::stored_bytes() const {
  int64_t inputs = 1;
  for (const int64_t size : image_shape) inputs *= size;
  const int64_t bytes = (has_pixels ? 1 : static_cast<int64_t>(sizeof(float))) * inputs +
                        static_cast<int64_t>(sizeof(float)) * targets;
  return (train_examples + validation_examples + test_examples) * bytes;
}

std::string counts_of(const DatasetInfo& info) {
  const std::string validation =
      info.has_validation() ? fmt::format(", {} validation", with_separators(info.validation_examples)) : "";
  return fmt::format("{} training{} and {} test examples", with_separators(info.train_examples), validation,
                     with_separators(info.test_examples));
}

std::string class_title(const DatasetInfo& info, int64_t label) {
  if (info.class_names.empty()) return std::to_string(label);
  return fmt::format("{} {}", label, info.class_names[static_cast<size_t>(label)]);
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& entry : entries()) all.push_back(entry.name);
    return all;
  }();
  return names;
}

DatasetInfo find_dataset(const DataSpec& spec) {
  if (is_table_dataset(spec.dataset)) return find_table_dataset(spec);
  return split_info(find_unsplit(spec), spec.split);
}

DatasetInfo describe_dataset(const DataSpec& spec) {
  if (is_table_dataset(spec.dataset))
    return spec.saved_table.empty() ? find_table_dataset(spec) : saved_table_dataset(spec);
  std::vector<std::string> looked_in;
  if (const auto info = search(spec, looked_in)) return split_info(*info, spec.split);
  const Entry& entry = entry_named(spec.dataset);
  DatasetInfo published;
  published.image_shape = entry.shape;
  published.train_examples = entry.train_examples;
  published.test_examples = entry.test_examples;
  return split_info(complete(published, entry, spec), spec.split);
}

Dataset load_dataset(const DataSpec& spec, uint64_t seed) {
  if (is_table_dataset(spec.dataset)) return load_table_dataset(spec);
  const DatasetInfo unsplit = find_unsplit(spec);
  Dataset dataset = entry_named(unsplit.name).load(unsplit, seed);
  if (!spec.split.validation) return dataset;
  ExampleSplit parts = split_examples(unsplit.train_examples, spec.split);
  dataset.info = split_info(unsplit, spec.split);
  dataset.validation = make_selection(dataset.train, std::move(parts.validation));
  dataset.train = make_selection(dataset.train, std::move(parts.train));
  return dataset;
}

}  // namespace dtrain
