#include "data/dataset_readers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "arrays/packed_file.h"
#include "core/data_errors.h"
#include "core/text.h"
#include "data/example_source.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 32;
constexpr int64_t kPixelBytes = 3 * kSide * kSide;  // red, green, blue, row by row

// A set of files of records: labels of a byte each, of which the last counts, then the pixels.
struct CifarKind {
  std::string folder;  // that the published archive unpacks
  std::vector<std::string> train;
  std::string test;
  int64_t labels;
  int64_t classes;
  int64_t record() const { return labels + kPixelBytes; }
};

const CifarKind kCifar10{
    "cifar-10-batches-bin",
    {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
    "test_batch.bin",
    1,
    10};
const CifarKind kCifar100{"cifar-100-binary", {"train.bin"}, "test.bin", 2, 100};

int64_t examples_in(const CifarKind& kind, const fs::path& file) {
  std::error_code code;
  const auto bytes = static_cast<int64_t>(fs::file_size(file, code));
  if (code) refuse_file(file, code.message());
  if (bytes == 0 || bytes % kind.record() != 0)
    refuse_file(file, "{} bytes, which is no multiple of the {} of an example; fetch the file again",
                with_separators(bytes), with_separators(kind.record()));
  return bytes / kind.record();
}

std::vector<fs::path> files_in(const CifarKind& kind, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string& name : kind.train) files.push_back(folder / name);
  files.push_back(folder / kind.test);
  return files;
}

std::optional<DatasetInfo> find(const CifarKind& kind, const fs::path& folder) {
  for (const fs::path& place : {folder, folder / kind.folder}) {
    const std::vector<fs::path> files = files_in(kind, place);
    const auto is_there = [](const fs::path& file) {
      std::error_code none;
      return fs::exists(file, none);
    };
    if (std::ranges::none_of(files, is_there)) continue;
    const auto missing = std::ranges::find_if_not(files, is_there);
    if (missing != files.end()) refuse_file(*missing, "one of the dataset's files is missing");
    DatasetInfo info;
    info.source = place.string();
    info.example_shape = {3, kSide, kSide};
    for (auto file = files.begin(); file + 1 != files.end(); ++file)
      info.train_examples += examples_in(kind, *file);
    info.test_examples = examples_in(kind, files.back());
    return info;
  }
  return std::nullopt;
}

// The first `count` examples of some files, one after the other.
StoredExamples read_records(const CifarKind& kind, const std::vector<fs::path>& files, int64_t count,
                            int64_t classes) {
  StoredExamples all{at::empty({count, 3, kSide, kSide}, at::kByte), at::empty({count}, at::kLong)};
  uint8_t* pixels = all.inputs.mutable_data_ptr<uint8_t>();
  int64_t* labels = all.targets.mutable_data_ptr<int64_t>();
  int64_t done = 0;
  for (const fs::path& path : files) {
    const int64_t here = std::min(examples_in(kind, path), count - done);
    PackedFile file(path);
    for (int64_t example = 0; example < here; ++example, ++done) {
      uint8_t label[2] = {};
      file.read(label, kind.labels);
      labels[done] = label[kind.labels - 1];
      if (labels[done] >= classes)
        file.fail(example * kind.record() + kind.labels - 1,
                  "label {} of example {} is not below the number of classes, {}", labels[done], example,
                  classes);
      file.read(pixels + done * kPixelBytes, kPixelBytes);
    }
  }
  return all;
}

Dataset load(const CifarKind& kind, const DatasetInfo& info) {
  std::vector<fs::path> files = files_in(kind, info.source);
  const fs::path test = files.back();
  files.pop_back();
  return {info, make_memory_source(read_records(kind, files, info.train_examples, info.classes)),
          make_memory_source(read_records(kind, {test}, info.test_examples, info.classes))};
}

}  // namespace

std::optional<DatasetInfo> find_cifar10(const fs::path& folder) { return find(kCifar10, folder); }
std::optional<DatasetInfo> find_cifar100(const fs::path& folder) { return find(kCifar100, folder); }
Dataset load_cifar10(const DatasetInfo& info) { return load(kCifar10, info); }
Dataset load_cifar100(const DatasetInfo& info) { return load(kCifar100, info); }

}  // namespace dtrain
