#include "inference/prediction.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "arrays/idx.h"
#include "core/error.h"
#include "core/text.h"
#include "data/example_source.h"
#include "images/fit.h"
#include "inference/evaluation.h"
#include "loader/batches.h"
#include "objective/objective.h"
#include "train/assembly.h"

namespace dtrain {

Predictor::Predictor(const JobPlan& job, const NamedTensors& variables, std::optional<double> threshold)
    : job_(job), model_(trained_model(job, variables)), threshold_(threshold) {}

at::Tensor Predictor::order_of(const at::Tensor& probabilities, int64_t top) const {
  const int64_t shown = std::min(top, probabilities.size(1));
  if (!threshold_) return std::get<1>(probabilities.topk(shown, /*dim=*/1));
  const at::Tensor first = probabilities.select(1, 1).ge(*threshold_).to(at::kLong);
  return at::stack({first, 1 - first}, 1).narrow(1, 0, shown);
}

std::vector<std::vector<ClassProbability>> Predictor::predict(const at::Tensor& images, int64_t top) const {
  const at::NoGradGuard no_grad;
  RunPlan alone = job_.distributed_run();
  alone.replicas = 1;
  alone.servers = 0;
  // Uses the same code path as the test examples; the labels do not matter here.
  const ExampleSourcePtr source = make_memory_source({images, at::zeros({images.size(0)}, at::kLong)});
  ShareLoader loader(source, evaluation_options(job_, alone, /*rank=*/0));
  loader.start_epoch(0);
  const auto objective = make_objective(job_.spec.train);
  std::vector<std::vector<ClassProbability>> predictions;
  while (const std::optional<Share> share = loader.next()) {
    for (const MicroBatch& micro_batch : share->micro_batches) {
      const Batch batch = micro_batch.assemble();
      const at::Tensor probabilities =
          objective->predictions(finite_outputs(job_.spec, *model_, batch.inputs), /*classes=*/true);
      const at::Tensor labels = order_of(probabilities, top);
      const at::Tensor values = probabilities.gather(1, labels);
      for (int64_t row = 0; row < batch.size(); ++row) {
        std::vector<ClassProbability>& classes = predictions.emplace_back();
        for (int64_t rank = 0; rank < values.size(1); ++rank)
          classes.push_back({labels[row][rank].item<int64_t>(), values[row][rank].item<double>()});
      }
    }
  }
  return predictions;
}

void Predictor::predict_file(const std::filesystem::path& path, bool resize, int64_t top,
                             const std::function<void(const Prediction&)>& on_prediction) const {
  // As for training, where that was from pictures of any size.
  const ImageSpec& image = job_.spec.data.image;
  SmallestSize smallest;
  if (image.scaled_decoding) smallest = {.height = image.size.at(0), .width = image.size.at(1)};
  const at::Tensor images = read_images_of_any_file(path, smallest);
  const Fit fit = !image.size.empty() ? fit_of(image.fit) : resize ? Fit::kStretch : Fit::kRefuse;
  const int64_t count = images.size(0);
  const int64_t at_once = job_.spec.evaluate.batch_per_replica;
  for (int64_t begin = 0; begin < count; begin += at_once) {
    at::Tensor fitted;
    try {
      const at::Tensor some = images.narrow(0, begin, std::min(at_once, count - begin));
      fitted = fit_images(some, job_.data.example_shape, fit);
    } catch (const Error& error) {
      throw Error(error.code(), printable(path.string(), 1000) + ": " + error.what());
    }
    int64_t index = begin;
    for (auto& classes : predict(fitted, top))
      on_prediction({count > 1 ? std::optional(index++) : std::nullopt, std::move(classes)});
  }
}

}  // namespace dtrain
