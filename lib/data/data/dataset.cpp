#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "addresses/fetched_files.h"
#include "arrays/idx.h"
#include "core/addresses.h"
#include "core/error.h"
#include "core/named.h"
#include "core/text.h"
#include "data/dataset_readers.h"
#include "data/picture_dataset.h"
#include "data/split.h"
#include "data/table_dataset.h"
#include "pictures/archives.h"
#include "pictures/parquet_pictures.h"
#include "pictures/shard_index.h"
#include "pictures/shards.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  // Describes the dataset in `folder`; nullopt if it is not there. Null: the dataset has no files.
  std::optional<DatasetInfo> (*find)(const fs::path& folder, const DataSpec& spec) = nullptr;
  Dataset (*load)(const DatasetInfo& info, const DataSpec& spec, uint64_t seed) = nullptr;
  int64_t classes = 0;
  std::vector<int64_t> shape = {};  // as published, like the counts below
  int64_t train_examples = 0;
  int64_t test_examples = 0;
  std::string system_folder = {};  // where the operating system's package installs it; may be empty
  std::string how_to_get = {};
  std::vector<std::string> class_names = {};
  bool divides_itself = false;  // what `find` returns, and `load`, is already limited and split
};

template <std::optional<DatasetInfo> (*kFind)(const fs::path& folder)>
std::optional<DatasetInfo> find_by(const fs::path& folder, const DataSpec&) {
  return kFind(folder);
}
template <Dataset (*kLoad)(const DatasetInfo& info)>
Dataset load_by(const DatasetInfo& info, const DataSpec&, uint64_t) {
  return kLoad(info);
}
Dataset load_listed(const DatasetInfo& info, const DataSpec& spec, uint64_t) {
  return load_pictures(info, spec);
}
Dataset load_synthetic(const DatasetInfo& info, const DataSpec&, uint64_t seed) {
  return generate_synthetic(info, seed);
}

// For plans of a folder that is not there, of which only the spec is known.
constexpr int64_t kUnknownExamples = 1'000'000;

// The one table of datasets; that of arrays, csv and parquet is table_dataset.h.
const std::vector<Entry>& entries() {
  static const std::vector<int64_t> kGrey = {1, 28, 28}, kColour = {3, 32, 32};
  // clang-format off
  static const std::vector<Entry> table = {
      {.name = "mnist", .find = find_by<find_mnist>, .load = load_by<load_mnist>, .classes = 10, .shape = kGrey,
       .train_examples = 60'000, .test_examples = 10'000, .how_to_get = "scripts/fetch_dataset mnist"},
      {.name = "fashion_mnist", .find = find_by<find_mnist>, .load = load_by<load_mnist>, .classes = 10,
       .shape = kGrey, .train_examples = 60'000, .test_examples = 10'000,
       .system_folder = "/usr/share/datasets/fashion-mnist",
       .how_to_get = "scripts/fetch_dataset fashion_mnist, or Debian's package dataset-fashion-mnist",
       .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                       "Ankle boot"}},
      {.name = "cifar10", .find = find_by<find_cifar10>, .load = load_by<load_cifar10>, .classes = 10,
       .shape = kColour, .train_examples = 50'000, .test_examples = 10'000,
       .how_to_get = "scripts/fetch_dataset cifar10",
       .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}},
      {.name = "cifar100", .find = find_by<find_cifar100>, .load = load_by<load_cifar100>, .classes = 100,
       .shape = kColour, .train_examples = 50'000, .test_examples = 10'000,
       .how_to_get = "scripts/fetch_dataset cifar100"},
      {.name = "idx", .find = find_by<find_mnist>, .load = load_by<load_mnist>, .classes = kMostIdxClasses,
       .shape = kGrey, .train_examples = 60'000, .test_examples = 10'000, .how_to_get = "correct data.path"},
      {.name = "image_folder", .find = find_image_folder, .load = load_listed, .classes = 2,
       .train_examples = kUnknownExamples, .test_examples = kUnknownExamples,
       .how_to_get = "make a folder with a folder of pictures for each class", .divides_itself = true},
      {.name = "tar", .find = find_archives, .load = load_listed, .classes = 2,
       .train_examples = kUnknownExamples, .test_examples = kUnknownExamples, .how_to_get = "correct data.path",
       .divides_itself = true},
      {.name = kImageParquet, .find = find_archives, .load = load_listed, .classes = 2,
       .train_examples = kUnknownExamples, .test_examples = kUnknownExamples, .how_to_get = "correct data.path",
       .divides_itself = true},
      {.name = "arrays"},
      {.name = "csv"},
      {.name = "parquet"},
      {.name = "synthetic", .load = load_synthetic, .classes = 10, .shape = kGrey, .train_examples = 60'000,
       .test_examples = 10'000},
  };
  // clang-format on
  return table;
}

