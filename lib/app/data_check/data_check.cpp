#include "data_check/data_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/checksum.h"
#include "core/clock.h"
#include "data/picture_dataset.h"
#include "data_check/check_kinds.h"

namespace dtrain {

const char* name_of(DataPart part) {
  constexpr std::array<const char*, kDataParts> kNames = {"train", "validation", "test", "unused"};
  return kNames[static_cast<size_t>(part)];
}

std::string DataCheck::title_of(size_t example) const {
  if (!files.empty()) return dtrain::title_of(std::filesystem::path(), files[example]);
  const CheckedExample& one = examples[example];
  if (dataset != "csv") return fmt::format("{} example {}", name_of(one.part), one.number);
  const bool in_test_file = has_test_file && static_cast<int64_t>(example) >= rows_to_train;
  return fmt::format("row {}{}", one.number, in_test_file ? " of the test's file" : "");
}

std::vector<std::vector<int64_t>> DataCheck::counts() const {
  std::vector<std::vector<int64_t>> counts(kDataParts,
                                           std::vector<int64_t>(std::max<size_t>(1, classes.size())));
  for (const CheckedExample& one : examples) {
    const size_t label = classes.empty() ? 0 : static_cast<size_t>(one.label);
    if (classes.empty() || one.label >= 0) ++counts[static_cast<size_t>(one.part)][label];
  }
  return counts;
}

bool DataCheck::crosses_parts(const SameExamples& group) const {
  bool trained = false, measured = false;
  for (const size_t member : group.members) {
    trained = trained || examples[member].part == DataPart::kTrain;
    measured = measured || examples[member].part == DataPart::kTest ||
               examples[member].part == DataPart::kValidation;
  }
  return trained && measured;
}

bool DataCheck::has_several_labels(const SameExamples& group) const {
  return std::any_of(group.members.begin(), group.members.end(), [&](size_t member) {
    return examples[member].label != examples[group.members.front()].label;
  });
}

void check_examples(DataCheck& check, const Dataset& dataset, const OnPrepared& on_progress) {
  constexpr int64_t kAtOnce = 1024;
  std::vector<uint64_t> contents;
  int64_t all = dataset.train->size() + dataset.test->size();
  if (dataset.validation) all += dataset.validation->size();
  const bool classes = dataset.info.classes > 0;
  const auto add = [&](const ExampleSource& source, DataPart part) {
    for (int64_t begin = 0; begin < source.size(); begin += kAtOnce) {
      const int64_t count = std::min(kAtOnce, source.size() - begin);
      std::vector<int64_t> indices(static_cast<size_t>(count));
      std::iota(indices.begin(), indices.end(), begin);
      std::vector<int64_t> shape = source.shape().vec();
      shape.insert(shape.begin(), count);
      ExampleSlot slot{
          at::empty(shape, source.has_pixels() ? at::kByte : at::kFloat),
          classes ? at::empty({count}, at::kLong) : at::empty({count, source.targets()}, at::kFloat)};
      source.read(indices, {}, slot);
      for (int64_t i = 0; i < count; ++i) {
        const at::Tensor input = slot.inputs[i];
        Checksum sum;
        sum.add(input.const_data_ptr(), input.nbytes());
        contents.push_back(sum.number());
        check.examples.push_back({part, classes ? slot.targets.const_data_ptr<int64_t>()[i] : -1, begin + i});
      }
      if (on_progress) on_progress(std::ssize(check.examples), all);
    }
  };
  add(*dataset.train, DataPart::kTrain);
  if (dataset.validation) add(*dataset.validation, DataPart::kValidation);
  add(*dataset.test, DataPart::kTest);
  check.same = find_copies(contents, std::vector<bool>(contents.size(), true));
}

DataCheck check_data(const DataSpec& spec, uint64_t seed, int64_t threads, const OnPrepared& on_progress) {
  const double begin = steady_seconds();
  DataCheck check;
  check.dataset = spec.dataset;
  if (spec.dataset == "csv") {
    check.source = spec.path.value_or("");
    check_table(check, spec);
  } else {
    DataSpec of_all = spec;
    of_all.on_bad_example = "error";  // none is left out
    const DatasetInfo info = find_dataset(of_all);
    check.dataset = info.name;
    check.source = info.source;
    check.classes = info.class_names;
    for (int64_t label = std::ssize(check.classes); label < info.classes; ++label)
      check.classes.push_back(std::to_string(label));
    if (is_picture_dataset(info.name)) {
      check_pictures(check, list_pictures(info, of_all), threads, on_progress);
    } else {
      check_examples(check, load_dataset(spec, seed), on_progress);
    }
  }
  check.seconds = steady_seconds() - begin;
  return check;
}

}  // namespace dtrain
