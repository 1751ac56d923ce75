#include "inference/mistakes.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "host/cores.h"
#include "inference/evaluation.h"
#include "loader/batches.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

// Keeps the `most` examples whose class had the least probability.
void keep_worst(std::vector<WrongExample>& worst, WrongExample example, size_t most) {
  if (most == 0) return;
  const auto place =
      std::upper_bound(worst.begin(), worst.end(), example,
                       [](const WrongExample& a, const WrongExample& b) { return a.of_label < b.of_label; });
  if (place == worst.end() && worst.size() >= most) return;
  worst.insert(place, std::move(example));
  if (worst.size() > most) worst.pop_back();
}

// Targets int64 [n], probabilities float64 [n, classes].
void count_mistakes(Mistakes& found, const at::Tensor& targets, const at::Tensor& probabilities,
                    const std::vector<int64_t>& indices, size_t most) {
  const at::Tensor predicted = probabilities.argmax(1);
  const auto label_of = targets.accessor<int64_t, 1>(), prediction_of = predicted.accessor<int64_t, 1>();
  const auto probability = probabilities.accessor<double, 2>();
  for (int64_t row = 0; row < targets.size(0); ++row) {
    const int64_t label = label_of[row], prediction = prediction_of[row];
    ++found.confusion[static_cast<size_t>(label)][static_cast<size_t>(prediction)];
    ++found.examples;
    found.correct += label == prediction ? 1 : 0;
    if (label == prediction) continue;
    keep_worst(found.worst,
               {.index = indices[static_cast<size_t>(row)],
                .label = label,
                .prediction = prediction,
                .probability = probability[row][prediction],
                .of_label = probability[row][label],
                .image = {}},
               most);
  }
}

at::Tensor pixels_of(const ExampleSource& examples, int64_t index) {
  std::vector<int64_t> shape = examples.shape().vec();
  shape.insert(shape.begin(), 1);
  ExampleSlot slot{at::empty(shape, at::kByte), at::empty({1}, at::kLong)};
  examples.read({&index, 1}, at::Tensor(), slot);
  return slot.inputs[0];
}

}  // namespace

Mistakes find_mistakes(const JobPlan& job, const std::filesystem::path& checkpoint, int64_t most_examples,
                       size_t most_shown) {
  const at::NoGradGuard no_grad;
  at::set_num_threads(available_cores());
  const ExampleSourcePtr examples = load_examples(job);
  const auto model = trained_model(job, load_model(checkpoint));
  RunPlan alone = job.runs.back();
  alone.replicas = 1;
  alone.servers = 0;
  ShareLoader loader(examples, evaluation_options(job, alone, /*rank=*/0));
  loader.start_epoch(0);
  const auto classes = static_cast<size_t>(job.data.classes);
  Mistakes found;
  found.confusion.assign(classes, std::vector<int64_t>(classes));
  if (!job.data.has_pixels) most_shown = 0;  // there is no picture to show
  while (found.examples < most_examples) {
    const std::optional<Share> share = loader.next();
    if (!share) break;
    auto index = share->indices.begin();
    for (const MicroBatch& micro_batch : share->micro_batches) {
      const Batch batch = micro_batch.assemble();
      const std::vector<int64_t> indices(index, index + batch.size());
      index += batch.size();
      const at::Tensor outputs = finite_outputs(job.spec, *model, batch.inputs);
      count_mistakes(found, batch.targets, class_probabilities(outputs), indices, most_shown);
    }
  }
  for (WrongExample& example : found.worst) example.image = pixels_of(*examples, example.index);
  return found;
}

}  // namespace dtrain