const Entry& entry_named(const std::string& name) {
  for (const Entry& entry : entries()) {
    if (entry.name == name) return entry;
  }
  throw Error(ExitCode::kUsage, "unknown dataset '{}'; known: {}{}", printable(name), join(dataset_names()),
              did_you_mean(name, dataset_names()));
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
    throw FieldError(field, "{} is more than the {} examples of {}{}{}", *limit, available, info.name,
                     info.source.empty() ? "" : " in ", info.source);
  }
  return limit.value_or(available);
}

// The spec's names of the classes, or the dataset's own, if there are as many as classes.
std::vector<std::string> names_of(const DatasetInfo& info, const Entry& entry, const DataSpec& spec) {
  const std::vector<std::string>& names = spec.class_names.empty() ? entry.class_names : spec.class_names;
  return std::ssize(names) == info.classes ? names : std::vector<std::string>();
}

DatasetInfo synthetic_info(const Entry& entry, const DataSpec& spec) {
  DatasetInfo info;
  info.name = entry.name;
  info.requested = spec.dataset;
  info.source = "generated";
  info.example_shape = spec.shape;
  info.classes = spec.classes.value_or(entry.classes);
  info.train_examples = spec.train_examples.value_or(entry.train_examples);
  info.test_examples = spec.test_examples.value_or(entry.test_examples);
  info.class_names = names_of(info, entry, spec);
  check_synthetic(info);
  return info;
}

// Refuses what would change pixels if there are none. Earlier versions have trained models without it.
void require_pixels(const DatasetInfo& info, const DataSpec& spec) {
  if (info.has_pixels) return;
  const bool is_new = spec.saved_table.empty();
  const auto changes = [is_new](const ChannelNumbers& numbers, double unchanged) {
    return numbers.measured || (is_new && std::ranges::any_of(numbers.values, [unchanged](double value) {
                                  return value != unchanged;
                                }));
  };
  const char* const field = changes(spec.image.mean, 0)                 ? "data.image.mean"
                            : changes(spec.image.standard_deviation, 1) ? "data.image.standard_deviation"
                            : is_new && spec.mean != 0                  ? "data.mean"
                            : is_new && spec.standard_deviation != 1    ? "data.standard_deviation"
                                                                        : nullptr;
  if (field == nullptr) return;
  throw FieldError(field, "normalises pixels, and the examples of {} are numbers{}; leave it out", info.name,
                   has_columns(info.name) ? "" : " (pixels are unsigned bytes whose targets are classes)");
}

void require_channels(const char* field, const ChannelNumbers& numbers, const DatasetInfo& info) {
  if (numbers.values.size() <= 1 || std::ssize(numbers.values) == info.example_shape[0]) return;
  throw FieldError(field, "has {} numbers, and the images of {} have {}", numbers.values.size(), info.name,
                   counted(info.example_shape[0], "channel"));
}

