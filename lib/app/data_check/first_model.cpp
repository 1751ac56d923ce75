// The model that a first job trains.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "data_check/found_data.h"

namespace dtrain {
namespace {

constexpr int64_t kFirstBatch = 32;
constexpr int64_t kFewExamples = 512;  // below, one process is enough
constexpr size_t kMostListed = 12;     // classes in a comment
constexpr int64_t kImbalance = 4;      // times, from which on it is worth a word

// The filters of convolutions of 3x3, each followed by a pooling of 2x2, until the image is some pixels wide.
std::vector<int64_t> filters_for(int64_t side) {
  constexpr size_t kMostConvolutions = 5;
  constexpr int64_t kSmallest = 3, kMostFilters = 128;
  std::vector<int64_t> filters;
  int64_t next = side <= 40 ? 32 : 16;
  for (int64_t left = (side - 2) / 2; left >= kSmallest && filters.size() < kMostConvolutions;
       left = (left - 2) / 2) {
    filters.push_back(next);
    next = std::min(2 * next, kMostFilters);
  }
  if (filters.empty()) filters.push_back(next);
  return filters;
}

void choose_cnn(FoundData& found, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> filters = filters_for(std::min(shape[1], shape[2]));
  int64_t height = shape[1], width = shape[2];
  for (size_t i = 0; i < filters.size(); ++i) height = (height - 2) / 2, width = (width - 2) / 2;
  found.say("model.kind", "cnn",
            "convolutions, then dense layers: small, and quick to train from nothing; resnet is "
            "larger and more accurate where there are many pictures");
  found.say(
      "model.filters", filters,
      fmt::format(
          "filters of each convolution, which a 2x2 pooling follows: of {} x {} pixels {} x {} are left",
          shape[1], shape[2], height, width));
  found.say("model.hidden", {128}, "units of the dense layer between the convolutions and the output");
  found.say("model.dropout", 0.3,
            "the share of hidden units set to zero while training, so that it does not learn single pictures "
            "by heart");
}

void choose_mlp(FoundData& found) {
  found.say("model.kind", "mlp", "dense layers, as numbers need them");
  found.say("model.hidden", {64, 32}, "units of each hidden layer");
}

// Enough for a first result.
int64_t first_epochs(int64_t examples, bool pictures) {
  constexpr int64_t kUpdates = 3000;
  const int64_t wanted = kUpdates * 2 * kFirstBatch / std::max<int64_t>(1, examples);
  for (const int64_t epochs : {5, 10, 20, 30}) {
    if (epochs >= wanted || (pictures && epochs == 20)) return epochs;
  }
  return 50;
}

}  // namespace

void choose_model(FoundData& found, const DatasetInfo& data) {
  const std::vector<int64_t>& shape = data.example_shape;
  const bool pictures = shape.size() == 3 && std::min(shape[1], shape[2]) >= 8;
  const int64_t examples = data.train_examples;
  if (examples < kFewExamples) {
    found.say("strategy.kind", "one_device",
              "one process, for so few examples; mirrored trains with all cores");
  } else {
    found.say(
        "strategy.kind", "mirrored",
        "one process for each core or GPU, each with a copy of the model and its own part of every batch");
  }
  int64_t batch = kFirstBatch;
  while (batch > 1 && batch * 8 > examples) batch /= 2;  // so that an epoch has several updates
  found.say("batch.per_replica", batch, "examples that each process computes at once");
  pictures ? choose_cnn(found, shape) : choose_mlp(found);
  found.say("train.epochs", first_epochs(examples, pictures),
            fmt::format("passes over the {}; more may be better, as long as the test's loss falls",
                        counted(examples, "training example")));
  found.say("train.optimizer.kind", "adam");
  if (found.notes.contains("train.optimizer.learning_rate")) return;  // the targets decide it
  found.say("train.optimizer.learning_rate", pictures ? 1e-3 : 3e-3,
            "lower it if the loss jumps or rises, raise it if it hardly falls");
}

std::string class_counts_text(const std::vector<std::string>& names, const std::vector<int64_t>& counts) {
  const auto name = [&](size_t label) {
    return names.empty() ? std::to_string(label) : printable(names[label], 60);
  };
  if (counts.size() > kMostListed) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return fmt::format("from {} ({}) to {} ({})", with_separators(*least),
                       name(static_cast<size_t>(least - counts.begin())), with_separators(*most),
                       name(static_cast<size_t>(most - counts.begin())));
  }
  std::vector<std::string> words;
  for (size_t label = 0; label < counts.size(); ++label)
    words.push_back(fmt::format("{} ({})", name(label), with_separators(counts[label])));
  return join(words);
}

void note_imbalance(FoundData& found, const std::vector<int64_t>& counts) {
  if (counts.empty()) return;
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*least == 0 || *most < kImbalance * *least) return;
  found.notes["train.loss.kind"] += fmt::format(
      "; the largest class has {} times the examples of the smallest: class_weights: balanced, beside "
      "kind, makes rare ones count more",
      *most / *least);
}

std::vector<int64_t> count_classes(const ExampleSource& source, int64_t classes) {
  const at::Tensor counts = at::bincount(source.classes(), /*weights=*/{}, classes).contiguous();
  return {counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.numel()};
}

}  // namespace dtrain
