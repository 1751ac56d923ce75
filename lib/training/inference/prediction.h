// Predicts the classes of images in files with a trained model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/model.h"
#include "plan/job_plan.h"
#include "safetensors/safetensors.h"

namespace dtrain {

struct ClassProbability {
  int64_t label = 0;
  double probability = 0;  // softmax of the logits
};

struct Prediction {
  std::optional<int64_t> index;           // of the image, in a file with many
  std::vector<ClassProbability> classes;  // the most probable first
};

class Predictor {
 public:
  // With `threshold`, for outputs that say yes or no, the second class comes first from this probability on.
  // Throws Error(kCheckpoint) if the variables are another model's.
  Predictor(const JobPlan& job, const NamedTensors& variables, std::optional<double> threshold = {});

  // The `top` most probable classes of each of the images, uint8 [n, channels, height, width] in the model's
  // input shape. Throws Error(kCheckpoint) as finite_outputs() does.
  std::vector<std::vector<ClassProbability>> predict(const at::Tensor& images, int64_t top) const;

  // Predicts each image in a file, in order, with only some images in memory at a time. They are
  // fitted to the model's input as for training (data.image), or else with `resize` stretched. Throws
  // Error(kData) that names the file.
  void predict_file(const std::filesystem::path& path, bool resize, int64_t top,
                    const std::function<void(const Prediction&)>& on_prediction) const;

 private:
  // The classes to show of each row, the first ones first: int64 [n, at most top].
  at::Tensor order_of(const at::Tensor& probabilities, int64_t top) const;

  JobPlan job_;
  std::shared_ptr<Model> model_;
  std::optional<double> threshold_;
};

}  // namespace dtrain