// What the spec says of classes and channels has to be true of the data.
DatasetInfo checked(const DatasetInfo& info, const DataSpec& spec) {
  require_pixels(info, spec);
  require_channels("data.image.mean", spec.image.mean, info);
  require_channels("data.image.standard_deviation", spec.image.standard_deviation, info);
  if (!spec.class_names.empty() && !info.is_fallback() && std::ssize(spec.class_names) != info.classes)
    throw FieldError("data.class_names", "names {}, and {} has {}", spec.class_names.size(), info.name,
                     counted(info.classes, "class"));
  return info;
}

// More classes than are published may as well be damage: the spec has to ask for them.
int64_t classes_of(const DatasetInfo& info, const Entry& entry, const DataSpec& spec) {
  if (spec.classes) return *spec.classes;
  const bool counts = !info.source.empty() && entry.find == find_by<find_mnist>;
  return counts ? std::min(entry.classes, count_mnist_classes(info.source)) : entry.classes;
}

// Completes the information from the files with that from the table and the spec.
DatasetInfo complete(DatasetInfo info, const Entry& entry, const DataSpec& spec) {
  info.name = entry.name;
  info.requested = spec.dataset;
  if (entry.divides_itself && !info.source.empty()) return info;
  info.classes = classes_of(info, entry, spec);
  info.class_names = names_of(info, entry, spec);
  info.train_examples = limited("data.train_examples", spec.train_examples, info.train_examples, info);
  info.test_examples = limited("data.test_examples", spec.test_examples, info.test_examples, info);
  return info;
}

std::string describe_place(const fs::path& place) {
  std::error_code code;
  const fs::file_status status = fs::status(place, code);
  const char* what = !fs::exists(status)        ? "no such folder"
                     : fs::is_directory(status) ? "none of its files"
                                                : "not a folder; an archive must be unpacked";
  return fmt::format("{} ({})", printable(place.string(), 1000), what);
}

// Appends to `looked_in` every folder that does not hold the dataset.
std::optional<DatasetInfo> look_for(const Entry& entry, const std::vector<fs::path>& places,
                                    const DataSpec& spec, std::vector<std::string>& looked_in) {
  if (!entry.find) return synthetic_info(entry, spec);
  for (const fs::path& place : places) {
    if (const auto info = entry.find(place, spec)) return complete(*info, entry, spec);
    looked_in.push_back(describe_place(place));
  }
  return std::nullopt;
}

// A data.path that is not there is a slip of the pen, which a fallback would hide.
bool has_wrong_path(const DataSpec& spec) {
  std::error_code code;
  const Entry& entry = entry_named(spec.dataset);
  if (entry.divides_itself && spec.fallback)
    return false;  // it has no other folder: that is when to fall back
  return spec.path && !spec.stream && entry.find &&
         fs::status(*spec.path, code).type() == fs::file_type::not_found;
}

// Nor is a folder that holds something else replaced.
bool may_fall_back(const DataSpec& spec) {
  return spec.fallback && (!spec.path || entry_named(spec.dataset).divides_itself);
}

// With the training examples not yet split.
std::optional<DatasetInfo> search(const DataSpec& spec, std::vector<std::string>& looked_in) {
  const Entry& requested = entry_named(spec.dataset);
  const auto places = spec.path ? std::vector<fs::path>{*spec.path} : usual_places(requested);
  if (has_wrong_path(spec)) return std::nullopt;
  auto info = look_for(requested, places, spec, looked_in);
  if (!info && may_fall_back(spec)) {
    const Entry& fallback = entry_named(*spec.fallback);
    info = look_for(fallback, usual_places(fallback), spec, looked_in);
  }
  return info;
}

[[noreturn]] void fail_not_found(const DataSpec& spec, const std::vector<std::string>& looked_in) {
  if (entry_named(spec.dataset).divides_itself)
    throw Error(ExitCode::kData, "data.path: {}: there is no such {}; correct it",
                printable(spec.path.value_or(""), 1000),
                spec.dataset == "image_folder" ? "folder" : "file or folder");
  if (has_wrong_path(spec)) {
    throw Error(ExitCode::kData,
                "data.path: {}: there is no such folder; correct it, or leave data.path out to search the "
                "usual folders{}",
                printable(*spec.path, 1000), spec.fallback ? " and then for data.fallback" : "");
  }
  const char* root = std::getenv("DTRAIN_DATA");
  std::string message =
      fmt::format("dataset {}{} was not found; looked in:", spec.dataset,
                  may_fall_back(spec) ? fmt::format(" (or its fallback {})", *spec.fallback) : "");
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
  if (entry_named(info.name).divides_itself) return info;
  info.validation_examples = validation_count(info.train_examples, split);
  info.train_examples -= info.validation_examples;
  return info;
}

