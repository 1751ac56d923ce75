// What a trained model makes of images in files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "checkpoint/safetensors.h"
#include "models/model.h"
#include "plan/job_plan.h"

namespace dtrain {

struct ClassProbability {
  int64_t label = 0;
  double probability = 0;  // softmax of the logits
};

struct Prediction {
  std::optional<int64_t> index;           // of the image, in a file of many
  std::vector<ClassProbability> classes;  // the most probable first
};

class Predictor {
 public:
  // Throws Error(kCheckpoint) when the variables are of another model.
  Predictor(const JobPlan& job, const NamedTensors& variables);

  // The `top` most probable classes of images, uint8 [n, channels, height, width] as the model takes them.
  // Throws Error(kCheckpoint) as finite_logits() does.
  std::vector<std::vector<ClassProbability>> predict(const at::Tensor& images, int64_t top) const;

  // Those of each image in a file, in their order, some of them at a time in memory. `resize` as for
  // fit_images. Throws Error(kData) that names the file.
  void predict_file(const std::filesystem::path& path, bool resize, int64_t top,
                    const std::function<void(const Prediction&)>& on_prediction) const;

 private:
  JobPlan job_;
  std::shared_ptr<Model> model_;
};

}  // namespace dtrain
