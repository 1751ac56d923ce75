// Predicts the classes of images in files with a trained model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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

struct RowPrediction {
  int64_t row = 0;                       // of its file, from 1
  std::optional<std::string> name = {};  // of the most probable class, if classes are predicted
  std::vector<double> numbers = {};      // what is predicted, or the probability of each class
};

// For a model of numbers, which was trained on a csv file or on arrays.
class TablePredictor {
 public:
  // With `threshold`, for outputs that say yes or no, it is yes from this probability on, and numbers to
  // predict are 1 or 0. Throws Error(kCheckpoint) if the variables are another model's.
  TablePredictor(const JobPlan& job, const NamedTensors& variables, std::optional<double> threshold = {});

  // The names of what is predicted of a row, in the order of a RowPrediction: of classes the most probable
  // one ("class", or the column's name) and the probability of each ("p_NAME"); otherwise the numbers, which
  // if they say yes or no are probabilities, or with a threshold 1 and 0.
  const std::vector<std::string>& columns() const { return columns_; }

  // Predicts each row of a file: a CSV file with the columns that the model was trained on, in any order and
  // with any others besides; or for a model of arrays a .npy file. Warns of words that no training example
  // had. Throws Error(kData) that names the file and the row.
  void predict_file(const std::filesystem::path& path,
                    const std::function<void(const std::string& line)>& on_warning,
                    const std::function<void(const RowPrediction&)>& on_row) const;

 private:
  JobPlan job_;
  std::shared_ptr<Model> model_;
  std::optional<double> threshold_;
  std::vector<std::string> columns_;
};

}  // namespace dtrain