bool has_address(const DataSpec& spec) { return spec.path && is_address(*spec.path); }

// Which objects below s3://bucket/prefix/ are of a dataset.
bool is_file_of(const std::string& dataset, const std::string& name) {
  const auto ends_with = [&](const std::vector<std::string>& ends) {
    return std::any_of(ends.begin(), ends.end(), [&](const std::string& end) { return name.ends_with(end); });
  };
  if (dataset == "tar") return is_archive_name(name) || name == kShardsNote;
  if (dataset == "csv") return ends_with({".csv", ".csv.gz"});
  if (dataset == "parquet" || dataset == kImageParquet) return ends_with({".parquet"});
  if (dataset == "arrays") return ends_with({".npy", ".npz", ".safetensors"});
  return ends_with({"ubyte", "ubyte.gz"});
}

// What was found in the copies of an address, as that of the address.
DatasetInfo of_address(DatasetInfo info, const DataSpec& copies, const DataSpec& spec) {
  if (!has_address(spec)) return info;
  info.source = *spec.path;
  info.content = copies.resolved_content;
  info.place = spec.stream ? "" : *copies.path;
  if (!spec.saved_content.empty() && spec.saved_content != info.content)
    throw Error(ExitCode::kData,
                "{}: its files are not those that the model was trained on; --set data.path=... uses them "
                "nevertheless",
                shown_address(*spec.path));
  return info;
}

// The reverse, for what reads the files.
DatasetInfo info_here(DatasetInfo info, const DataSpec& spec) {
  if (has_address(spec) && info.source == *spec.path) info.source = *with_files_here(spec).path;
  return info;
}

// The public functions, for files that are here.
DatasetInfo find_here(const DataSpec& spec) {
  if (is_table_dataset(spec.dataset))
    return checked(load_table_dataset(spec, /*checks_numbers=*/false).info, spec);
  return checked(split_info(find_unsplit(spec), spec.split), spec);
}

Dataset load_here(const DataSpec& spec, uint64_t seed) {
  if (is_table_dataset(spec.dataset)) return load_table_dataset(spec, /*checks_numbers=*/true);
  const DatasetInfo unsplit = find_unsplit(spec);
  Dataset dataset = entry_named(unsplit.name).load(unsplit, spec, seed);
  if (!spec.split.validates() || entry_named(unsplit.name).divides_itself) return dataset;
  ExampleSplit parts = split_examples(unsplit.train_examples, spec.split,
                                      spec.split.stratify ? by_classes(dataset.train->classes()) : SplitBy());
  dataset.info = split_info(unsplit, spec.split);
  dataset.validation = make_selection(dataset.train, std::move(parts.validation));
  dataset.train = make_selection(dataset.train, std::move(parts.train));
  return dataset;
}

}  // namespace

