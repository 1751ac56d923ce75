#include "data/dataset_readers.h"

#include <ATen/ops/max.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>

#include "arrays/idx.h"
#include "core/data_errors.h"
#include "core/files.h"
#include "core/text.h"
#include "data/example_source.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

enum Part { kTrainImages, kTrainLabels, kTestImages, kTestLabels };
constexpr std::array<std::pair<const char*, const char*>, 4> kNames = {{
    {"train-images", "idx3-ubyte"},
    {"train-labels", "idx1-ubyte"},
    {"t10k-images", "idx3-ubyte"},
    {"t10k-labels", "idx1-ubyte"},
}};
using Files = std::array<fs::path, kNames.size()>;  // indexed by Part; an empty path: no such file

// A folder that may not be searched is an error: continuing in another folder would hide it.
bool is_there(const fs::path& path) {
  std::error_code code;
  const bool found = fs::exists(path, code);
  if (code)
    throw Error(file_failure_code(code.value(), ExitCode::kData), "{}: {}", printable(path.string(), 1000),
                code.message());
  return found;
}

bool is_none(const fs::path& file) { return file.empty(); }

// The name without .gz.
std::string unpacked_name(const fs::path& file) {
  return file.extension() == ".gz" ? file.stem().string() : file.filename().string();
}

// The part that a name of the kind PREFIX-train-images-idx3-ubyte says; test- is another word for t10k-.
std::optional<size_t> part_of(std::string name) {
  for (size_t part = 0; part < kNames.size(); ++part) {
    const std::string what = kNames[part].first;
    const std::string tail = what.substr(what.find('-'));
    for (const std::string& begin : {what, "test" + tail}) {
      if (part < kTestImages && begin != what) continue;
      for (const char* joint : {"-", "."}) {
        if (name.ends_with(begin + joint + kNames[part].second)) return part;
      }
    }
  }
  return std::nullopt;
}

// The four files of a dataset that has a name of its own before those of MNIST.
Files find_prefixed_files(const fs::path& folder) {
  Files files;
  for (const fs::path& path : paths_in(folder)) {
    const std::optional<size_t> part = part_of(unpacked_name(path));
    if (!part) continue;
    fs::path& file = files[*part];
    if (!file.empty() && unpacked_name(file) != unpacked_name(path))
      refuse_file(folder, "has {} and {}; put each dataset into a folder of its own",
                  printable(file.filename().string()), printable(path.filename().string()));
    if (file.empty() || path.extension() == ".gz") file = path;
  }
  return files;
}

Files find_files(const fs::path& folder) {
  Files files;
  for (size_t part = 0; part < kNames.size(); ++part) {
    for (const char* format : {"{}-{}.gz", "{}-{}", "{}.{}.gz", "{}.{}"}) {
      const fs::path file =
          folder / fmt::format(fmt::runtime(format), kNames[part].first, kNames[part].second);
      if (is_none(files[part]) && is_there(file)) files[part] = file;
    }
  }
  return std::ranges::all_of(files, is_none) ? find_prefixed_files(folder) : files;
}

void expect_all_four(const fs::path& folder, const Files& files) {
  std::vector<std::string> missing;
  for (size_t part = 0; part < kNames.size(); ++part) {
    if (is_none(files[part]))
      missing.push_back(fmt::format("{}-{}[.gz]", kNames[part].first, kNames[part].second));
  }
  if (missing.empty()) return;
  refuse_file(folder, "{} of the dataset's four files {} missing: {}", missing.size(),
              missing.size() == 1 ? "is" : "are", join(missing));
}

IdxHeader read_pair(const fs::path& images, const fs::path& labels) {
  const IdxHeader header = read_image_header(images);
  const int64_t label_count = read_label_header(labels).count;
  if (header.count != label_count) {
    throw Error(ExitCode::kData, "{} holds {} images, but {} holds {} labels; fetch both again",
                printable(images.string(), 1000), header.count, printable(labels.string(), 1000),
                label_count);
  }
  return header;
}

}  // namespace

std::optional<DatasetInfo> find_mnist(const fs::path& folder) {
  const Files files = find_files(folder);
  if (std::ranges::all_of(files, is_none)) return std::nullopt;
  expect_all_four(folder, files);
  const IdxHeader train = read_pair(files[kTrainImages], files[kTrainLabels]);
  const IdxHeader test = read_pair(files[kTestImages], files[kTestLabels]);
  if (train.rows != test.rows || train.columns != test.columns) {
    throw Error(ExitCode::kData, "{} has images of {} x {}, but {} of {} x {}",
                printable(files[kTrainImages].string(), 1000), train.rows, train.columns,
                printable(files[kTestImages].string(), 1000), test.rows, test.columns);
  }
  DatasetInfo info;
  info.source = folder.string();
  info.example_shape = {1, train.rows, train.columns};
  info.train_examples = train.count;
  info.test_examples = test.count;
  return info;
}

int64_t count_mnist_classes(const fs::path& folder) {
  const Files files = find_files(folder);
  int64_t largest = 1;
  for (const Part part : {kTrainLabels, kTestLabels}) {
    const at::Tensor labels = read_labels(files[part], read_label_header(files[part]).count, kMostIdxClasses);
    largest = std::max(largest, labels.max().item<int64_t>());
  }
  return largest + 1;
}

Dataset load_mnist(const DatasetInfo& info) {
  const Files files = find_files(info.source);
  expect_all_four(info.source, files);
  StoredExamples train, test;
  // Labels first: they are small, so a fault in them is found quickly.
  train.targets = read_labels(files[kTrainLabels], info.train_examples, info.classes);
  test.targets = read_labels(files[kTestLabels], info.test_examples, info.classes);
  train.inputs = read_images(files[kTrainImages], info.train_examples);
  test.inputs = read_images(files[kTestImages], info.test_examples);
  return {info, make_memory_source(std::move(train)), make_memory_source(std::move(test))};
}

}  // namespace dtrain
