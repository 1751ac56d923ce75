// Arrays, and the files of MNIST and CIFAR.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <system_error>

#include "core/files.h"
#include "core/text.h"
#include "data/dataset_readers.h"
#include "data_check/found_data.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

bool is_zero_or_one(const ExampleSource& source) {
  const auto all = source.in_memory();
  return all && all->targets.eq(0).logical_or(all->targets.eq(1)).all().item<bool>();
}

void say_loss_of(FoundData& found, const Dataset& data) {
  if (data.info.classes > 0) {
    found.say("train.loss.kind", "cross_entropy", "for classes, one for each example");
  } else if (data.info.targets > 1 && is_zero_or_one(*data.train)) {
    found.say("train.loss.kind", "binary_cross_entropy", "for zeros and ones, each with its own probability");
  } else {
    found.say("train.loss.kind", "mean_squared_error",
              "for numbers; huber counts large errors less. Numbers of about 1 are learned fastest");
  }
}

// Everything about a dataset that can be read.
FoundData describe(const DataSpec& spec, const std::string& what) {
  FoundData found;
  found.place = *spec.path;
  const Dataset data = load_dataset(spec, 0);
  found.title =
      fmt::format("{} of {} {}", counted(data.train->size() + data.test->size(), what),
                  fmt::join(data.info.example_shape, " x "), data.info.has_pixels ? "pixels" : "numbers");
  std::vector<int64_t> counts;
  if (data.info.classes > 0) {
    found.title += ", " + counted(data.info.classes, "class");
    counts = count_classes(*data.train, data.info.classes);
    found.title += "; to train on: " + class_counts_text(data.info.class_names, counts);
  } else {
    found.title += ", each with " + counted(data.info.targets, "number") + " to predict";
  }
  found.say("data.dataset", spec.dataset);
  if (spec.split.test) found.say("data.split.test", *spec.split.test, kTestPartNote);
  choose_model(found, data.info);
  say_loss_of(found, data);
  note_imbalance(found, counts);
  return found;
}

DataSpec spec_of(const std::string& dataset, const fs::path& place) {
  DataSpec spec;
  spec.dataset = dataset;
  spec.path = place.string();
  return spec;
}

// The file or folder with x_train and y_train, if `place` is or has one.
std::optional<fs::path> place_of_arrays(const fs::path& place) {
  const auto is_packed = [](const fs::path& path) {
    return path.extension() == ".npz" || path.extension() == ".safetensors";
  };
  std::error_code code;
  if (!fs::is_directory(place, code)) return is_packed(place) ? std::optional(place) : std::nullopt;
  if (fs::exists(place / "x_train.npy", code)) return place;
  std::vector<fs::path> packed = paths_in(place);
  std::erase_if(packed, std::not_fn(is_packed));
  return packed.size() == 1 ? std::optional(packed.front()) : std::nullopt;
}

}  // namespace

std::optional<FoundData> find_arrays(const fs::path& place) {
  const std::optional<fs::path> arrays = place_of_arrays(place);
  if (!arrays) return std::nullopt;
  DataSpec spec = spec_of("arrays", *arrays);
  try {
    return describe(spec, "example");
  } catch (const FieldError& error) {
    if (error.field() != "data.split.test") throw;
  }
  spec.split.test = kFirstTestPart;
  return describe(spec, "example");
}

std::optional<FoundData> find_idx_files(const fs::path& place) {
  std::error_code none;
  if (!fs::is_directory(place, none) || !find_mnist(place)) return std::nullopt;
  return describe(spec_of("idx", place), "picture");
}

std::optional<FoundData> find_cifar_files(const fs::path& place) {
  std::error_code none;
  if (!fs::is_directory(place, none)) return std::nullopt;
  if (find_cifar10(place)) return describe(spec_of("cifar10", place), "picture");
  if (find_cifar100(place)) return describe(spec_of("cifar100", place), "picture");
  return std::nullopt;
}

}  // namespace dtrain