int64_t DatasetInfo::stored_bytes() const {
  int64_t inputs = 1;
  for (const int64_t size : example_shape) inputs *= size;
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

std::string fingerprint_of(const DatasetInfo& info) {
  std::string content =
      info.content.empty() ? "" : fmt::format(", checksum of the files {}", info.content.substr(0, 16));
  if (has_columns(info.name) && !info.table.empty())
    content += ", checksum of the columns " + checksum_of(table_format_of(info)).substr(0, 16);
  if (info.bad.count == 0) return counts_of(info) + content;
  return fmt::format("{}, without {} that cannot be read (checksum of the names {}){}", counts_of(info),
                     with_separators(info.bad.count), info.bad.names.substr(0, 8), content);
}

std::string bad_examples_text(const BadExamples& bad) {
  const int64_t more = bad.count - std::ssize(bad.first);
  return fmt::format("{} cannot be read: {}{}", counted(bad.count, "picture"), join(bad.first, "; "),
                     more > 0 ? fmt::format("; and {} more", with_separators(more)) : "");
}

std::string class_title(const DatasetInfo& info, int64_t label) {
  if (info.class_names.empty()) return std::to_string(label);
  return fmt::format("{} {}", label, printable(info.class_names[static_cast<size_t>(label)]));
}

std::string class_name(const DatasetInfo& info, int64_t label) {
  return info.class_names.empty() ? std::to_string(label) : info.class_names[static_cast<size_t>(label)];
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = names_of_rows(entries());
  return names;
}

DataSpec with_files_here(const DataSpec& spec) {
  if (!has_address(spec)) return spec;
  DataSpec here = spec;
  if (spec.stream) {  // the plan's content is that of the index as the planner has read it
    here.resolved_content = streamed_shards(*spec.path)->content;
    if (!spec.resolved_content.empty() && spec.resolved_content != here.resolved_content)
      throw Error(ExitCode::kData, "{}: its {} has changed since the job began; start again",
                  shown_address(*spec.path), kShardsIndex);
    return here;
  }
  use_fetched(*spec.path, {spec.resolved_place, spec.resolved_content});
  const FetchedFiles files = fetch_files(*spec.path, spec.cache_gigabytes, [&](const std::string& name) {
    return is_file_of(spec.dataset, name);
  });
  here.path = files.place.string();
  here.resolved_content = files.content;
  return here;
}

FetchedFiles fetch_any(const std::string& address) {
  const auto is_of_any = [](const std::string& name) {
    return std::ranges::any_of(dataset_names(), [&](const auto& one) { return is_file_of(one, name); });
  };
  return fetch_files(address, DataSpec().cache_gigabytes, is_of_any);
}

DatasetInfo find_dataset(const DataSpec& spec) {
  const DataSpec here = with_files_here(spec);
  return of_address(find_here(here), here, spec);
}

DatasetInfo describe_dataset(const DataSpec& spec) {
  if (!spec.saved_table.empty()) return saved_table_dataset(spec);
  if (is_table_dataset(spec.dataset)) return find_dataset(spec);
  std::vector<std::string> looked_in;
  const auto info = has_address(spec) ? std::nullopt : search(spec, looked_in);
  if (info) return checked(split_info(*info, spec.split), spec);
  const Entry& entry = entry_named(spec.dataset);
  DatasetInfo published;
  published.example_shape = entry.shape;
  if (entry.divides_itself)
    published.example_shape = {spec.image.channels, spec.image.size.at(0), spec.image.size.at(1)};
  published.train_examples = entry.train_examples;
  published.test_examples = entry.test_examples;
  return checked(split_info(complete(published, entry, spec), spec.split), spec);
}

Dataset load_dataset(const DataSpec& spec, uint64_t seed) {
  const DataSpec here = with_files_here(spec);
  Dataset dataset = load_here(here, seed);
  dataset.info = of_address(std::move(dataset.info), here, spec);
  return dataset;
}

void prepare_dataset(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress) {
  if (is_picture_dataset(info.name) && !info.source.empty())
    prepare_pictures(info_here(info, spec), spec, on_progress);
}

std::string resolve_cache(const DatasetInfo& info, const DataSpec& spec) {
  if (spec.cache != "auto" || !is_picture_dataset(info.name) || info.source.empty()) return spec.cache;
  if (spec.stream) return "none";
  return can_cache_pictures(info_here(info, spec), spec) ? "disk" : "none";
}

int64_t prepared_bytes(const DatasetInfo& info, const DataSpec& spec) {
  if (!is_picture_dataset(info.name) || spec.cache_in_use() == "none") return 0;
  return picture_cache_bytes(info_here(info, spec), spec);
}

}  // namespace dtrain
